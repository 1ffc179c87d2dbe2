#include "duel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rudder::steer {

namespace {

constexpr double least_gain = 0.005;  ///< worth a change
constexpr double huge = 0.05;         ///< seen at once
constexpr double most_counted = 0.1;  ///< what a difference counts for at most
constexpr double least_scale = 0.01;  ///< differences below it are small whatever those before were
constexpr double hopeless = 0.25;     ///< even of one that is still learning
constexpr double left_wrongly = 0.1;  ///< chance of leaving one that is no worse; it comes again
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

/// Steps from one replacement to the next, where it replaces now and then.
std::uint64_t period_of(const Choice& choice) {
    if (choice.decides) return choice.every;
    return choice.setting.policy.given("every") ? choice.setting.policy.whole("every") : 0;
}

/// Those that replace now and then are judged after whole periods: in between, one of them has just
/// paid and the other not yet.
std::uint64_t judged_every(const Choice& challenger, const Choice& champion) {
    return std::max({Duel::block, period_of(challenger), period_of(champion)});
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

/// One that still learns, or first fetches what it saves later, may begin to win later.
std::vector<std::size_t> beginnings(bool later) {
    return later ? std::vector<std::size_t>{0, 4, 8} : std::vector<std::size_t>{0};
}

}  // namespace

Duel::Duel(std::string name, Choice challenger, const Choice& champion, double level)
    : name_(std::move(name)),
      challenger_(std::move(challenger)),
      period_(judged_every(challenger_, champion)),
      warm_(std::max(warm_up(challenger_, champion), period_)),
      cold_(learns(challenger_, champion)),
      further_(window_of(challenger_) > window_of(champion)),
      level_(level),
      better_(beginnings(cold_ || further_)),
      scale_(2, least_scale, most_counted) {}

void Duel::add(double challenger, double champion, std::uint64_t steps) {
    all_.cost += challenger;
    all_.reference += champion;
    const bool counts = steps_ >= warm_;
    steps_ += steps;
    if (!counts) {
        transition_ += challenger - champion;
        known_ = all_.reference / static_cast<double>(steps_);
        return;
    }
    in_block_ += steps;
    sum_.cost += challenger;
    sum_.reference += champion;
    if (in_block_ >= block) end_block();
}

void Duel::end_block() {
    in_period_ = (in_period_ + in_block_) % period_;
    const auto n = static_cast<double>(std::exchange(in_block_, 0));
    const Sample block{sum_.cost / n, sum_.reference / n};
    sum_ = {0, 0};
    const double x = (block.cost - block.reference) / std::max(known_, 1e-9);
    better_.add(x / scale_.now());
    worse_.add(-x / scale_.now());
    scale_.add(std::clamp(x, -most_counted, most_counted));
    known_ = all_.reference / static_cast<double>(steps_);
    samples_.push_back(block);
    sum_up();
}

/// The mean difference of the newest blocks.
void Duel::sum_up() {
    const std::size_t most = cold_ ? of_cold : looked_at;
    const std::size_t first = samples_.size() > most ? samples_.size() - most : 0;
    Sample sum{0, 0};
    for (std::size_t i = first; i < samples_.size(); ++i) {
        sum.cost += samples_[i].cost;
        sum.reference += samples_[i].reference;
    }
    reference_ = std::max(sum.reference / static_cast<double>(samples_.size() - first), 1e-9);
    difference_ = (sum.cost - sum.reference) / std::max(sum.reference, 1e-9);
}

TrialVerdict Duel::verdict() const {
    const std::size_t n = samples_.size();
    if (n < 2 || in_period_ != 0) return TrialVerdict::open;
    const double gain = -difference_;
    if (gain > least_gain && better_.capital() >= 1 / level_) return TrialVerdict::better;
    // What was fetched ahead in the first steps is saved in the next: one that is not behind in all
    // has not lost yet. Leaving it costs nothing but the chance, so it needs no proof.
    const bool behind = all_.cost > (1 + least_gain) * all_.reference;
    const bool surely = n >= (cold_ ? 8U : 4U) && worse_.capital() >= 1 / left_wrongly;
    if (behind && (-gain > (cold_ ? hopeless : huge) || (-gain > least_gain && surely)))
        return TrialVerdict::worse;
    // One that seems better may stay until that is sure, or is not.
    const std::size_t most = gain > least_gain ? 64 : cold_ || further_ ? 16 : 10;
    return n >= most ? TrialVerdict::no_better : TrialVerdict::open;
}

bool Duel::close_to_winning() const {
    return verdict() == TrialVerdict::open && -difference_ > least_gain &&
           better_.capital() >= 1 / std::sqrt(level_);
}

}  // namespace rudder::steer
