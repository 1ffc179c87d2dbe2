// What a line of metrics costs: the training thread, which hands it over, and each sink. 16 ranks,
// 256 steps at a time, as a run hands them over; median of 15 rounds, CPU time.
//
//   bench_report_sinks [FOLDER]
//
// FOLDER (default: the current one) is where a folder is made for the files and removed again.
// Asked for: under 2 us on the training thread; all sinks together under 1 % of the CPU time of a
// step, which a run counts by itself (`sinks.cpu_share` of summary.json).
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/figures.hpp"
#include "core/cpu_meter.hpp"
#include "core/executor/thread_executor.hpp"
#include "core/json.hpp"
#include "report/json_lines_sink.hpp"
#include "report/prometheus_sink.hpp"
#include "report/sink_runner.hpp"
#include "report/tensorboard_sink.hpp"
#include "rudder/core/random.hpp"

namespace {

using namespace rudder;
namespace fs = std::filesystem;

constexpr std::uint64_t steps = 256;
constexpr std::uint32_t ranks = 16;
constexpr int rounds = 15;

/// Records as a run on 16 ranks has them.
std::vector<train::StepRecord> make_records(std::uint64_t first) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 1}), first);
    const auto seconds = [&] { return static_cast<double>(draws.below(50'000'000)) * 1e-9; };
    std::vector<train::StepRecord> records;
    for (std::uint64_t i = 0; i < steps * ranks; ++i) {
        train::StepRecord r;
        r.step = first + i / ranks;
        r.rank = static_cast<std::uint32_t>(i % ranks);
        r.loss = static_cast<float>(seconds());
        for_each_field<Seconds>([&]<class M>(const Field<Seconds, M>& f) {
            r.seconds.*f.member = static_cast<M>(seconds());
        });
        for_each_field<Rows>([&](const auto& f) { r.rows.*f.member = draws.below(100'000); });
        for_each_field<comm::Bytes>(
            [&](const auto& f) { r.bytes.*f.member = draws.below(100'000'000); });
        for (std::uint32_t owner = 0; owner < ranks; ++owner)
            r.bytes_by_owner.push_back(draws.below(10'000'000));
        r.edges = draws.below(1'000'000);
        r.buffered = true;
        r.knobs.policy = buffer::PolicySpec::parse("window:16,distance:2");
        r.knobs.capacity = 20'000;
        records.push_back(std::move(r));
    }
    return records;
}

/// Microseconds of CPU time per line that `work` takes of this thread.
double per_line(const std::function<void(std::uint64_t round)>& work) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t start = thread_cpu_nanoseconds();
        work(static_cast<std::uint64_t>(round));
        times.push_back(static_cast<double>(thread_cpu_nanoseconds() - start) * 1e-3 /
                        static_cast<double>(steps * ranks));
    }
    return bench::median(times);
}

void measure(const fs::path& folder) {
    const auto batch = make_records(0);
    const double made = per_line([&](std::uint64_t) { const auto copy = batch; });

    report::JsonLinesSink lines(folder);
    const double json = per_line([&](std::uint64_t) { lines.steps(batch); });
    std::string text;
    report::StepLines().append(text, batch.front());
    report::TensorBoardSink board(folder, 0);
    const double events = per_line([&](std::uint64_t) { board.steps(batch); });
    report::PrometheusSink prometheus({.ranks = ranks, .info = {{"model", "sage"}}});
    const double counted = per_line([&](std::uint64_t) { prometheus.steps(batch); });

    std::vector<std::unique_ptr<report::MetricSink>> sinks;
    sinks.push_back(std::make_unique<report::JsonLinesSink>(folder));
    sinks.push_back(std::make_unique<report::TensorBoardSink>(folder, 0));
    report::SinkRunner runner(std::move(sinks));
    const double handed = per_line([&](std::uint64_t) {
        runner.steps(batch);
        runner.flush();
    });
    runner.close();
    const report::SinkTotals totals = runner.totals();

    const double us_per_scrape = [&] {
        report::PrometheusMetrics metrics(ranks, {{"model", "sage"}});
        metrics.steps(batch);
        return per_line([&](std::uint64_t) { static_cast<void>(metrics.text()); }) *
               static_cast<double>(steps * ranks);
    }();
    fmt::print("a line is {} bytes\n", text.size());
    fmt::print(
        "training thread: {:.2f} us per line, of that {:.2f} to copy the record (asked: 2)\n",
        handed, made);
    fmt::print("metrics.jsonl:   {:.2f} us per line\n", json);
    fmt::print("TensorBoard:     {:.2f} us per line, {:.1f} per step of {} ranks\n", events,
               events * ranks, ranks);
    fmt::print("Prometheus:      {:.2f} us per line, {:.0f} us per fetch\n", counted,
               us_per_scrape);
    fmt::print("all, as the program counts: {:.2f} us of CPU per line\n",
               totals.cpu_seconds * 1e6 / static_cast<double>(totals.lines));
}

}  // namespace

int main(int count, char** words) {
    const fs::path folder =
        fs::path(count > 1 ? words[1] : ".") / fmt::format("bench-sinks-{}", ::getpid());
    fs::create_directories(folder);
    measure(folder);
    fs::remove_all(folder);
}
