#include "slowness.hpp"

#include <string_view>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::train {

namespace {

constexpr std::uint64_t most_ranks = 1U << 20U;
constexpr double most_slow = 1000;

}  // namespace

void Slowness::wait(int of_rank, std::uint64_t step, Duration computing) const {
    if (of_rank != rank || step < from || step >= to) return;
    const double missing = static_cast<double>(computing.count()) * (factor - 1);
    Executor::current().sleep_for(Duration(static_cast<Duration::rep>(missing)));
}

namespace {

/// A range of steps, not an empty one.
bool read_steps(std::string_view text, Slowness& slow) {
    const auto ends = split(text, '-');
    if (ends.size() != 2) return false;
    slow.from = parse_u64(ends[0]).value_or(0);
    slow.to = parse_u64(ends[1]).value_or(0);
    return parse_u64(ends[0]).has_value() && slow.from < slow.to;
}

}  // namespace

Slowness parse_slowness(const std::string& text) {
    if (text.empty()) return {};
    const auto words = split(text, ':');
    const std::uint64_t rank = parse_u64(words.front()).value_or(most_ranks);
    Slowness slow;
    slow.factor = words.size() > 1 ? parse_double(words[1]).value_or(0) : 0;
    const bool valid = words.size() < 4 && rank < most_ranks && slow.factor >= 1 &&
                       slow.factor <= most_slow && (words.size() < 3 || read_steps(words[2], slow));
    if (!valid) {
        throw usage_error(fmt::format("invalid slow: '{}'", text), "slow",
                          "give RANK:FACTOR (1 to 1000), and FROM-TO steps if not all, such as "
                          "1:2.5 or 1:2.5:300-600");
    }
    slow.rank = static_cast<int>(rank);
    return slow;
}

}  // namespace rudder::train
