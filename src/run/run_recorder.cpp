#include "run_recorder.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "report/json_lines_sink.hpp"
#include "report/prometheus_sink.hpp"
#include "report/sink_runner.hpp"
#include "report/tensorboard_sink.hpp"
#include "rudder/core/error.hpp"

#include "last_words.hpp"
#include "run_card.hpp"

namespace rudder::run {

namespace {

using Sinks = std::vector<std::unique_ptr<report::MetricSink>>;

/// Adds a sink that can be made; training does without others.
template <class Make>
void add_sink(Sinks& sinks, Make&& make) {
    try {
        sinks.push_back(make());
    } catch (const Error& error) {
        log::warning(
            fmt::format("{} ({}); training continues without it", error.problem(), error.where()));
    }
}

report::PrometheusOptions prometheus_options(const SinkSettings& settings, const Json& facts) {
    report::PrometheusOptions options;
    options.address = settings.address;
    options.port = *settings.port;
    options.ranks = facts.at("ranks").get<std::size_t>();
    for (const char* key : {"version", "data", "model", "policy", "agent"})
        options.info.emplace_back(key, facts.at(key).get<std::string>());
    const auto number = [&](const char* key) { return facts.value(key, std::uint64_t{0}); };
    options.plan = {.name = facts.value("title", ""),
                    .epochs = number("epochs"),
                    .steps = number("epochs") * number("steps_per_epoch"),
                    .ranks = number("ranks"),
                    .policy = facts.at("policy").get<std::string>(),
                    .agent = facts.at("agent").get<std::string>()};
    return options;
}

Json sinks_json(const report::SinkTotals& totals, double cpu_seconds) {
    return {{"names", totals.names},
            {"lines", totals.lines},
            {"cpu_seconds", totals.cpu_seconds},
            {"cpu_share", cpu_seconds > 0 ? Json(totals.cpu_seconds / cpu_seconds) : Json()},
            {"handover_seconds", totals.handover_seconds},
            {"flush_seconds", totals.flush_seconds}};
}

}  // namespace

Json no_sinks() {
    return sinks_json({}, 1);
}

struct RunRecorder::State {
    std::optional<RunFolder> folder;  // its lock is given back last
    std::optional<RunCard> card;
    std::shared_ptr<const std::atomic<std::uint64_t>> metrics_bytes;
    std::shared_ptr<report::RunProgress> progress;  ///< null where nobody asks
    std::unique_ptr<report::SinkRunner> runner;
    bool regression = false;
    std::optional<LastWords> words;

    Sinks make_sinks(Json& facts, const SinkSettings& settings, const RunPosition& start);
};

Sinks RunRecorder::State::make_sinks(Json& facts, const SinkSettings& settings,
                                     const RunPosition& start) {
    Sinks sinks;
    if (folder) {
        add_sink(sinks, [&] {
            std::vector<train::EpochRecord> told = start.epochs;
            for (train::EpochRecord& epoch : told)
                epoch.regression = regression;  // checkpoints do not say
            auto sink =
                std::make_unique<report::JsonLinesSink>(folder->path(), start.metrics_bytes, told);
            metrics_bytes = sink->metrics_bytes();
            return sink;
        });
    }
    if (folder && settings.tensorboard) {
        add_sink(sinks, [&] {
            return std::make_unique<report::TensorBoardSink>(folder->path(), start.step);
        });
    }
    if (settings.port) {
        add_sink(sinks, [&] {
            auto sink =
                std::make_unique<report::PrometheusSink>(prometheus_options(settings, facts));
            log::info(fmt::format("metrics at {}", sink->url()));
            facts["metrics_url"] = sink->url();
            progress = sink->progress();
            return sink;
        });
    }
    return sinks;
}

RunRecorder::RunRecorder(std::optional<RunFolder> folder, const Json& facts,
                         const SinkSettings& settings, const RunPosition& start, bool regression)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.folder = std::move(folder);
    s.regression = regression;
    Json all = facts;
    s.runner = std::make_unique<report::SinkRunner>(s.make_sinks(all, settings, start));
    if (!s.folder) return;
    s.card.emplace(s.folder->path(), std::move(all));
    s.words.emplace([card = &*s.card](int code, const std::string& reason) {
        const bool stopped = code == static_cast<int>(ErrorKind::interrupted);
        card->end(stopped ? "interrupted" : "failed", reason);
    });
}

RunRecorder::~RunRecorder() = default;

void RunRecorder::step_done(const train::StepRecord& record, std::uint64_t steps) {
    if (state_->progress == nullptr) return;
    report::RunProgress& progress = *state_->progress;
    progress.steps.store(record.step + 1, std::memory_order_relaxed);
    progress.planned.store(steps, std::memory_order_relaxed);
    progress.loss.store(static_cast<double>(record.loss), std::memory_order_relaxed);
}

void RunRecorder::records(std::span<const train::StepRecord> records) {
    if (!records.empty()) state_->runner->steps(records);
}

void RunRecorder::decisions(std::span<const steer::DecisionRecord> decisions) {
    if (!decisions.empty()) state_->runner->decisions(decisions);
}

void RunRecorder::epoch_done(const train::EpochRecord& record, std::uint32_t /*epochs*/) {
    state_->runner->epoch(record);
}

std::uint64_t RunRecorder::metrics_bytes() const {
    if (state_->metrics_bytes == nullptr) return 0;
    state_->runner->flush();
    return state_->metrics_bytes->load(std::memory_order_relaxed);
}

Json RunRecorder::close(double cpu_seconds) {
    state_->runner->close();
    return sinks_json(state_->runner->totals(), cpu_seconds);
}

void RunRecorder::finish(const Json& summary) {
    if (!state_->folder) return;
    state_->folder->finish(summary);
    state_->card->end("finished");
}

void RunRecorder::interrupt() {
    if (state_->card) state_->card->end("interrupted");
}

void RunRecorder::fail(const std::exception& error) {
    state_->runner->close();
    if (!state_->card) return;
    const auto* known = dynamic_cast<const Error*>(&error);
    const bool interrupted = known != nullptr && known->kind() == ErrorKind::interrupted;
    state_->card->end(interrupted ? "interrupted" : "failed", error.what());
}

}  // namespace rudder::run
