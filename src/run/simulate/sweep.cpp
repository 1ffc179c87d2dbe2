#include "sweep.hpp"

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/json.hpp"
#include "report/stacked_bars.hpp"

namespace rudder::run {

namespace {

/// Of a step of one rank, on average.
struct StepFigures {
    double step = 0;
    double compute = 0;
    double rows = 0;
    double gradients = 0;
    double ranks = 0;
    double hit_rate = 0;
    double fetched = 0;  ///< rows, of all ranks
    double bytes = 0;    ///< likewise

    explicit StepFigures(const SimulatedSummary& made) {
        const train::Summary& s = made.summary;
        const double steps = static_cast<double>(std::max<std::uint64_t>(1, s.steps));
        const double all = steps * static_cast<double>(s.ranks);
        const Seconds& seconds = s.seconds.steps;
        step = made.step_seconds;
        compute = seconds.compute / all;
        rows = seconds.wait_rows / all;
        gradients = seconds.wait_gradients / all;
        ranks = seconds.wait_ranks / all;
        const double remote = static_cast<double>(s.rows.rows.hit + s.rows.rows.demand);
        hit_rate = remote > 0 ? static_cast<double>(s.rows.rows.hit) / remote : 0;
        fetched = static_cast<double>(s.rows.rows.fetched()) / steps;
        bytes = static_cast<double>(s.bytes.received_total) / steps;
    }
};

}  // namespace

std::vector<std::string> sweep_figures() {
    return {"ranks",
            "hosts",
            "steps",
            "step_ms",
            "compute_ms",
            "wait_rows_ms",
            "wait_gradients_ms",
            "wait_ranks_ms",
            "hit_rate",
            "rows_per_step",
            "bytes_per_step",
            "receive_skew"};
}

std::vector<std::string> sweep_figures(const SweptRun& run) {
    const StepFigures f(run.made);
    const train::Summary& s = run.made.summary;
    const auto ms = [](double seconds) { return fmt::format("{:.4g}", seconds * 1e3); };
    return {std::to_string(s.ranks),
            std::to_string(s.hosts),
            std::to_string(s.steps),
            ms(f.step),
            ms(f.compute),
            ms(f.rows),
            ms(f.gradients),
            ms(f.ranks),
            fmt::format("{:.4f}", f.hit_rate),
            fmt::format("{:.0f}", f.fetched),
            fmt::format("{:.0f}", f.bytes),
            fmt::format("{:.3f}", run.made.receive_skew)};
}

std::string sweep_csv(const Scenario& scenario, std::span<const SweptRun> runs) {
    std::vector<std::string> head = scenario.swept();
    for (std::string& name : sweep_figures())
        head.push_back(std::move(name));
    std::string text = csv_line(head);
    for (const SweptRun& run : runs) {
        std::vector<std::string> cells;
        for (const auto& [key, value] : run.job.at)
            cells.push_back(value);
        for (std::string& figure : sweep_figures(run))
            cells.push_back(std::move(figure));
        text += csv_line(cells);
    }
    return text;
}

std::string sweep_svg(const Scenario& scenario, std::span<const SweptRun> runs) {
    report::StackedBars chart;
    chart.title = fmt::format("{}: time of a step",
                              scenario.title().empty() ? "Simulated" : scenario.title());
    chart.parts = {"compute", "waiting for rows", "for gradients", "for slower ranks"};
    for (const SweptRun& run : runs) {
        const StepFigures f(run.made);
        chart.bars.push_back({run.job.name(), {f.compute, f.rows, f.gradients, f.ranks}});
    }
    return report::stacked_bars_svg(chart) + "\n";
}

Json sweep_json(std::span<const SweptRun> runs) {
    Json list = Json::array();
    const std::vector<std::string> names = sweep_figures();
    for (const SweptRun& run : runs) {
        Json one = Json::object();
        for (const auto& [key, value] : run.job.at)
            one["swept"][key] = value;
        const std::vector<std::string> figures = sweep_figures(run);
        for (std::size_t i = 0; i < names.size(); ++i)
            one[names[i]] = Json::parse(figures[i]);
        list.push_back(std::move(one));
    }
    return list;
}

}  // namespace rudder::run
