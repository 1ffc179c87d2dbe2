#include "summary.hpp"

#include <algorithm>

#include "core/fields_json.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/version.hpp"
#include "train/evaluation/pace.hpp"

namespace rudder::train {

namespace {

/// The last epoch that was evaluated; without one, the last.
EpochRecord last_epoch(const TrainResult& result) {
    if (result.epochs.empty()) return {};
    const auto found = std::find_if(result.epochs.rbegin(), result.epochs.rend(),
                                    [](const EpochRecord& e) { return e.scores.evaluated; });
    return found == result.epochs.rend() ? result.epochs.back() : *found;
}

Accuracy accuracy_of(EpochRecord epoch, bool regression) {
    epoch.regression = regression;
    return {epoch.train(), epoch.valid(), epoch.test()};
}

SummarySeconds seconds_of(const TrainResult& result) {
    double evaluation = 0;
    for (const EpochRecord& epoch : result.epochs)
        evaluation += epoch.evaluation_seconds;
    return {.total = result.seconds,
            .epoch = median_epoch_seconds(result),
            .steps = result.step_seconds,
            .evaluation = evaluation,
            .cpu = result.cpu_seconds,
            .policy = result.policy_seconds};
}

}  // namespace

std::optional<LinkRanks> link_ranks(const Scores& scores) {
    if (!scores.valid_links || !scores.test_links) return std::nullopt;
    const LinkScore& valid = *scores.valid_links;
    const LinkScore& test = *scores.test_links;
    const auto both = [&](double LinkScore::*member) {
        return LinkMeasure{valid.*member, test.*member};
    };
    return LinkRanks{.mrr = both(&LinkScore::mrr),
                     .hits = {.first_1 = both(&LinkScore::hits_1),
                              .first_3 = both(&LinkScore::hits_3),
                              .first_10 = both(&LinkScore::hits_10),
                              .first_50 = both(&LinkScore::hits_50),
                              .first_100 = both(&LinkScore::hits_100)},
                     .auc = both(&LinkScore::auc)};
}

SummaryAgent agent_summary(const TrainResult& result, const TrainOptions& options) {
    const steer::HelmTotals& t = result.agent.totals;
    const auto share = [](double part, double whole) {
        return whole > 0 ? std::optional(part / whole) : std::nullopt;
    };
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    const std::optional<steer::Regret>& regret = result.agent.regret;
    std::optional<double> excess = share(t.twin_rows, t.built_in_rows);
    if (excess) *excess -= 1;
    return {.name = agent_of(options).text(),
            .decisions = t.decisions,
            .applied = t.applied,
            .kept = t.kept,
            .late = t.late,
            .invalid = t.invalid,
            .refused = t.refused,
            .undone = t.undone,
            .judged = t.judged,
            .correct = share(number(t.correct), number(t.answered())),
            .no_effect = t.no_effect,
            .better = share(number(t.better()), number(t.effective())),
            .excess = excess,
            .regret = regret ? std::optional(regret->value) : std::nullopt,
            .regret_error = regret ? std::optional(regret->error) : std::nullopt,
            .regret_against = regret ? std::optional(regret->best) : std::nullopt,
            .breaker_openings = t.breaker_openings,
            .mailbox_seconds = t.mailbox_seconds,
            .waited_seconds = t.waited_seconds,
            .cpu_seconds = t.cpu_seconds,
            .cpu_share = share(t.cpu_seconds, result.cpu_seconds),
            .learned = result.agent.learned};
}

double median_epoch_seconds(const TrainResult& result) {
    std::vector<double> seconds;
    for (const EpochRecord& epoch : result.epochs)
        seconds.push_back(epoch.seconds);
    if (seconds.empty()) return 0;
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
}

Summary summary_of(const TrainResult& result, const TrainOptions& options, const RunFacts& facts) {
    const EpochRecord last = last_epoch(result);
    const EpochRecord& best = result.best_epoch ? result.epochs[*result.best_epoch] : last;
    const auto count = [](auto n) { return static_cast<std::uint64_t>(n); };
    Summary s;
    s.version = version();
    s.data = facts.data;
    s.model = options.model;
    const buffer::PolicySpec policy = result.policy.value_or(policy_of(options));
    s.policy = policy.text();
    s.steps_ahead = std::max(steps_ahead(options), buffer::horizon_of(policy));
    s.buffer_rows = result.capacity;
    s.buffer_scope = to_string(options.buffer_scope);
    s.ranks = count(facts.ranks);
    s.hosts = count(facts.hosts);
    s.parts = count(facts.parts);
    s.threads = count(facts.threads);
    s.link = facts.link;
    s.topology = result.topology;
    s.precision = to_string(options.precision);
    s.seed = options.seed;
    s.epochs = result.epochs.size();
    s.steps = result.steps;
    s.steps_per_epoch = result.steps_per_epoch;
    s.interrupted = result.interrupted;
    s.stopped_early = result.stopped_early;
    s.resumed_at = result.resumed_at;
    s.accuracy = accuracy_of(best, facts.regression);
    s.accuracy_last = accuracy_of(last, facts.regression);
    if (const auto ranks = link_ranks(best.scores)) {
        s.mrr = ranks->mrr;
        s.hits = ranks->hits;
        s.auc = ranks->auc;
    }
    if (result.best_epoch) s.best_epoch = *result.best_epoch + 1;
    s.evaluations = evaluations(result.epochs);
    s.eval_every = evaluation_interval(options, result.epochs);
    s.loss = {static_cast<double>(result.first_loss), static_cast<double>(result.last_loss),
              to_hex(result.digest)};
    s.seconds = seconds_of(result);
    s.rows = {result.rows, result.floor, {}};
    if (!options.embeddings.empty()) s.rows.learned = result.learned;
    s.row_bytes = result.row_bytes;
    s.sparse = result.sparse;
    s.edges = result.edges;
    s.bytes = {result.bytes, result.received_total, result.sent_total};
    s.coding = result.coding;
    s.agent = agent_summary(result, options);
    s.memory = {result.peak_rss, result.buffer_bytes, result.in_flight_bytes};
    if (!result.device.empty()) {
        const nn::DeviceTimes& times = result.device_times;
        s.gpu = SummaryGpu{result.device, times.upload, times.kernels, times.waiting, times.staged};
    }
    return s;
}

Json to_json(const Summary& summary) {
    return fields_json(summary);
}

Summary summary_from_json(const Json& json, const std::string& where) {
    auto summary = fields_from_json<Summary>(json, where);
    // Earlier versions called `excess` regret, and then both.
    const Json& agent = json.at("agent");
    if (!agent.contains("excess")) summary.agent.excess = summary.agent.regret;
    if (!agent.contains("regret_error")) summary.agent.regret.reset();
    return summary;
}

Json summary_json(const TrainResult& result, const TrainOptions& options, const RunFacts& facts) {
    return to_json(summary_of(result, options, facts));
}

}  // namespace rudder::train
