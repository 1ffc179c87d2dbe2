// rudder report RUN...
#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "buffer/floor.hpp"
#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/staging.hpp"
#include "report/page.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

namespace fs = std::filesystem;

class ReportVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "report"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Write an HTML report of a run, or of several side by side";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder report run"; }

    void define(CLI::App& app) override {
        offer_folders(
            *app.add_option("RUN", runs_, "Folder of a run; several are shown side by side")
                 ->required()
                 ->expected(1, 1000));
        app.add_option(
            "--out", out_,
            "Output file (default: report.html in the folder of one run;\nof several: report.html "
            "here)");
        app.add_flag("--force", force_, "Replace the file if it exists");
        app.add_flag("--no-floor", no_floor_, "Skip the floor, which takes long for a long trace");
    }

    int run(const Context& context) override;

private:
    [[nodiscard]] report::RunData read(const fs::path& folder) const;

    std::vector<std::string> runs_;
    std::string out_;
    bool force_ = false;
    bool no_floor_ = false;
};

/// The floor of every step, where the run was traced; there is none of a run without a buffer.
void find_floor(report::RunData& run) {
    if (!run.traced || run.metrics.lines == 0 || run.summary.text("policy") == "none") return;
    try {
        const buffer::FloorSteps floor = buffer::floor_steps(buffer::read_trace(run.path));
        report::add_floor(run, floor.first_step, floor.rows);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        run.missing.push_back(
            fmt::format("The floor cannot be drawn from trace/: {}.", error.problem()));
    }
}

/// Runs of before run.json was written do not say how their data were divided: the data may.
void find_partition(report::RunData& run) {
    if (run.run.number("partition.parts")) return;
    const std::string data = run.summary.text("data");
    std::error_code code;
    if (data.empty() || !fs::is_directory(data, code)) return;
    try {
        if (!graph::ArrayFolder::is(data, partition::partition_format)) return;
        const partition::PartitionedDataset parts(data);
        report::add_partition(run, run::partition_json(parts).dump());
    } catch (const Error&) {
        return;  // moved, or made anew by a later version: the page says that nothing is known
    }
}

/// The runs in a folder: itself, or those in it, or (repeats) in the folders in it. A folder
/// without any stands for itself, so that whoever reads it says what is wrong.
std::vector<fs::path> runs_in(const fs::path& folder) {
    if (report::is_run_folder(folder)) return {folder};
    std::error_code code;
    std::vector<fs::path> folders;
    std::vector<fs::path> runs;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
        if (entry.is_directory(code)) folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
    for (const fs::path& inner : folders) {
        if (report::is_run_folder(inner)) {
            runs.push_back(inner);
            continue;
        }
        std::vector<fs::path> repeats;
        for (const auto& entry : fs::directory_iterator(inner, code)) {
            if (report::is_run_folder(entry.path())) repeats.push_back(entry.path());
        }
        std::ranges::sort(repeats);
        runs.insert(runs.end(), repeats.begin(), repeats.end());
    }
    if (runs.empty()) return {folder};
    return runs;
}

void check_count(std::size_t count) {
    if (count <= report::most_page_runs) return;
    throw usage_error(fmt::format("{} runs do not fit on one page", count), "RUN",
                      fmt::format("give at most {} at a time; a folder of repeats counts as one",
                                  report::most_page_runs));
}

report::RunData ReportVerb::read(const fs::path& folder) const {
    report::RunData run = report::read_run(folder);
    if (!no_floor_) find_floor(run);
    find_partition(run);
    return run;
}

/// The report in a run's own folder is the run's, and grows old as it goes on.
void write_page(const std::string& page, const fs::path& file, Existing existing) {
    Staging staging = Staging::file(file, existing);
    write_text(staging.path(), page);
    staging.commit();
}

Json to_json(const report::RunData& run) {
    return {{"path", run.path.string()},
            {"state", to_string(run.state)},
            {"steps", run.metrics.steps},
            {"missing", run.missing}};
}

int ReportVerb::run(const Context& context) {
    const auto start = std::chrono::steady_clock::now();
    check_count(runs_.size());
    std::vector<fs::path> folders;
    for (const std::string& given : runs_) {
        for (fs::path& folder : runs_in(given))
            folders.push_back(std::move(folder));
    }
    const bool own = out_.empty() && folders.size() == 1;
    fs::path file = out_;
    if (out_.empty()) file = own ? folders[0] / "report.html" : "report.html";
    if (!own && !force_) {
        std::error_code code;
        if (fs::symlink_status(file, code).type() != fs::file_type::not_found) {
            throw usage_error("the output exists already", file.string(),
                              "choose another name, or give --force to replace it");
        }
    }
    std::vector<report::RunData> runs;
    for (const fs::path& folder : folders)
        runs.push_back(read(folder));
    check_count(report::settings_on_page(runs));
    const std::string page = report::report_page(runs);
    write_page(page, file, own || force_ ? Existing::replace : Existing::refuse);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (context.json) {
        Json list = Json::array();
        for (const report::RunData& run : runs)
            list.push_back(to_json(run));
        print_json({{"file", file.string()},
                    {"bytes", page.size()},
                    {"seconds", seconds.count()},
                    {"runs", list}});
    } else if (!context.quiet) {
        print_text(fmt::format(
            "{}  {} of {}, made in {:.1f} s\n", file.string(), format_bytes(page.size()),
            runs.size() == 1 ? fmt::format("a run that is {}", to_string(runs[0].state))
                             : fmt::format("{} runs", runs.size()),
            seconds.count()));
        for (const report::RunData& run : runs) {
            for (const std::string& sentence : run.missing)
                print_text(fmt::format("  {}: {}\n", run.name, sentence));
        }
    }
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_report_verb() {
    return std::make_unique<ReportVerb>();
}

}  // namespace rudder::cli
