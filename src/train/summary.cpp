#include "summary.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/version.hpp"

namespace rudder::train {

namespace {

/// A share of right answers, or null where there was nothing to answer.
Json share_json(const Score& score, bool regression) {
    if (regression || score.answers == 0) return nullptr;
    return score.share();
}

Json accuracy_json(const Scores& scores, bool regression) {
    Json json = {
        {"train", share_json(scores.train, regression)}, {"valid", nullptr}, {"test", nullptr}};
    if (!scores.evaluated) return json;
    json["valid"] = share_json(scores.valid, regression);
    json["test"] = share_json(scores.test, regression);
    return json;
}

/// The last epoch that was evaluated; without one, the last.
const Scores& last_scores(const TrainResult& result) {
    static const Scores none;
    if (result.epochs.empty()) return none;
    const auto found = std::find_if(result.epochs.rbegin(), result.epochs.rend(),
                                    [](const EpochRecord& e) { return e.scores.evaluated; });
    return found == result.epochs.rend() ? result.epochs.back().scores : found->scores;
}

Json seconds_json(const TrainResult& result) {
    double evaluation = 0;
    for (const EpochRecord& epoch : result.epochs)
        evaluation += epoch.evaluation_seconds;
    const StepSeconds& steps = result.step_seconds;
    return {{"total", result.seconds},        {"epoch", median_epoch_seconds(result)},
            {"sample", steps.sample},         {"fetch", steps.fetch},
            {"stall", steps.stall},           {"compute", steps.compute},
            {"reduce", steps.reduce},         {"step", steps.step},
            {"evaluation", evaluation},       {"cpu", result.cpu_seconds},
            {"policy", result.policy_seconds}};
}

Json agent_json(const TrainResult& result, const TrainOptions& options) {
    const steer::HelmTotals& t = result.agent.totals;
    const auto share = [](double part, double whole) {
        return whole > 0 ? Json(part / whole) : Json(nullptr);
    };
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    Json regret;
    if (t.built_in_rows > 0) regret = t.twin_rows / t.built_in_rows - 1;
    return {{"name", agent_of(options).text()},
            {"decisions", t.decisions},
            {"applied", t.applied},
            {"kept", t.kept},
            {"late", t.late},
            {"invalid", t.invalid},
            {"refused", t.refused},
            {"undone", t.undone},
            {"judged", t.judged},
            {"correct", share(number(t.correct), number(t.judged))},
            {"regret", std::move(regret)},
            {"breaker_openings", t.breaker_openings},
            {"mailbox_seconds", t.mailbox_seconds},
            {"waited_seconds", t.waited_seconds},
            {"cpu_seconds", t.cpu_seconds},
            {"cpu_share", share(t.cpu_seconds, result.cpu_seconds)},
            {"learned", result.agent.learned}};
}

}  // namespace

double median_epoch_seconds(const TrainResult& result) {
    std::vector<double> seconds;
    for (const EpochRecord& epoch : result.epochs)
        seconds.push_back(epoch.seconds);
    if (seconds.empty()) return 0;
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
}

Json summary_json(const TrainResult& result, const TrainOptions& options, const RunFacts& facts) {
    const Scores& last = last_scores(result);
    const Scores& best = result.best_epoch ? result.epochs[*result.best_epoch].scores : last;
    Json rows = to_json(result.rows);
    rows["floor"] = result.floor ? Json(*result.floor) : Json(nullptr);
    Json bytes = bytes_json(result.bytes);
    bytes["received_total"] = result.received_total;
    bytes["sent_total"] = result.sent_total;
    return {{"schema", 1},
            {"version", version()},
            {"data", facts.data},
            {"model", options.model},
            {"policy", policy_of(options).text()},
            {"steps_ahead", steps_ahead(options)},
            {"buffer_rows", result.capacity},
            {"buffer_scope", to_string(options.buffer_scope)},
            {"ranks", facts.ranks},
            {"hosts", facts.hosts},
            {"parts", facts.parts},
            {"threads", facts.threads},
            {"link", facts.link},
            {"topology", result.topology},
            {"precision", to_string(options.precision)},
            {"seed", options.seed},
            {"epochs", result.epochs.size()},
            {"steps", result.steps},
            {"steps_per_epoch", result.steps_per_epoch},
            {"interrupted", result.interrupted},
            {"stopped_early", result.stopped_early},
            {"resumed_at", result.resumed_at},
            {"accuracy", accuracy_json(best, facts.regression)},
            {"accuracy_last", accuracy_json(last, facts.regression)},
            {"best_epoch", result.best_epoch ? Json(*result.best_epoch + 1) : Json(nullptr)},
            {"loss",
             {{"first", result.first_loss},
              {"last", result.last_loss},
              {"digest", to_hex(result.digest)}}},
            {"seconds", seconds_json(result)},
            {"rows", std::move(rows)},
            {"row_bytes", result.row_bytes},
            {"edges", result.edges},
            {"bytes", std::move(bytes)},
            {"agent", agent_json(result, options)},
            {"memory",
             {{"peak_rss", result.peak_rss},
              {"buffer", result.buffer_bytes},
              {"in_flight", result.in_flight_bytes}}}};
}

}  // namespace rudder::train
