// threshold: replaces when the hit rate is low, steps wait, or they cost more than they did.
#include <algorithm>
#include <array>
#include <deque>

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<std::string_view, 3> threshold_signals{"hit-rate", "stall", "cost"};

constexpr std::array<SpecParameter, 5> threshold_parameters{
    {{"value", ParameterKind::real, 0, 1000000, 0.5,
      "threshold: replace when the hit rate is below it, or stall or cost above it (cost: 1.5)"},
     {.name = "on",
      .kind = ParameterKind::word,
      .help = "signal compared with the threshold: hit-rate (share of the needed rows that are in "
              "the buffer), stall (share of a step spent waiting) or cost (of a step, relative to "
              "the lowest recent one)",
      .words = threshold_signals,
      .word = threshold_signals[0]},
     {"fraction", ParameterKind::real, 0, 1, 1, "largest share of the buffer replaced at once"},
     {"interval", ParameterKind::whole, 1, 1000000, 1, "steps between two decisions"},
     {"memory", ParameterKind::whole, 1, 100000, 64,
      "number of decisions over which the lowest cost is taken"}}};

/// The lowest of the last so many values.
class MovingMinimum {
public:
    explicit MovingMinimum(std::uint64_t memory) : memory_(memory) {}

    void add(double value) {
        while (!lowest_.empty() && lowest_.back().value >= value)
            lowest_.pop_back();
        lowest_.push_back({count_, value});
        if (lowest_.front().at + memory_ <= count_) lowest_.pop_front();
        ++count_;
    }
    [[nodiscard]] double get() const { return lowest_.front().value; }

private:
    struct Entry {
        std::uint64_t at;
        double value;
    };
    std::uint64_t memory_;
    std::uint64_t count_ = 0;
    std::deque<Entry> lowest_;  ///< rising; each lower than all that came after those before it
};

class ThresholdAgent final : public Agent {
public:
    explicit ThresholdAgent(const AgentSpec& spec)
        : on_(spec.text("on")),
          // Cost is relative to its minimum: below 1 it would always replace.
          value_(on_ == "cost" && !spec.given("value") ? 1.5 : spec.number("value")),
          fraction_(spec.number("fraction")),
          interval_(spec.whole("interval")),
          cheapest_(spec.whole("memory")) {}

    [[nodiscard]] std::uint64_t interval() const noexcept override { return interval_; }

    [[nodiscard]] Answer decide(const Observation& observation) override {
        const Reason reason = why(observation);
        return {.action = reason == Reason::good_enough ? Action::keep(reason)
                                                        : Action::replace(reason, fraction_)};
    }

private:
    [[nodiscard]] Reason why(const Observation& o) {
        if (on_ == "hit-rate") {
            const bool low = o.rows.needed != 0 && o.hit_rate() < value_;
            return low ? Reason::low_hit_rate : Reason::good_enough;
        }
        if (on_ == "stall") {
            return o.seconds.stall > value_ * o.seconds.step ? Reason::high_stall
                                                             : Reason::good_enough;
        }
        if (o.rows.steps == 0) return Reason::good_enough;
        cheapest_.add(o.cost_per_step());
        return o.cost_per_step() > value_ * cheapest_.get() ? Reason::rising_cost
                                                            : Reason::good_enough;
    }

    std::string on_;
    double value_;
    double fraction_;
    std::uint64_t interval_;
    MovingMinimum cheapest_;
};

}  // namespace

const AgentInfo threshold_info{
    {"threshold",
     "Replaces when the hit rate is low, when steps wait, or when they cost more than "
     "they did.",
     threshold_parameters, SpecValue::optional},
    "nothing",
    "nothing",
    /*decides=*/true,
    /*fixed=*/true};

std::unique_ptr<Agent> make_threshold(const AgentSpec& spec, const AgentFacts& /*facts*/) {
    return std::make_unique<ThresholdAgent>(spec);
}

}  // namespace rudder::steer
