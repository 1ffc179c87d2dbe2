#include "advice.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/text.hpp"
#include "train/summary.hpp"

namespace rudder::cli {

namespace {

using Advice = std::optional<std::string>;

constexpr std::size_t most_advice = 3;
/// Shares from which on something is worth a word.
constexpr double much_stall = 0.10;
constexpr double much_reduce = 0.25;
constexpr double much_compute = 0.75;
constexpr double much_cut = 0.30;

Advice harmful_agent(const RunSigns& s) {
    if (!s.steered || !s.excess || *s.excess < 0.02) return {};
    return fmt::format("--agent never: the agent fetched {} more rows than the built-in rule",
                       format_percent(*s.excess));
}

Advice larger_buffer(const RunSigns& s) {
    if (s.stall < much_stall || !s.buffered || s.buffer <= 0 || s.buffer >= 1) return {};
    if (s.travelled < 0.3) return {};
    return fmt::format("--buffer {:.2g} (it was {:.2g}): steps wait for rows {} of their time",
                       std::min(1.0, s.buffer * 2), s.buffer, format_percent(s.stall));
}

Advice any_buffer(const RunSigns& s) {
    if (s.stall < much_stall || s.buffered || s.travelled <= 0) return {};
    return fmt::format("--policy window: steps wait for rows {} of their time, and none are kept",
                       format_percent(s.stall));
}

Advice longer_window(const RunSigns& s) {
    if (s.stall < much_stall || !s.buffered || s.window == 0 || s.window >= 64) return {};
    return fmt::format("--window {} (it was {}): rows would be asked for earlier", s.window * 2,
                       s.window);
}

Advice shorter_rows(const RunSigns& s) {
    if (s.stall < much_stall || !s.float_rows || s.feature_share < 0.5) return {};
    return fmt::format("--precision bfloat16: rows are {} of the bytes, and would be half as long",
                       format_percent(s.feature_share));
}

Advice shared_samples(const RunSigns& s) {
    if (s.stall < much_stall || !s.own_samples || s.feature_share < 0.3) return {};
    return fmt::format(
        "--sampler shared: steps wait for rows {} of their time, and would need fewer",
        format_percent(s.stall));
}

Advice better_partition(const RunSigns& s) {
    if (s.cut < much_cut || s.method == "metis" || s.method.empty()) return {};
    if (s.stall < much_stall) return {};
    return fmt::format("rudder partition --method metis: {} cut {} of the edges", s.method,
                       format_percent(s.cut));
}

Advice fewer_ranks(const RunSigns& s) {
    const int wanted = s.ranks * s.threads;
    const double waits = s.reduce + s.slower;
    if (waits < much_reduce || s.ranks < 2 || wanted <= s.cores) return {};
    return fmt::format(
        "fewer ranks: {} with {} each share {} cores, and wait for each other {} of "
        "their time",
        s.ranks, s.threads == 1 ? "1 thread" : fmt::format("{} threads", s.threads), s.cores,
        format_percent(waits));
}

Advice shorter_gradients(const RunSigns& s) {
    if (s.reduce < much_reduce || !s.float_gradients || s.ranks * s.threads > s.cores) return {};
    return fmt::format(
        "--gradient-precision bfloat16: steps wait for gradients {} of their time: half the bytes",
        format_percent(s.reduce));
}

Advice larger_batch(const RunSigns& s) {
    if (s.reduce < much_reduce || s.ranks * s.threads > s.cores) return {};
    if (s.steps_per_epoch < 8 || s.batch == 0) return {};
    return fmt::format("--batch {}: steps wait for gradients {} of their time, and would be fewer",
                       s.batch * 2, format_percent(s.reduce));
}

Advice even_ranks(const RunSigns& s) {
    if (s.slower < much_reduce || s.ranks < 2 || s.ranks * s.threads > s.cores) return {};
    return fmt::format(
        "parts or cores that are even: steps wait for ranks that compute longer {} of their time",
        format_percent(s.slower));
}

Advice more_hands(const RunSigns& s) {
    if (s.compute < much_compute) return {};
    if (s.ranks * s.threads < s.cores) {
        return fmt::format("--threads {}: steps compute {} of their time, and {} cores are idle",
                           s.cores / s.ranks, format_percent(s.compute),
                           s.cores - s.ranks * s.threads);
    }
    return fmt::format("more machines: steps compute {} of their time, on all {} cores",
                       format_percent(s.compute), s.cores);
}

Advice more_epochs(const RunSigns& s) {
    if (s.best_epoch == 0 || s.best_epoch != s.epochs || s.epochs < 2) return {};
    return fmt::format("--epochs {}: the last was the best, so that more may be better",
                       s.epochs * 2);
}

Advice less_overfit(const RunSigns& s) {
    if (!s.train || !s.valid || *s.train - *s.valid < 0.05) return {};
    if (s.best_epoch == 0 || s.best_epoch * 10 > s.epochs * 7 || s.dropout >= 0.7) return {};
    return fmt::format(
        "--dropout {:.1f} or --patience 3: {} right in training, {} in validation, "
        "best at epoch {}",
        s.dropout + 0.2, format_percent(*s.train), format_percent(*s.valid), s.best_epoch);
}

Advice keep_the_run(const RunSigns& s) {
    if (s.kept) return {};
    return "--out FOLDER: keeps weights, metrics and what a report is made of";
}

Advice know_the_floor(const RunSigns& s) {
    if (!s.kept || s.traced || !s.buffered || s.travelled <= 0) return {};
    return "--trace: says how far the buffer was from the best possible one";
}

constexpr std::array rules{AdviceRule{"harmful agent", harmful_agent},
                           AdviceRule{"any buffer", any_buffer},
                           AdviceRule{"larger buffer", larger_buffer},
                           AdviceRule{"shorter rows", shorter_rows},
                           AdviceRule{"shared samples", shared_samples},
                           AdviceRule{"longer window", longer_window},
                           AdviceRule{"fewer ranks", fewer_ranks},
                           AdviceRule{"better partition", better_partition},
                           AdviceRule{"larger batch", larger_batch},
                           AdviceRule{"shorter gradients", shorter_gradients},
                           AdviceRule{"even ranks", even_ranks},
                           AdviceRule{"more epochs", more_epochs},
                           AdviceRule{"less overfit", less_overfit},
                           AdviceRule{"keep the run", keep_the_run},
                           AdviceRule{"more hands", more_hands},
                           AdviceRule{"know the floor", know_the_floor}};

}  // namespace

std::span<const AdviceRule> advice_rules() noexcept {
    return rules;
}

std::vector<std::string> advice_for(const RunSigns& signs) {
    std::vector<std::string> all;
    for (const AdviceRule& rule : rules) {
        if (all.size() == most_advice) break;
        if (auto text = rule.advise(signs)) all.push_back(std::move(*text));
    }
    return all;
}

void read_signs(const train::Summary& summary, RunSigns& signs) {
    const Seconds& seconds = summary.seconds.steps;
    const double step = std::max(seconds.step, 1e-9);
    signs.stall = seconds.wait_rows / step;
    signs.compute = seconds.compute / step;
    signs.reduce = seconds.wait_gradients / step;
    signs.slower = seconds.wait_ranks / step;
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
        return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    };
    const Rows& rows = summary.rows.rows;
    signs.travelled = share(rows.fetched(), rows.hit + rows.demand);
    signs.feature_share = share(summary.bytes.kinds.features, summary.bytes.received_total);
    signs.buffered = summary.buffer_rows > 0;
    if (summary.sparse.value_or(false)) signs.float_rows = false;
    signs.threads = static_cast<int>(std::max<std::uint64_t>(1, summary.threads));
    signs.epochs = summary.epochs;
    signs.best_epoch = summary.best_epoch.value_or(0);
    signs.steps_per_epoch = summary.steps_per_epoch;
    signs.train = summary.accuracy_last.train;
    signs.valid = summary.accuracy_last.valid;
    signs.excess = summary.agent.excess;
    signs.steered = summary.agent.name != "never";
    signs.traced = summary.rows.floor.has_value();
}

}  // namespace rudder::cli
