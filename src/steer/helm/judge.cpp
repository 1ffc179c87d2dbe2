#include "judge.hpp"

#include <utility>

namespace rudder::steer {

Judge::Trial& Judge::open(std::uint64_t decision, const Shadow& twin, std::uint64_t horizon) {
    return trials_.emplace_back(Trial{.decision = decision,
                                      .with = &shadows_.copy(ShadowRole::trial, twin),
                                      .without = &shadows_.copy(ShadowRole::trial, twin),
                                      .steps = horizon,
                                      .horizon = horizon,
                                      .then_built_in = false});
}

void Judge::replacing(std::uint64_t decision, const Shadow& twin, const buffer::Decision& taken) {
    if (!free()) return;
    Trial& trial = open(decision, twin, rules_.horizon);
    trial.then_built_in = true;
    trial.with->decision = taken;
    trial.without->decision = {!taken.replace, 1};
}

void Judge::setting(std::uint64_t decision, const Shadow& twin, const Setting& changed) {
    if (!free()) return;
    const Trial& trial = open(decision, twin, rules_.set_horizon);
    shadows_.set(*trial.with, changed);
}

void Judge::advanced(double hits, double needed, double stall_seconds) {
    for (Trial& trial : trials_) {
        trial.hits += hits;
        trial.needed += needed;
        trial.stall += stall_seconds;
        if (trial.then_built_in && trial.steps == trial.horizon) {
            for (Shadow* shadow : {trial.with, trial.without}) {
                Setting then = shadow->setting;
                then.policy = built_in_;
                shadows_.set(*shadow, then);
            }
        }
        if (--trial.steps == 0) close(trial);
    }
    std::erase_if(trials_, [](const Trial& trial) { return trial.steps == 0; });
}

void Judge::close(Trial& trial) {
    const auto rows = [&](const Shadow& shadow) {
        return static_cast<double>((shadow.counted() - shadow.base).fetched()) * shadows_.scale() /
               static_cast<double>(trial.horizon);
    };
    Outcome outcome;
    outcome.steps = trial.horizon;
    outcome.rows = rows(*trial.with);
    outcome.alternative = rows(*trial.without);
    outcome.hit_rate = trial.needed == 0 ? 0 : trial.hits / trial.needed;
    outcome.seconds = trial.stall / static_cast<double>(trial.horizon);
    verdicts_.push_back({trial.decision, outcome});
    shadows_.close(*trial.with);
    shadows_.close(*trial.without);
}

std::vector<Judge::Verdict> Judge::take() {
    return std::exchange(verdicts_, {});
}

}  // namespace rudder::steer
