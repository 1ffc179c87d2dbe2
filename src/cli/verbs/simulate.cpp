// rudder simulate SCENARIO
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/summary_text.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/staging.hpp"
#include "report/page.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "run/run_folder.hpp"
#include "run/simulate/sweep.hpp"

namespace rudder::cli {

namespace {

namespace fs = std::filesystem;

/// Longer than this only with --force.
constexpr double long_seconds = 2 * 3600;
/// Runs of more ranks are simulated one after the other: each takes much memory.
constexpr std::uint64_t many_ranks = 128;

struct SimulateForm {
    std::string out;
    bool full = false;
    bool force = false;
};

std::span<const Setting<SimulateForm>> simulate_table() {
    using O = SimulateForm;
    static const std::array table{
        setting<O, &O::out>("out", "Folder of the run, or of the runs of a sweep").offering([] {
            return std::vector{any_folder};
        }),
        setting<O, &O::full>("full", "Take what the table [full] of the scenario says"),
        setting<O, &O::force>("force", "Replace an existing output; run a sweep of hours"),
    };
    return table;
}

class SimulateVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "simulate"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Simulate training on a cluster that a scenario file describes";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder simulate cluster.toml --out simulated";
    }
    void define(CLI::App& app) override {
        app.add_option("SCENARIO", file_, "Scenario, a TOML file")->required();
        bind_options(app, simulate_table(), form_);
        app.add_option("--set", set_, "KEY=VALUE in place of the scenario's; may be repeated")
            ->allow_extra_args(false);
    }
    void settle() override {
        if (form_.out.empty())
            throw usage_error("no folder for the run is given", "out", "give one with --out");
    }
    int run(const Context& context) override;

private:
    [[nodiscard]] std::vector<run::SweptRun> simulate(const run::Scenario& scenario,
                                                      const std::vector<fs::path>& parts) const;
    void check_time(const run::Scenario& scenario, const std::vector<fs::path>& parts) const;
    void write_sweep(const run::Scenario& scenario, std::span<const run::SweptRun> runs) const;
    void show(const run::Scenario& scenario, std::span<const run::SweptRun> runs,
              const Context& context) const;
    [[nodiscard]] fs::path folder_of(const run::Scenario& scenario, std::size_t number) const;

    std::string file_;
    std::vector<std::string> set_;
    SimulateForm form_;
};

/// The runs of a sweep lie in its folder, in their order.
fs::path SimulateVerb::folder_of(const run::Scenario& scenario, std::size_t number) const {
    if (!scenario.sweeps()) return form_.out;
    const std::size_t all = scenario.jobs().size();
    std::string name = fmt::format("{:0{}}-", number + 1, std::to_string(all).size());
    for (const char c : scenario.jobs()[number].name()) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
        if (plain || name.back() != '-') name += plain ? c : '-';
    }
    return fs::path(form_.out) / name.substr(0, 90);
}

void SimulateVerb::check_time(const run::Scenario& scenario,
                              const std::vector<fs::path>& parts) const {
    double seconds = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const partition::PartitionedDataset data(parts[i]);
        seconds +=
            run::job_seconds(scenario.jobs()[i].job, static_cast<double>(data.info().split.train));
    }
    seconds /= thread_count();
    if (seconds < long_seconds || form_.force) return;
    const std::string key =
        scenario.sweeps() ? scenario.swept().front() : std::string("graph.source");
    throw scenario.fault(
        key,
        fmt::format("the {} would take about {:.0f} hours", scenario.sweeps() ? "sweep" : "run",
                    std::ceil(seconds / 3600)),
        "sweep less, give steps = N, or start it with --force");
}

std::vector<run::SweptRun> SimulateVerb::simulate(const run::Scenario& scenario,
                                                  const std::vector<fs::path>& parts) const {
    const auto& jobs = scenario.jobs();
    std::vector<run::SweptRun> runs(jobs.size());
    const auto one = [&](std::size_t i) {
        runs[i].job = jobs[i];
        const Existing existing =
            form_.force && !scenario.sweeps() ? Existing::replace : Existing::refuse;
        runs[i].made =
            run::simulate_job(scenario, jobs[i], parts[i], folder_of(scenario, i), existing);
    };
    const bool large = std::ranges::any_of(
        jobs, [](const run::SweptJob& job) { return job.job.ranks > many_ranks; });
    if (large || jobs.size() == 1) {
        for (std::size_t i = 0; i < jobs.size(); ++i)
            one(i);
    } else {
        parallel_chunks(jobs.size(), 1, [&](const Chunk& chunk) { one(chunk.index); });
    }
    return runs;
}

void SimulateVerb::write_sweep(const run::Scenario& scenario,
                               std::span<const run::SweptRun> runs) const {
    const fs::path folder(form_.out);
    write_text(folder / "sweep.csv", run::sweep_csv(scenario, runs));
    write_text(folder / "sweep.svg", run::sweep_svg(scenario, runs));
}

void SimulateVerb::show(const run::Scenario& scenario, std::span<const run::SweptRun> runs,
                        const Context& context) const {
    if (context.json) return context.answer(run::sweep_json(runs));
    if (context.quiet) return;
    if (!scenario.sweeps()) {
        const std::size_t columns = output_on_terminal() ? screen_look().columns : 0;
        print_text("Simulated: rows and bytes are real, times are a model's.\n");
        return print_text(
            summary_text(runs.front().made.summary, std::nullopt, form_.out, columns));
    }
    std::vector<std::string> head;
    for (const std::string& key : scenario.swept())
        head.push_back(key);
    for (std::string& figure : run::sweep_figures())
        head.push_back(std::move(figure));
    Table table(head);
    for (const run::SweptRun& run : runs) {
        std::vector<std::string> cells;
        for (const auto& [key, value] : run.job.at)
            cells.push_back(value);
        for (std::string& figure : run::sweep_figures(run))
            cells.push_back(std::move(figure));
        table.add(std::move(cells));
    }
    print_text(table.text());
    print_text(fmt::format("\n{0}/sweep.csv, {0}/sweep.svg{1}\n", form_.out,
                           runs.size() <= report::most_page_runs
                               ? fmt::format("; rudder report {}", form_.out)
                               : std::string()));
}

int SimulateVerb::run(const Context& context) {
    const auto scenario = run::Scenario::read(file_, form_.full, set_);
    const Existing existing = form_.force ? Existing::replace : Existing::refuse;
    run::RunFolder::check(form_.out, existing);
    for (const run::SweptJob& job : scenario.jobs())
        static_cast<void>(run::cluster_of(scenario, job.job));
    std::vector<fs::path> parts;
    for (const run::SweptJob& job : scenario.jobs()) {
        parts.push_back(run::simulated_parts(scenario, job.job, run::simulate_cache(form_.out),
                                             *context.progress));
    }
    check_time(scenario, parts);
    if (scenario.sweeps()) Staging::folder(form_.out, existing).commit();
    const std::vector<run::SweptRun> runs = simulate(scenario, parts);
    if (scenario.sweeps()) write_sweep(scenario, runs);
    show(scenario, runs, context);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_simulate_verb() {
    return std::make_unique<SimulateVerb>();
}

}  // namespace rudder::cli
