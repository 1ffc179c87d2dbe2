#include "duel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rudder/buffer/knobs.hpp"

namespace rudder::steer {

namespace {

constexpr double least_gain = 0.005;  ///< worth a change
constexpr double huge = 0.05;         ///< seen at once
constexpr double most_counted = 0.1;  ///< what a difference counts for at most
constexpr double least_scale = 0.01;  ///< differences below it are small whatever those before were
constexpr double hopeless = 0.25;     ///< even of one that is still learning
constexpr double left_wrongly = 0.1;  ///< chance of leaving one that is no worse; it comes again

// In steps.
constexpr std::uint64_t meant_over = 96;    ///< for the mean difference
constexpr std::uint64_t of_cold = 48;       ///< the same where older ones are of one that learned
constexpr std::uint64_t least_seen = 8;     ///< before any verdict
constexpr std::uint64_t surely_after = 16;  ///< before a small loss counts; twice that if cold
constexpr std::uint64_t enough_steps = 40;  ///< for one that does not seem better
constexpr std::uint64_t enough_steps_later = 64;  ///< the same of one that may begin to win later
constexpr std::uint64_t longest_duel = 256;       ///< for one that does
constexpr std::uint64_t looks_far = 8;

/// A policy that looks ahead knows what it needs at once; others count first.
bool learns(const Choice& challenger, const Choice& champion) {
    return challenger.setting.policy.name() != champion.setting.policy.name() &&
           !challenger.setting.policy.has("window");
}

std::uint64_t window_of(const Choice& choice) {
    return buffer::horizon_of(choice.setting.policy);
}

/// Steps from one replacement to the next, where it replaces now and then.
std::uint64_t period_of(const Choice& choice) {
    if (choice.decides) return choice.every;
    return choice.setting.policy.given("every") ? choice.setting.policy.whole("every") : 0;
}

/// What two that look ahead differ by depends on the steps before, since what one of them keeps
/// longer pays later; and one that replaces now and then pays in one step for those that follow.
/// Others differ by what they hold in this step alone.
std::uint64_t block_of(const Choice& challenger, const Choice& champion) {
    const bool both_look = std::min(window_of(challenger), window_of(champion)) >= looks_far;
    const bool replaces = std::max(period_of(challenger), period_of(champion)) > 1;
    return both_look || replaces ? 4 : 2;
}

/// Those that replace now and then are judged after whole periods: in between, one of them has just
/// paid and the other not yet.
std::uint64_t judged_every(const Choice& challenger, const Choice& champion) {
    return std::max({block_of(challenger, champion), period_of(challenger), period_of(champion)});
}

/// Steps until what it does is its own.
std::uint64_t warm_up(const Choice& challenger, const Choice& champion) {
    if (learns(challenger, champion)) return 16;
    const std::uint64_t ours = window_of(challenger);
    const std::uint64_t theirs = window_of(champion);
    // A copy that is to look less far still knows what it was shown.
    if (ours > 0 && ours < theirs) return std::max<std::uint64_t>(4, theirs - ours);
    return ours > std::max<std::uint64_t>(theirs, 16) ? 8 : 4;
}

/// One that still learns, or first fetches what it saves later, may begin to win later.
std::vector<std::size_t> beginnings(bool later, std::uint64_t block) {
    return later ? std::vector<std::size_t>{0, 16 / block, 32 / block}
                 : std::vector<std::size_t>{0};
}

}  // namespace

Duel::Duel(std::string name, Choice challenger, const Choice& champion, double level,
           std::uint64_t looked_at)
    : name_(std::move(name)),
      challenger_(std::move(challenger)),
      block_(block_of(challenger_, champion)),
      period_(judged_every(challenger_, champion)),
      warm_(std::max({warm_up(challenger_, champion), period_, looked_at})),
      cold_(learns(challenger_, champion)),
      further_(window_of(challenger_) > window_of(champion)),
      level_(level),
      better_(beginnings(cold_ || further_, block_)),
      scale_(2, least_scale, most_counted) {
    // What one fetches early is of a later step of the other.
    const std::uint64_t ours = buffer::distance_of(challenger_.setting.policy);
    const std::uint64_t theirs = buffer::distance_of(champion.setting.policy);
    skip_theirs_ = ours - std::min(ours, theirs);
    skip_ours_ = theirs - std::min(ours, theirs);
}

void Duel::add(double challenger, double champion, bool filling) {
    ++steps_;
    all_.cost += challenger;
    all_.reference += champion;
    // Those without a counterpart are part of the change.
    if (skip_ours_ > 0) {
        --skip_ours_;
        transition_ += challenger;
    } else {
        ours_.push_back(challenger);
    }
    if (skip_theirs_ > 0) {
        --skip_theirs_;
        transition_ -= champion;
    } else {
        theirs_.push_back(champion);
    }
    if (ours_.empty() || theirs_.empty()) return;
    pair({ours_.front(), theirs_.front()}, filling);
    ours_.pop_front();
    theirs_.pop_front();
}

void Duel::pair(const Sample& step, bool filling) {
    if (paired_++ < warm_ || filling) {
        transition_ += step.cost - step.reference;
        known_ = all_.reference / static_cast<double>(steps_);
        return;
    }
    ++in_block_;
    sum_.cost += step.cost;
    sum_.reference += step.reference;
    if (in_block_ >= block_) end_block();
}

void Duel::end_block() {
    in_period_ = (in_period_ + in_block_) % period_;
    const auto n = static_cast<double>(std::exchange(in_block_, 0));
    const Sample block{sum_.cost / n, sum_.reference / n};
    sum_ = {};
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
    const std::size_t most = blocks(cold_ ? of_cold : meant_over);
    const std::size_t first = samples_.size() > most ? samples_.size() - most : 0;
    Sample sum;
    for (std::size_t i = first; i < samples_.size(); ++i) {
        sum.cost += samples_[i].cost;
        sum.reference += samples_[i].reference;
    }
    reference_ = std::max(sum.reference / static_cast<double>(samples_.size() - first), 1e-9);
    difference_ = (sum.cost - sum.reference) / std::max(sum.reference, 1e-9);
}

TrialVerdict Duel::verdict() const {
    const std::size_t n = samples_.size();
    if (n < blocks(least_seen) || in_period_ != 0) return TrialVerdict::open;
    const double gain = -difference_;
    if (gain > least_gain && better_.capital() >= 1 / level_) return TrialVerdict::better;
    // What was fetched ahead in the first steps is saved in the next: one that is not behind in all
    // has not lost yet. Leaving it costs nothing but the chance, so it needs no proof.
    const bool behind = all_.cost > (1 + least_gain) * all_.reference;
    const bool surely =
        n >= blocks((cold_ ? 2 : 1) * surely_after) && worse_.capital() >= 1 / left_wrongly;
    if (behind && (-gain > (cold_ ? hopeless : huge) || (-gain > least_gain && surely)))
        return TrialVerdict::worse;
    // One that seems better may stay until that is sure, or is not.
    const std::uint64_t most = gain > least_gain   ? longest_duel
                               : cold_ || further_ ? enough_steps_later
                                                   : enough_steps;
    return n >= blocks(most) ? TrialVerdict::no_better : TrialVerdict::open;
}

bool Duel::close_to_winning() const {
    return verdict() == TrialVerdict::open && -difference_ > least_gain &&
           better_.capital() >= 1 / std::sqrt(level_);
}

bool Duel::roughly_known() const {
    return samples_.size() >= blocks(surely_after);
}

}  // namespace rudder::steer
