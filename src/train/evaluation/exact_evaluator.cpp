#include "exact_evaluator.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/log.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "train/input_rows.hpp"

#include "exact_inference.hpp"

namespace rudder::train {

namespace {

std::vector<ChunkedPart> chunked(std::span<const partition::Part> own,
                                 std::span<const sample::MessageRows> messages,
                                 partition::PartitionBook::Range here, Means means,
                                 EdgeRows edge_rows) {
    std::vector<ChunkedPart> parts;
    for (std::size_t i = 0; i < own.size(); ++i)
        parts.emplace_back(own[i], sample::rows_of(own, messages, i), here, means, edge_rows);
    return parts;
}

/// A network is told of the store's rows, wherever its options come from.
const nn::NetworkOptions& with_rows_of(nn::NetworkOptions& network,
                                       const store::FeatureStore& store) {
    network.sparse = sparse_inputs(store.format());
    return network;
}

std::uint64_t default_memory(const comm::Communicator& comm) {
    const auto ranks = static_cast<std::uint64_t>(comm.host().size());
    return memory_info().available / 2 / ranks;
}

}  // namespace

/// What does not change from one evaluation to the next.
struct ExactEvaluator::State {
    comm::Communicator comm;  ///< our own
    const store::FeatureStore& store;
    Options options;
    RankRanges ranges;
    std::vector<ChunkedPart> parts;
    std::unique_ptr<nn::Network> twin;  ///< for what is started
    ExactPlan plan;
    std::vector<Array<std::uint32_t>> degrees;  ///< by part and local id, where they are wanted
    ExactMemory memory;
    Scores scores;  ///< of what is started
    std::array<std::uint64_t, 3> scored{};
    std::uint64_t unknown = 0;

    State(const comm::Communicator& c, const partition::PartitionedDataset& data,
          std::span<const partition::Part> own, const store::FeatureStore& s, Options o)
        : comm(c.duplicate()),
          store(s),
          options(std::move(o)),
          ranges(ranges_of(comm, data)),
          parts(chunked(own, options.messages, ranges.here(),
                        options.weighted ? Means::weighted : Means::plain,
                        options.network.edge_inputs > 0 ? EdgeRows::features : EdgeRows::none)),
          twin(nn::make_network(with_rows_of(options.network, s))) {
        options.degrees = options.degrees || twin->wants_degrees();
        if (options.memory == 0) options.memory = default_memory(comm);
        plan = plan_exact({.parts = parts,
                           .layers = layer_widths(*twin, store.format().row_floats()),
                           .row_bytes = store.format().row_bytes(),
                           .degrees = options.degrees,
                           .shares = options.weighted,
                           .edge_columns = options.network.edge_inputs,
                           .again = options.again,
                           .memory = options.memory});
        comm::do_together(comm, [&] { check_memory(); });
        if (options.degrees) exchange_degrees();
    }

    void check_memory() const;
    void exchange_degrees();
    [[nodiscard]] VertexId own() const noexcept { return ranges.here().size(); }
};

void ExactEvaluator::State::check_memory() const {
    if (plan.least <= options.memory) return;
    throw usage_error(
        fmt::format("exact inference needs at least {} on this rank: two layers of the rows of its "
                    "{} vertices, and one chunk of neighbourhoods; it may use {}",
                    format_bytes(plan.least), own(), format_bytes(options.memory)),
        "--memory", "give more memory, use more ranks, or a network with fewer hidden columns");
}

/// Own degrees are known; those of other ranks' vertices are asked for, once.
void ExactEvaluator::State::exchange_degrees() {
    const VertexId begin = ranges.here().begin;
    std::vector<std::uint32_t> mine;
    for (const ChunkedPart& part : parts) {
        const auto offsets = part.rows().offsets;
        for (std::size_t v = 0; v + 1 < offsets.size(); ++v)
            mine.push_back(narrow<std::uint32_t>(offsets[v + 1] - offsets[v], "a degree"));
    }
    // A layer's rows by another name: one column of four bytes.
    static_assert(sizeof(std::uint32_t) == sizeof(float));
    const std::span<const float> column(reinterpret_cast<const float*>(mine.data()), mine.size());
    LayerInput::Kept kept;
    LayerInput input(comm, ranges, 0, column, 1, kept);
    for (const ChunkedPart& part : parts) {
        auto& of_part = degrees.emplace_back(Array<std::uint32_t>::uninitialised(part.local_ids()));
        const auto remote = input.remote_rows(part);
        for (std::size_t id = 0; id < part.local_ids(); ++id) {
            const auto local = static_cast<LocalId>(id);
            of_part[id] = part.remote(local)
                              ? std::bit_cast<std::uint32_t>((*remote)[part.remote_index(local)])
                              : mine[part.part().global(local) - begin];
        }
    }
    comm.barrier();
    input.stop();
}

ExactEvaluator::ExactEvaluator(const comm::Communicator& comm,
                               const partition::PartitionedDataset& data,
                               std::span<const partition::Part> own,
                               const store::FeatureStore& store, Options options)
    : state_(std::make_unique<State>(comm, data, own, store, std::move(options))) {}

ExactEvaluator::~ExactEvaluator() {
    // What has been thrown may be the end of other ranks, too: it would wait for them.
    if (std::uncaught_exceptions() > 0) task_.cancel();
    task_.settle();
}

void ExactEvaluator::evaluate(nn::Network& network, Scores& scores, const InferenceSink& sink) {
    const Span span("evaluating");
    State& s = *state_;
    const ExactGround ground{s.comm, s.ranges,          s.parts, s.degrees,
                             s.plan, s.options.network, s.store, s.options.reading};
    PartScores sums;
    try {
        sums = Inference(ground, network, s.memory, sink).run();
    } catch (...) {
        s.memory = {};  // rows may be on their way to it, which lands them elsewhere
        throw;
    }
    if (!s.plan.stays) s.memory = {};
    s.scored = sums.vertices;
    s.unknown = sums.unknown;
    scores.train = sums.roles[0];
    scores.valid = sums.roles[1];
    scores.test = sums.roles[2];
    scores.evaluated = true;
}

void ExactEvaluator::start(std::span<const float> weights) {
    RUDDER_CHECK(!task_.valid());
    State& s = *state_;
    RUDDER_CHECK(weights.size() == s.twin->weights().size());
    std::ranges::copy(weights, s.twin->weights().begin());
    s.scores = {};
    task_ = Executor::current().spawn("evaluation",
                                      [this] { evaluate(*state_->twin, state_->scores); });
}

Scores ExactEvaluator::finish() {
    RUDDER_CHECK(task_.valid());
    task_.finish();
    return state_->scores;
}

std::array<std::uint64_t, 3> ExactEvaluator::scored() const noexcept {
    return state_->scored;
}

std::uint64_t ExactEvaluator::unknown() const noexcept {
    return state_->unknown;
}

std::uint64_t ExactEvaluator::least_bytes() const noexcept {
    return state_->plan.least;
}

std::uint64_t ExactEvaluator::planned_bytes() const noexcept {
    return state_->plan.planned;
}

}  // namespace rudder::train
