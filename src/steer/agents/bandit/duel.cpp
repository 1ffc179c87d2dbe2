#include "duel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "steer/helm/guard.hpp"

namespace rudder::steer {

namespace {

constexpr double least_gain = 0.005;  ///< worth a change
constexpr double huge = 0.05;         ///< seen at once
constexpr double hopeless = 0.25;     ///< even of one that is still learning
constexpr double noise_floor = 0.01;  ///< of one block; samples are not as independent as they look
constexpr std::size_t looked_at = 24;  ///< blocks, at most
constexpr std::size_t of_cold = 12;    ///< the same where older ones are of one that still learned

/// A policy that looks ahead knows what it needs at once; others count first.
bool learns(const Choice& challenger, const Choice& champion) {
    return challenger.setting.policy.name() != champion.setting.policy.name() &&
           !challenger.setting.policy.has("window");
}

double window_of(const Choice& choice) {
    return choice.setting.policy.has("window") ? choice.setting.policy.number("window") : 0;
}

/// Those that replace now and then are compared over whole periods: in between, one of them has
/// just paid and the other not yet.
std::uint64_t block_of(const Choice& challenger, const Choice& champion) {
    if (!challenger.decides) return Duel::block;
    return std::max({Duel::block, challenger.every, champion.decides ? champion.every : 0});
}

/// Steps until what it does is its own.
std::uint64_t warm_up(const Choice& challenger, const Choice& champion) {
    if (learns(challenger, champion)) return 16;
    const double ours = window_of(challenger);
    const double theirs = window_of(champion);
    // A copy that is to look less far still knows what it was shown.
    if (ours > 0 && ours < theirs)
        return std::max<std::uint64_t>(4, static_cast<std::uint64_t>(theirs - ours));
    return ours > std::max(theirs, 16.0) ? 8 : 4;
}

}  // namespace

Duel::Duel(std::string name, Choice challenger, const Choice& champion)
    : name_(std::move(name)),
      challenger_(std::move(challenger)),
      block_(block_of(challenger_, champion)),
      warm_(std::max(warm_up(challenger_, champion), block_)),
      cold_(learns(challenger_, champion)),
      further_(window_of(challenger_) > window_of(champion)) {}

void Duel::add(double challenger, double champion, std::uint64_t steps) {
    all_.cost += challenger;
    all_.reference += champion;
    if (steps_ < warm_) {
        steps_ += steps;
        transition_ += challenger - champion;
        return;
    }
    steps_ += steps;
    in_block_ += steps;
    sum_.cost += challenger;
    sum_.reference += champion;
    if (in_block_ < block_) return;
    const auto n = static_cast<double>(std::exchange(in_block_, 0));
    samples_.push_back({sum_.cost / n, sum_.reference / n});
    sum_ = {0, 0};
    sum_up();
}

void Duel::sum_up() {
    PairedCosts paired;
    const std::size_t most = cold_ ? of_cold : looked_at;
    const std::size_t first = samples_.size() > most ? samples_.size() - most : 0;
    for (std::size_t i = first; i < samples_.size(); ++i)
        paired.add(samples_[i].cost, samples_[i].reference);
    reference_ = std::max(paired.reference(), 1e-9);
    difference_ = paired.difference() / reference_;
    const double least = noise_floor / std::sqrt(static_cast<double>(paired.count()));
    error_ = paired.count() < 2 ? 1 : std::max(paired.error() / reference_, least);
}

TrialVerdict Duel::verdict() const {
    const std::size_t n = samples_.size();
    if (n < 2) return TrialVerdict::open;
    const double gain = -difference_;
    if (gain > huge && gain > 4 * error_) return TrialVerdict::better;
    // It is looked at again and again: the fewer the blocks, the surer it has to be.
    if (n >= 4 && gain > least_gain && gain > (n < 8 ? 4 : 3.5) * error_)
        return TrialVerdict::better;
    // What was fetched ahead in the first steps is saved in the next: one that is not behind in all
    // has not lost yet.
    const bool behind = all_.cost > (1 + least_gain) * all_.reference;
    const bool clearly_worse = behind && -gain > least_gain && -gain > 2 * error_;
    if (clearly_worse && (n >= (cold_ ? 8U : 4U) || -gain > (cold_ ? hopeless : huge)))
        return TrialVerdict::worse;
    // One that seems better may stay until that is sure, or is not.
    const std::size_t most = gain > least_gain ? 32 : cold_ || further_ ? 16 : 10;
    return n >= most ? TrialVerdict::no_better : TrialVerdict::open;
}

}  // namespace rudder::steer
