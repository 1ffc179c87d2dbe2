#include "exact_evaluator.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/log.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "exact_chunks.hpp"
#include "exact_input.hpp"
#include "exact_plan.hpp"
#include "exact_scores.hpp"

namespace rudder::train {

namespace {

RankRanges ranges_of(const comm::Communicator& comm, const partition::PartitionedDataset& data) {
    RankRanges ranges;
    ranges.rank = comm.rank();
    for (int r = 0; r < comm.size(); ++r) {
        const partition::PartShare share = partition::share_of(data.parts(), comm.size(), r);
        ranges.starts.push_back(data.book().range(share.first).begin);
    }
    ranges.starts.push_back(data.book().vertices());
    return ranges;
}

std::vector<ChunkedPart> chunked(std::span<const partition::Part> own,
                                 partition::PartitionBook::Range here) {
    std::vector<ChunkedPart> parts;
    for (const partition::Part& part : own)
        parts.emplace_back(part, here);
    return parts;
}

std::uint64_t default_memory(const comm::Communicator& comm) {
    const auto ranks = static_cast<std::uint64_t>(comm.host().size());
    return memory_info().available / 2 / ranks;
}

std::vector<std::uint64_t> widths_of(const nn::Network& network) {
    std::vector<std::uint64_t> widths{network.layer_inputs(0)};
    for (std::size_t l = 0; l < network.layers(); ++l)
        widths.push_back(network.layer_outputs(l));
    return widths;
}

}  // namespace

namespace {

/// Memory of an evaluation, in pieces that grow.
struct ExactMemory {
    std::shared_ptr<Array<float>> present;  ///< the layer's input: own rows
    std::shared_ptr<Array<float>> next;     ///< its output
    std::shared_ptr<Array<float>> kept;     ///< rows of other ranks
    std::shared_ptr<Array<float>> answers;  ///< of a chunk of the last layer
    std::vector<ChunkSlot> slots;
    std::vector<std::uint32_t> positions;
    RawVector<std::uint32_t> degrees;
};

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

