#include "compare_rows.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "cli/summary_text.hpp"
#include "cli/table.hpp"
#include "core/csv.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/text.hpp"
#include "rudder/train/trainer.hpp"

namespace rudder::cli {

double ComparedRun::milliseconds(double seconds, int ranks) const {
    const auto steps = static_cast<double>(std::max<std::uint64_t>(result.steps, 1));
    return seconds / steps / ranks * 1e3;
}

std::string ComparedRow::name() const {
    const auto known = runs.empty() ? std::nullopt : runs.front().result.policy;
    const std::string policy = known.value_or(train::policy_of(options)).text();
    return steered ? policy + " + " + train::agent_of(options).text() : policy;
}

const ComparedRun& ComparedRow::middle() const {
    RUDDER_CHECK(!runs.empty());
    std::vector<const ComparedRun*> order;
    for (const ComparedRun& run : runs)
        order.push_back(&run);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
    std::ranges::nth_element(order, middle, {},
                             [](const ComparedRun* run) { return run->step_milliseconds(1); });
    return **middle;
}

ValueSpread spread_of(std::vector<double> values) {
    RUDDER_CHECK(!values.empty());
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    const bool even = values.size() % 2 == 0;
    return {values.front(), even ? (values[half - 1] + values[half]) / 2 : values[half],
            values.back()};
}

namespace {

/// A number of a run.
struct Quantity {
    std::string name;  ///< in the table; empty: not shown there
    std::string key;   ///< in CSV and JSON
    std::function<double(const ComparedRun&)> value;
    std::function<std::string(double)> text;
};

std::string whole_text(double value) {
    return format_count(static_cast<std::uint64_t>(value));
}

double compared_ratio(double a, double b) {
    return b == 0 ? (a == 0 ? 1 : 0) : a / b;
}

std::vector<Quantity> quantities(int ranks) {
    const auto rows = [](std::uint64_t Rows::*kind) {
        return
            [kind](const ComparedRun& run) { return static_cast<double>(run.result.rows.*kind); };
    };
    const auto time = [ranks](double Seconds::*part) {
        return [ranks, part](const ComparedRun& run) {
            return run.milliseconds(run.result.step_seconds.*part, ranks);
        };
    };
    const auto fixed = [](double value) { return fmt::format("{:.2f}", value); };
    return {{"fetched", "fetched",
             [](const ComparedRun& run) { return static_cast<double>(run.fetched()); }, whole_text},
            {"demand", "demand", rows(&Rows::demand), whole_text},
            {"replacement", "replacement", rows(&Rows::replacement), whole_text},
            {"ahead", "ahead", rows(&Rows::ahead), whole_text},
            {"wasted", "wasted", rows(&Rows::wasted), whole_text},
            {"hits", "hit", rows(&Rows::hit), whole_text},
            {"bytes", "feature_bytes",
             [](const ComparedRun& run) { return static_cast<double>(run.result.bytes.features); },
             [](double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }},
            {"", "stall_ms", time(&Seconds::stall), fixed},
            {"wait rows ms", "wait_rows_ms", time(&Seconds::wait_rows), fixed},
            {"step ms", "step_ms", time(&Seconds::step), fixed}};
}

ValueSpread row_spread(const ComparedRow& row, const Quantity& quantity) {
    std::vector<double> values;
    for (const ComparedRun& run : row.runs)
        values.push_back(quantity.value(run));
    return spread_of(std::move(values));
}

/// "12.34", of repeats that differ "12.34 (12.10 to 13.02)".
std::string spread_text(const ValueSpread& spread, const Quantity& quantity) {
    const std::string least = quantity.text(spread.least);
    const std::string most = quantity.text(spread.most);
    const std::string median = quantity.text(spread.median);
    return least == most ? median : fmt::format("{} ({} to {})", median, least, most);
}

train::Score test_score(const train::TrainResult& result) {
    return result.best_epoch ? result.epochs[*result.best_epoch].scores.test : train::Score{};
}

std::optional<double> of_floor(double fetched, const CompareFacts& facts) {
    if (!facts.floor || *facts.floor == 0) return std::nullopt;
    return compared_ratio(fetched, static_cast<double>(*facts.floor));
}

}  // namespace

std::string compare_table(std::span<const ComparedRow> rows, const CompareFacts& facts) {
    const auto all = quantities(facts.run.ranks);
    std::vector<std::string> header{"policy"};
    for (const Quantity& quantity : all)
        if (!quantity.name.empty()) header.push_back(quantity.name);
    header.insert(header.end(), {"test", "of floor"});
    const bool steered = std::ranges::any_of(rows, &ComparedRow::steered);
    if (steered) header.insert(header.end(), {"excess", "regret"});
    Table table(header);
    for (const ComparedRow& row : rows) {
        std::vector<std::string> cells{row.name()};
        for (const Quantity& quantity : all) {
            if (!quantity.name.empty())
                cells.push_back(spread_text(row_spread(row, quantity), quantity));
        }
        const train::TrainResult& middle = row.middle().result;
        const train::Score score = test_score(middle);
        const auto floor = of_floor(row_spread(row, all.front()).median, facts);
        cells.push_back(score.answers == 0 ? "-" : fmt::format("{:.2f} %", score.share() * 100));
        cells.push_back(floor ? fmt::format("{:.3f}", *floor) : "-");
        if (steered) {
            const train::SummaryAgent agent = train::agent_summary(middle, row.options);
            cells.push_back(agent.excess ? fmt::format("{:+.1f} %", *agent.excess * 100) : "-");
            cells.push_back(regret_text(agent));
        }
        table.add(std::move(cells));
    }
    return table.text();
}

std::string compare_advice(std::span<const ComparedRow> rows, const CompareFacts& facts) {
    const auto all = quantities(facts.run.ranks);
    const Quantity& fetched_rows = all.front();
    const Quantity& step_time = all.back();
    const auto fetched = [&](const ComparedRow& row) {
        return row_spread(row, fetched_rows).median;
    };
    const auto step = [&](const ComparedRow& row) { return row_spread(row, step_time).median; };
    const ComparedRow& fewest = *std::ranges::min_element(rows, {}, fetched);
    const ComparedRow& fastest = *std::ranges::min_element(rows, {}, step);
    const ComparedRow& most = *std::ranges::max_element(rows, {}, fetched);
    if (fetched(most) == 0) {
        return "No remote rows were needed: no policy can gain anything here.";
    }
    std::string text = fmt::format(
        "{} fetched the fewest rows: {:.2f} times those of {}, {:.3f} times the fewest "
        "possible",
        fewest.name(), compared_ratio(fetched(fewest), fetched(most)), most.name(),
        compared_ratio(fetched(fewest), static_cast<double>(facts.floor.value_or(0))));
    const ComparedRow& other = &fastest == &fewest ? most : fewest;
    text +=
        fmt::format(", {} the fastest ({:.2f} ms, {}: {:.2f} ms).",
                    &fastest == &fewest ? "and its steps were"
                                        : fmt::format("while the steps of {} were", fastest.name()),
                    step(fastest), other.name(), step(other));
    // Whose times reach into those of the fastest may be as fast.
    if (rows.front().runs.size() < 2) return text;
    std::vector<std::string> near;
    for (const ComparedRow& row : rows) {
        if (&row != &fastest &&
            row_spread(row, step_time).least <= row_spread(fastest, step_time).most)
            near.push_back(row.name());
    }
    if (near.empty()) return text + " No other row's times reach into its own.";
    const std::vector<std::string_view> names(near.begin(), near.end());
    return text + fmt::format(" Times of {} reach into its own: the order may be chance.",
                              join(names, ", "));
}

std::string compare_csv(std::span<const ComparedRow> rows, const CompareFacts& facts) {
    const auto all = quantities(facts.run.ranks);
    std::vector<std::string> cells{"row", "policy", "agent", "link", "repeat", "ranks", "steps"};
    for (const Quantity& quantity : all)
        cells.push_back(quantity.key);
    cells.insert(cells.end(), {"seconds", "test_accuracy", "floor", "of_floor", "digest"});
    std::string text = csv_line(cells);
    const std::size_t repeats = rows.empty() ? 0 : rows.front().runs.size();
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const ComparedRow& row = rows[r];
            const ComparedRun& run = row.runs[repeat];
            const train::TrainResult& result = run.result;
            const train::Score score = test_score(result);
            const auto floor = of_floor(static_cast<double>(run.fetched()), facts);
            cells = {fmt::format("{}", r + 1),
                     result.policy.value_or(train::policy_of(row.options)).text(),
                     train::agent_of(row.options).text(),
                     facts.run.link,
                     fmt::format("{}", repeat + 1),
                     fmt::format("{}", facts.run.ranks),
                     fmt::format("{}", result.steps)};
            for (const Quantity& quantity : all)
                cells.push_back(fmt::format("{}", quantity.value(run)));
            cells.push_back(fmt::format("{}", result.seconds));
            cells.push_back(score.answers == 0 ? "" : fmt::format("{}", score.share()));
            cells.push_back(facts.floor ? fmt::format("{}", *facts.floor) : "");
            cells.push_back(floor ? fmt::format("{}", *floor) : "");
            cells.push_back(to_hex(result.digest));
            text += csv_line(cells);
        }
    }
    return text;
}

Json compare_json(std::span<const ComparedRow> rows, const CompareFacts& facts) {
    Json list = Json::array();
    for (const ComparedRow& row : rows) {
        train::TrainResult result = row.middle().result;
        result.floor = facts.floor.value_or(0);
        Json json = train::summary_json(result, row.options, facts.run);
        const auto floor = of_floor(static_cast<double>(row.middle().fetched()), facts);
        json["of_floor"] = floor ? Json(*floor) : Json(nullptr);
        if (row.runs.size() > 1) {
            json["repeats"] = row.runs.size();
            for (const Quantity& quantity : quantities(facts.run.ranks)) {
                const ValueSpread spread = row_spread(row, quantity);
                json["spread"][quantity.key] = {
                    {"median", spread.median}, {"least", spread.least}, {"most", spread.most}};
            }
        }
        list.push_back(std::move(json));
    }
    return list;
}

}  // namespace rudder::cli
