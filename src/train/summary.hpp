// The summary of a run: a value, and summary.json, which other programs read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/result.hpp"

namespace rudder::train {

/// What a summary says besides the result.
struct RunFacts {
    int ranks = 1;
    int hosts = 1;
    PartId parts = 1;
    std::string data;  ///< path of the partitioned data set
    std::string link;  ///< the link model, if one was given
    int threads = 1;   ///< per rank
    bool regression = false;
};

/// Shares of right answers; none where there was nothing to answer.
struct Accuracy {
    std::optional<double> train, valid, test;

    static constexpr auto fields = field_list(field("train", &Accuracy::train, FieldKind::value),
                                              field("valid", &Accuracy::valid, FieldKind::value),
                                              field("test", &Accuracy::test, FieldKind::value));
};

/// What links for validation and test came to in one way.
struct LinkMeasure {
    double valid = 0;
    double test = 0;

    static constexpr auto fields = field_list(field("valid", &LinkMeasure::valid, FieldKind::value),
                                              field("test", &LinkMeasure::test, FieldKind::value));
};

/// Shares of links that rank among the first 1, 3, 10, ...
struct LinkHits {
    LinkMeasure first_1, first_3, first_10, first_50, first_100;

    static constexpr auto fields =
        field_list(field("1", &LinkHits::first_1), field("3", &LinkHits::first_3),
                   field("10", &LinkHits::first_10), field("50", &LinkHits::first_50),
                   field("100", &LinkHits::first_100));
};

/// How links ranked.
struct LinkRanks {
    LinkMeasure mrr;
    LinkHits hits;
    LinkMeasure auc;
};
/// None where there were no links, or they were not evaluated.
[[nodiscard]] std::optional<LinkRanks> link_ranks(const Scores& scores);

struct SummaryLoss {
    double first = 0;
    double last = 0;
    std::string digest;

    static constexpr auto fields =
        field_list(field("first", &SummaryLoss::first, FieldKind::value),
                   field("last", &SummaryLoss::last, FieldKind::value),
                   field("digest", &SummaryLoss::digest, FieldKind::plain));
};

/// Those of phases are sums over ranks; `total` and `epoch` are seconds of the clock.
struct SummarySeconds {
    double total = 0;
    double epoch = 0;  ///< median
    Seconds steps;
    double evaluation = 0;
    double cpu = 0;
    double policy = 0;

    static constexpr auto fields =
        field_list(field("total", &SummarySeconds::total, FieldKind::seconds),
                   field("epoch", &SummarySeconds::epoch, FieldKind::seconds),
                   field("", &SummarySeconds::steps),
                   field("evaluation", &SummarySeconds::evaluation, FieldKind::seconds),
                   field("cpu", &SummarySeconds::cpu, FieldKind::seconds),
                   field("policy", &SummarySeconds::policy, FieldKind::seconds));
};

struct SummaryRows {
    Rows rows;
    std::optional<std::uint64_t> floor;    ///< where it is known
    std::optional<std::uint64_t> learned;  ///< of `demand`, where rows are learned

    static constexpr auto fields = field_list(
        field("", &SummaryRows::rows), field("floor", &SummaryRows::floor, FieldKind::count),
        added_field("learned", &SummaryRows::learned, FieldKind::count, ""));
};

struct SummaryBytes {
    comm::Bytes kinds;
    std::uint64_t received_total = 0;
    std::uint64_t sent_total = 0;

    static constexpr auto fields =
        field_list(field("", &SummaryBytes::kinds),
                   field("received_total", &SummaryBytes::received_total, FieldKind::count),
                   field("sent_total", &SummaryBytes::sent_total, FieldKind::count));
};

struct SummaryAgent {
    std::string name;
    std::uint64_t decisions = 0;
    std::uint64_t applied = 0;
    std::uint64_t kept = 0;
    std::uint64_t late = 0;
    std::uint64_t invalid = 0;
    std::uint64_t refused = 0;
    std::uint64_t undone = 0;
    std::uint64_t judged = 0;
    std::optional<double> correct;  ///< share of the judged, and of those that came to nothing
    std::optional<std::uint64_t> no_effect;  ///< of the judged; not known of earlier versions
    std::optional<double> better;        ///< share of those that had an effect, or came to nothing
    std::optional<double> excess;        ///< rows over those of the built-in rule, less 1
    std::optional<double> regret;        ///< over those of the best of the declared class, less 1
    std::optional<double> regret_error;  ///< its standard error; 0: it is exact
    std::optional<std::string> regret_against;  ///< that best one
    std::uint64_t breaker_openings = 0;
    double mailbox_seconds = 0;
    double waited_seconds = 0;
    double cpu_seconds = 0;
    std::optional<double> cpu_share;
    std::vector<std::string> learned;