    State(const comm::Communicator& c, const partition::PartitionedDataset& data,
          std::span<const partition::Part> own, const store::FeatureStore& s, Options o)
        : comm(c.duplicate()),
          store(s),
          options(std::move(o)),
          ranges(ranges_of(comm, data)),
          parts(chunked(own, ranges.here())),
          twin(nn::make_network(options.network)) {
        options.degrees = options.degrees || twin->wants_degrees();
        if (options.memory == 0) options.memory = default_memory(comm);
        plan = plan_exact({.parts = parts,
                           .widths = widths_of(*twin),
                           .row_bytes = store.format().row_bytes(),
                           .degrees = options.degrees,
                           .maps_sources = options.network.model.starts_with("gat"),
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
        const auto offsets = part.part().offsets();
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

namespace {

/// One evaluation: the rows of one layer and of the next.
class Inference {
public:
    Inference(const comm::Communicator& comm, const RankRanges& ranges,
              std::span<const ChunkedPart> parts, std::span<const Array<std::uint32_t>> degrees,
              const ExactPlan& plan, const nn::NetworkOptions& options, nn::Network& network,
              const store::FeatureStore& store, ExactMemory& memory, const InferenceSink& sink)
        : comm_(comm),
          ranges_(ranges),
          parts_(parts),
          degrees_(degrees),
          plan_(plan),
          options_(options),
          network_(network),
          store_(store),
          memory_(memory),
          sink_(sink) {}

    /// The scores of all ranks' parts, added in the order of the parts.
    PartScores run();

private:
    void run_layer(std::size_t layer);
    void run_part(std::size_t layer, std::size_t index, LayerInput& input);
    void compute(std::size_t layer, std::size_t index, ChunkSlot& slot);
    void take_scores(std::size_t index, const ExactChunk& chunk, std::span<const float> scores);
    [[nodiscard]] std::span<const float> present(std::size_t layer) const {
        return memory_.present->span().subspan(
            0, ranges_.here().size() * network_.layer_inputs(layer));
    }
    [[nodiscard]] bool last(std::size_t layer) const { return layer + 1 == network_.layers(); }
    [[nodiscard]] std::size_t row_of(const partition::Part& part, LocalId v) const noexcept {
        return part.range().begin - ranges_.here().begin + v;
    }

    const comm::Communicator& comm_;
    const RankRanges& ranges_;
    std::span<const ChunkedPart> parts_;
    std::span<const Array<std::uint32_t>> degrees_;
    const ExactPlan& plan_;
    const nn::NetworkOptions& options_;
    nn::Network& network_;
    const store::FeatureStore& store_;
    ExactMemory& memory_;
    const InferenceSink& sink_;
    std::vector<PartScores> scores_;
};

PartScores Inference::run() {
    scores_.resize(parts_.size());
    std::size_t ids = 0;
    for (const ChunkedPart& part : parts_)
        ids = std::max(ids, part.local_ids());
    memory_.positions.assign(ids, ChunkedPart::nowhere);
    for (std::size_t l = 0; l < network_.layers(); ++l)
        run_layer(l);
    // Rank by rank is part by part: the sums have the same bits however the parts are spread.
    PartScores sums;
    const auto all = comm_.all_gather(std::span<const PartScores>(scores_), comm::Kind::evaluation);
    for (const auto& rank : all) {
        for (const PartScores& part : rank)
            sums += part;
    }
    return sums;
}

void Inference::run_layer(std::size_t layer) {
    const std::size_t rows = ranges_.here().size();
    if (!last(layer)) fit(memory_.next, rows * network_.layer_outputs(layer));
    std::optional<LayerInput> input;
    if (layer == 0) {
        input.emplace(ranges_, store_, memory_.kept);
    } else {
        input.emplace(comm_, ranges_, layer, present(layer), network_.layer_inputs(layer),
                      memory_.kept);
    }
    memory_.slots.resize(plan_.layers[layer].slots);
    for (std::size_t p = 0; p < parts_.size(); ++p)
        run_part(layer, p, *input);
    // Others may still ask for rows of this layer, and nobody may for those of the next.
    comm_.barrier();
    input->stop();
    input.reset();
    if (!last(layer)) std::swap(memory_.present, memory_.next);
    if (plan_.stays) return;
    memory_.next = nullptr;
    memory_.kept = nullptr;
    memory_.slots.clear();
}

void Inference::run_part(std::size_t layer, std::size_t index, LayerInput& input) {
    const ChunkedPart& part = parts_[index];
    const LayerPlan& plan = plan_.layers[layer];
    const auto stretches = part.cut(plan.cost, plan.chunk_bytes);
    std::uint64_t sources = 0;
    for (const auto& stretch : stretches)
        sources = std::max(sources, stretch.size.sources);
    std::vector<ChunkSlot> slots(plan.slots);
    for (ChunkSlot& slot : slots) {
        slot.memory =
            std::make_shared<Array<float>>(Array<float>::uninitialised(sources * input.columns()));
    }
    input.enter(part, plan.keep_halo);
    const auto begin = [&](std::size_t i) {
        ChunkSlot& slot = slots[i % slots.size()];
        part.fill(stretches[i], memory_.positions, slot.chunk);
        slot.rows = slot.memory->span().subspan(0, slot.chunk.sources.size() * input.columns());
        input.begin(slot);
    };
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        if (i == 0 || slots.size() == 1) begin(i);
        if (slots.size() > 1 && i + 1 < stretches.size()) begin(i + 1);
        ChunkSlot& slot = slots[i % slots.size()];
        input.finish(slot);
        compute(layer, index, slot);
    }
}

void Inference::compute(std::size_t layer, std::size_t index, ChunkSlot& slot) {
    const ExactChunk& chunk = slot.chunk;
    const std::size_t columns = network_.layer_outputs(layer);
    const std::size_t count = chunk.block.destinations;
    std::span<float> out;
    if (last(layer)) {
        fit(memory_.answers, count * columns);
        out = memory_.answers->span().subspan(0, count * columns);
    } else {
        const std::size_t first = row_of(parts_[index].part(), chunk.first);
        out = memory_.next->span().subspan(first * columns, count * columns);
    }
    if (!degrees_.empty()) {
        memory_.degrees.resize(chunk.sources.size());
        for (std::size_t i = 0; i < chunk.sources.size(); ++i)
            memory_.degrees[i] = degrees_[index][chunk.sources[i]];
    }
    network_.infer_layer(layer, chunk.block, memory_.degrees, slot.rows, out);
    if (last(layer)) take_scores(index, chunk, out);
}

void Inference::take_scores(std::size_t index, const ExactChunk& chunk,
                            std::span<const float> scores) {
    const partition::Part& part = parts_[index].part();
    add_scores(part, options_.objective, options_.outputs, chunk.first, scores, scores_[index]);
    if (!sink_) return;
    const std::size_t count = chunk.block.destinations;
    std::span<const float> hidden;
    if (network_.layers() > 1) {
        const std::size_t columns = network_.layer_inputs(network_.layers() - 1);
        hidden = present(network_.layers() - 1)
                     .subspan(row_of(part, chunk.first) * columns, count * columns);
    }
    sink_({part, chunk.first, count, scores, hidden});
}

}  // namespace

ExactEvaluator::ExactEvaluator(const comm::Communicator& comm,
                               const partition::PartitionedDataset& data,
                               std::span<const partition::Part> own,
                               const store::FeatureStore& store, Options options)
    : state_(std::make_unique<State>(comm, data, own, store, std::move(options))) {}

ExactEvaluator::~ExactEvaluator() {
    if (!task_.valid()) return;
    try {
        task_.join();
    } catch (const std::exception& error) {
        log::debug(fmt::format("an evaluation ended with: {}", error.what()));
    } catch (...) {
        // Cancelled: whoever destroys this is being unwound itself.
        task_.cancel();
    }
}

void ExactEvaluator::evaluate(nn::Network& network, Scores& scores, const InferenceSink& sink) {
    const Span span("evaluating");
    State& s = *state_;
    Inference inference(s.comm, s.ranges, s.parts, s.degrees, s.plan, s.options.network, network,
                        s.store, s.memory, sink);
    const PartScores sums = inference.run();
    if (!s.plan.stays) s.memory = {};
    s.scored = sums.vertices;
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
    Task task = std::exchange(task_, Task());
    task.join();
    return state_->scores;
}

std::array<std::uint64_t, 3> ExactEvaluator::scored() const noexcept {
    return state_->scored;
}

std::uint64_t ExactEvaluator::least_bytes() const noexcept {
    return state_->plan.least;
}

std::uint64_t ExactEvaluator::planned_bytes() const noexcept {
    return state_->plan.planned;
}

}  // namespace rudder::train
