#include "duel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rudder/steer/guard.hpp"

namespace rudder {

namespace {

constexpr double least_gain = 0.005;   ///< worth a change
constexpr double huge = 0.05;          ///< seen at once
constexpr double hopeless = 0.25;      ///< even of one that is still learning
constexpr double noise_floor = 0.01;   ///< of one block; samples are not as independent as they look
constexpr std::size_t looked_at = 12;  ///< blocks: what is older was of one that still learned

/// A policy that looks ahead knows what it needs at once; others count first.
bool learns(const Choice& challenger, const Choice& champion) {
    return challenger.setting.policy.name() != champion.setting.policy.name() &&
           !challenger.setting.policy.has("window");
}

bool looks_further(const Choice& challenger, const Choice& champion) {
    const PolicySpec& a = challenger.setting.policy;
    const PolicySpec& b = champion.setting.policy;
    return a.has("window") && a.get("window") > (b.has("window") ? b.get("window") : 16);
}

}  // namespace

Duel::Duel(std::string name, Choice challenger, const Choice& champion)
    : name_(std::move(name)),
      challenger_(std::move(challenger)),
      warm_(learns(challenger_, champion) ? 16 : looks_further(challenger_, champion) ? 8 : 4),
      cold_(learns(challenger_, champion)) {}

void Duel::add(double challenger, double champion, std::uint64_t steps) {
    if (steps_ < warm_) {
        steps_ += steps;
        transition_ += challenger - champion;
        return;
    }
    steps_ += steps;
    in_block_ += steps;
    sum_.cost += challenger;
    sum_.reference += champion;
    if (in_block_ < block) return;
    const auto n = static_cast<double>(std::exchange(in_block_, 0));
    samples_.push_back({sum_.cost / n, sum_.reference / n});
    sum_ = {0, 0};
    sum_up();
}

void Duel::sum_up() {
    PairedCosts paired;
    const std::size_t first = samples_.size() > looked_at ? samples_.size() - looked_at : 0;
    for (std::size_t i = first; i < samples_.size(); ++i)
        paired.add(samples_[i].cost, samples_[i].reference);
    reference_ = std::max(paired.reference(), 1e-9);
    difference_ = paired.difference() / reference_;
    const double least = noise_floor / std::sqrt(static_cast<double>(paired.count()));
    error_ = paired.count() < 2 ? 1 : std::max(paired.error() / reference_, least);
}

Verdict Duel::verdict() const {
    const std::size_t n = samples_.size();
    if (n < 2) return Verdict::open;
    const double gain = -difference_;
    if (gain > huge && gain > 4 * error_) return Verdict::better;
    if (n >= 4 && gain > least_gain && gain > 2.5 * error_) return Verdict::better;
    const bool clearly_worse = -gain > least_gain && -gain > 2 * error_;
    if (clearly_worse && (n >= (cold_ ? 8U : 4U) || -gain > (cold_ ? hopeless : huge)))
        return Verdict::worse;
    // One that seems better may stay until that is sure, or is not.
    const std::size_t most = gain > least_gain ? 32 : cold_ ? 16 : 10;
    return n >= most ? Verdict::no_better : Verdict::open;
}

}  // namespace rudder