    static constexpr auto fields =
        field_list(field("name", &SummaryAgent::name, FieldKind::plain),
                   field("decisions", &SummaryAgent::decisions, FieldKind::count),
                   field("applied", &SummaryAgent::applied, FieldKind::count),
                   field("kept", &SummaryAgent::kept, FieldKind::count),
                   field("late", &SummaryAgent::late, FieldKind::count),
                   field("invalid", &SummaryAgent::invalid, FieldKind::count),
                   field("refused", &SummaryAgent::refused, FieldKind::count),
                   field("undone", &SummaryAgent::undone, FieldKind::count),
                   field("judged", &SummaryAgent::judged, FieldKind::count),
                   field("correct", &SummaryAgent::correct, FieldKind::value),
                   field("no_effect", &SummaryAgent::no_effect, FieldKind::count),
                   field("better", &SummaryAgent::better, FieldKind::value),
                   field("excess", &SummaryAgent::excess, FieldKind::value),
                   field("regret", &SummaryAgent::regret, FieldKind::value),
                   field("regret_error", &SummaryAgent::regret_error, FieldKind::value),
                   field("regret_against", &SummaryAgent::regret_against, FieldKind::plain),
                   field("breaker_openings", &SummaryAgent::breaker_openings, FieldKind::count),
                   field("mailbox_seconds", &SummaryAgent::mailbox_seconds, FieldKind::seconds),
                   field("waited_seconds", &SummaryAgent::waited_seconds, FieldKind::seconds),
                   field("cpu_seconds", &SummaryAgent::cpu_seconds, FieldKind::seconds),
                   field("cpu_share", &SummaryAgent::cpu_share, FieldKind::value),
                   field("learned", &SummaryAgent::learned, FieldKind::plain));
};

struct SummaryMemory {
    std::uint64_t peak_rss = 0;
    std::uint64_t buffer = 0;
    std::uint64_t in_flight = 0;

    static constexpr auto fields =
        field_list(field("peak_rss", &SummaryMemory::peak_rss, FieldKind::count),
                   field("buffer", &SummaryMemory::buffer, FieldKind::count),
                   field("in_flight", &SummaryMemory::in_flight, FieldKind::count));
};

/// Where the time of GPUs went, in seconds over all ranks since the last start.
struct SummaryGpu {
    std::string device;         ///< of the first rank
    double upload_seconds = 0;  ///< rows and blocks on their way; beside other work where staged
    double kernel_seconds = 0;
    double waiting_seconds = 0;  ///< of the host for the GPU
    std::uint64_t staged = 0;    ///< passes whose batch was on its way before them

    static constexpr auto fields =
        field_list(field("device", &SummaryGpu::device, FieldKind::plain),
                   field("upload_seconds", &SummaryGpu::upload_seconds, FieldKind::seconds),
                   field("kernel_seconds", &SummaryGpu::kernel_seconds, FieldKind::seconds),
                   field("waiting_seconds", &SummaryGpu::waiting_seconds, FieldKind::seconds),
                   field("staged", &SummaryGpu::staged, FieldKind::count));
};

/// The value of summary.json (design section 10). Rows, bytes, seconds of phases and CPU seconds
/// are sums over ranks.
struct Summary {
    std::uint64_t schema = 1;
    std::string version;
    std::string data;
    std::string model;
    std::string policy;
    std::uint64_t steps_ahead = 0;
    std::uint64_t buffer_rows = 0;
    std::string buffer_scope;
    std::uint64_t ranks = 1;
    std::uint64_t hosts = 1;
    std::uint64_t parts = 1;
    std::uint64_t threads = 1;
    std::string link;
    std::string topology;
    std::string precision;
    std::uint64_t seed = 0;
    std::uint64_t epochs = 0;
    std::uint64_t steps = 0;
    std::uint64_t steps_per_epoch = 0;
    bool interrupted = false;
    bool stopped_early = false;
    std::uint64_t resumed_at = 0;
    Accuracy accuracy;  ///< at the best epoch by validation
    Accuracy accuracy_last;
    // Of links, at the best epoch: the mean of one over the rank, shares of ranks, and the area.
    std::optional<LinkMeasure> mrr;
    std::optional<LinkHits> hits;
    std::optional<LinkMeasure> auc;
    std::optional<std::uint64_t> best_epoch;  ///< counted from 1
    // Not known of runs of earlier versions.
    std::optional<std::uint64_t> evaluations;  ///< epochs that were evaluated
    std::optional<std::uint64_t> eval_every;   ///< epochs between them, at the end; 0: none were
    std::optional<bool> sparse;                ///< rows travelled and were kept sparse
    SummaryLoss loss;
    SummarySeconds seconds;
    SummaryRows rows;
    std::uint64_t row_bytes = 0;
    std::uint64_t edges = 0;
    SummaryBytes bytes;
    std::optional<comm::CodingTotals> coding;  ///< where messages may be coded
    SummaryAgent agent;
    SummaryMemory memory;
    std::optional<SummaryGpu> gpu;  ///< of runs on one

