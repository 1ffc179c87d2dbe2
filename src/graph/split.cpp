#include "rudder/graph/split.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

namespace {

Error bad_split(const std::string& text) {
    return usage_error(fmt::format("invalid split: '{}'", text), "--split",
                       "give shares such as 60/20/20 or time:60/20/20, or counts such as "
                       "per-class:20/500/1000");
}

/// The vertices that may have a role, shuffled: sorted by a keyed draw, so that the order depends
/// on the seed and the ids alone.
std::vector<VertexId> shuffled_candidates(VertexId vertices, const TargetInfo& info,
                                          const TargetView& targets, std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::split, .seed = seed});
    std::vector<std::pair<std::uint64_t, VertexId>> keyed;
    for (VertexId v = 0; v < vertices; ++v) {
        if (info.kind != TargetKind::none && !is_labelled(info, targets, v)) continue;
        keyed.emplace_back(Draws(stream, v).next64(), v);
    }
    std::ranges::sort(keyed);
    std::vector<VertexId> order(keyed.size());
    std::ranges::transform(keyed, order.begin(), [](const auto& pair) { return pair.second; });
    return order;
}

void assign(std::span<Role> roles, const std::vector<VertexId>& order, const SplitFractions& rule) {
    const auto total = static_cast<double>(order.size());
    const auto upto = [&](double share) {
        return std::min(order.size(), static_cast<std::size_t>(std::llround(share * total)));
    };
    const std::size_t train = upto(rule.train);
    const std::size_t valid = upto(rule.train + rule.valid);
    const std::size_t test = upto(rule.train + rule.valid + rule.test);
    for (std::size_t i = 0; i < test; ++i) {
        roles[order[i]] = i < train ? Role::train : i < valid ? Role::valid : Role::test;
    }
}

void assign(std::span<Role> roles, const std::vector<VertexId>& order, const SplitPerClass& rule,
            const TargetInfo& info, const TargetView& targets) {
    if (info.kind != TargetKind::classes) {
        throw usage_error("a split per class needs one class per vertex", "--split",
                          "give shares such as 60/20/20");
    }
    std::vector<VertexId> taken(info.count, 0);
    VertexId valid = 0;
    VertexId test = 0;
    for (const VertexId v : order) {
        VertexId& of_class = taken[static_cast<std::size_t>(targets.classes[v])];
        if (of_class < rule.train) {
            ++of_class;
            roles[v] = Role::train;
        } else if (valid < rule.valid) {
            ++valid;
            roles[v] = Role::valid;
        } else if (test < rule.test) {
            ++test;
            roles[v] = Role::test;
        }
    }
}

}  // namespace

SplitCounts count_split(std::span<const Role> roles) {
    const auto count = [&](Role role) {
        return static_cast<VertexId>(std::ranges::count(roles, role));
    };
    return {count(Role::train), count(Role::valid), count(Role::test)};
}

namespace {

/// Shares in per cent.
SplitFractions parse_shares(std::string_view rest, const std::string& text) {
    const auto pieces = split(rest, '/');
    if (pieces.size() != 3) throw bad_split(text);
    std::array<double, 3> shares{};
    for (std::size_t i = 0; i < 3; ++i) {
        const auto value = parse_double(pieces[i]);
        if (!value || *value < 0) throw bad_split(text);
        shares[i] = *value / 100;
    }
    if (shares[0] + shares[1] + shares[2] > 1 + 1e-9) throw bad_split(text);
    return {shares[0], shares[1], shares[2]};
}

/// Puts the vertices in the order of their times; equal ones stay as they are.
void order_by_time(std::vector<VertexId>& order, std::span<const std::int64_t> times) {
    const auto missing = std::ranges::find_if(
        order, [&](VertexId v) { return times.empty() || times[v] == no_time; });
    if (missing != order.end()) {
        throw input_error(fmt::format("vertex {} has no time", *missing), "--split",
                          "give the time of each labelled vertex, or another split");
    }
    std::ranges::stable_sort(order, {}, [&](VertexId v) { return times[v]; });
}

}  // namespace

SplitRule parse_split(const std::string& text) {
    std::string_view rest = text;
    constexpr std::string_view by_time = "time:";
    if (rest.starts_with(by_time))
        return SplitByTime{parse_shares(rest.substr(by_time.size()), text)};
    constexpr std::string_view prefix = "per-class:";
    if (rest.starts_with(prefix)) {
        rest.remove_prefix(prefix.size());
        const auto pieces = split(rest, '/');
        if (pieces.size() != 3) throw bad_split(text);
        std::array<VertexId, 3> counts{};
        for (std::size_t i = 0; i < 3; ++i) {
            const auto value = parse_u64(pieces[i]);
            if (!value) throw bad_split(text);
            counts[i] = *value;
        }
        return SplitPerClass{counts[0], counts[1], counts[2]};
    }
    return parse_shares(rest, text);
}

Array<Role> make_split(VertexId vertices, const TargetInfo& info, const TargetView& targets,
                       const SplitRule& rule, std::uint64_t seed,
                       std::span<const std::int64_t> times) {
    auto roles = Array<Role>::zeroed(vertices);
    auto order = shuffled_candidates(vertices, info, targets, seed);
    if (const auto* by_time = std::get_if<SplitByTime>(&rule)) {
        order_by_time(order, times);
        assign(roles.span(), order, by_time->shares);
    } else if (const auto* fractions = std::get_if<SplitFractions>(&rule)) {
        assign(roles.span(), order, *fractions);
    } else {
        assign(roles.span(), order, std::get<SplitPerClass>(rule), info, targets);
    }
    return roles;
}

}  // namespace rudder::graph