    static constexpr auto fields = field_list(
        field("schema", &Summary::schema, FieldKind::plain),
        field("version", &Summary::version, FieldKind::plain),
        field("data", &Summary::data, FieldKind::plain),
        field("model", &Summary::model, FieldKind::plain),
        field("policy", &Summary::policy, FieldKind::plain),
        field("steps_ahead", &Summary::steps_ahead, FieldKind::plain),
        field("buffer_rows", &Summary::buffer_rows, FieldKind::plain),
        field("buffer_scope", &Summary::buffer_scope, FieldKind::plain),
        field("ranks", &Summary::ranks, FieldKind::plain),
        field("hosts", &Summary::hosts, FieldKind::plain),
        field("parts", &Summary::parts, FieldKind::plain),
        field("threads", &Summary::threads, FieldKind::plain),
        field("link", &Summary::link, FieldKind::plain),
        field("topology", &Summary::topology, FieldKind::plain),
        field("precision", &Summary::precision, FieldKind::plain),
        field("seed", &Summary::seed, FieldKind::plain),
        field("epochs", &Summary::epochs, FieldKind::plain),
        field("steps", &Summary::steps, FieldKind::plain),
        field("steps_per_epoch", &Summary::steps_per_epoch, FieldKind::plain),
        field("interrupted", &Summary::interrupted, FieldKind::plain),
        field("stopped_early", &Summary::stopped_early, FieldKind::plain),
        field("resumed_at", &Summary::resumed_at, FieldKind::plain),
        field("accuracy", &Summary::accuracy), field("accuracy_last", &Summary::accuracy_last),
        field("mrr", &Summary::mrr, FieldKind::plain),
        field("hits", &Summary::hits, FieldKind::plain),
        field("auc", &Summary::auc, FieldKind::plain),
        field("best_epoch", &Summary::best_epoch, FieldKind::plain),
        field("evaluations", &Summary::evaluations, FieldKind::plain),
        field("eval_every", &Summary::eval_every, FieldKind::plain), field("loss", &Summary::loss),
        field("seconds", &Summary::seconds), field("rows", &Summary::rows),
        field("row_bytes", &Summary::row_bytes, FieldKind::plain),
        field("sparse", &Summary::sparse, FieldKind::plain),
        field("edges", &Summary::edges, FieldKind::plain), field("bytes", &Summary::bytes),
        field("coding", &Summary::coding, FieldKind::plain), field("agent", &Summary::agent),
        field("memory", &Summary::memory), field("gpu", &Summary::gpu, FieldKind::plain));
};
static_assert(lists_all_fields<Summary>);

/// What steering came to.
[[nodiscard]] SummaryAgent agent_summary(const TrainResult& result, const TrainOptions& options);
[[nodiscard]] Summary summary_of(const TrainResult& result, const TrainOptions& options,
                                 const RunFacts& facts);
[[nodiscard]] Json to_json(const Summary& summary);
/// Reads summary.json; an input Error naming `where` if it lacks a key, as one of another version
/// may.
[[nodiscard]] Summary summary_from_json(const Json& json, const std::string& where);
/// Both at once.
[[nodiscard]] Json summary_json(const TrainResult& result, const TrainOptions& options,
                                const RunFacts& facts);

/// The median of an epoch's seconds, evaluation excluded.
[[nodiscard]] double median_epoch_seconds(const TrainResult& result);

}  // namespace rudder::train
