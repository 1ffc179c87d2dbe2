// The input rows of one layer of exact inference, wherever they lie.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/array.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "store/feature_store.hpp"

#include "exact_chunks.hpp"

namespace rudder::train {

/// Which vertices each rank owns.
struct RankRanges {
    std::vector<VertexId> starts;  ///< ranks + 1 numbers
    int rank = 0;

    [[nodiscard]] partition::PartitionBook::Range here() const noexcept {
        const auto r = static_cast<std::size_t>(rank);
        return {starts[r], starts[r + 1]};
    }
};

[[nodiscard]] RankRanges ranges_of(const comm::Communicator& comm,
                                   const partition::PartitionedDataset& data);

/// Makes memory at least so large; what it held is lost if it grows.
void fit(std::shared_ptr<Array<float>>& memory, std::size_t floats);

/// A chunk with memory for its rows, some of which may be on their way.
struct ChunkSlot {
    ChunkSlot() = default;
    ChunkSlot(ChunkSlot&&) = default;
    ChunkSlot& operator=(ChunkSlot&&) = default;
    ChunkSlot(const ChunkSlot&) = delete;
    ChunkSlot& operator=(const ChunkSlot&) = delete;
    /// Rows that nobody waits for any more still land somewhere.
    ~ChunkSlot() {
        if (landing != nullptr) fetch.keep(landing);
    }

    ExactChunk chunk;
    std::shared_ptr<Array<float>> memory;
    std::span<float> rows;        ///< of that memory: sources x columns
    std::span<const float> read;  ///< what the chunk reads: these, or rows that lie elsewhere
    RawVector<VertexId> ids;
    std::optional<store::Pull> pull;
    store::RemoteFetch fetch;
    std::shared_ptr<Array<float>> landing;  ///< where it lands
};

/// Features for the first layer; for others, or where rows are mapped, those that ranks computed,
/// each its own. All ranks have theirs at the same time, and none goes before all are through with
/// it (a barrier).
class LayerInput {
public:
    /// Where kept rows lie: memory that may be there already, and grows.
    using Kept = std::shared_ptr<Array<float>>;

    /// Of features. What is given must outlive it.
    LayerInput(const RankRanges& ranges, const store::FeatureStore& store, Kept& kept);
    /// Of layer `layer`: `own` are what this rank's vertices are read by.
    LayerInput(const comm::Communicator& comm, const RankRanges& ranges, std::size_t layer,
               std::span<const float> own, std::size_t columns, Kept& kept);
    LayerInput(const LayerInput&) = delete;
    LayerInput& operator=(const LayerInput&) = delete;
    ~LayerInput() = default;

    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    /// From now on chunks are of this part; with `keep` each row of another rank is fetched for the
    /// first chunk that reads it, and kept for the others.
    void enter(const ChunkedPart& part, bool keep);
    /// Begins to bring the rows of the slot's chunk in place; the slot has the memory.
    void begin(ChunkSlot& slot);
    /// Waits until they are there. Chunks end in the order they began.
    void finish(ChunkSlot& slot) const;
    /// All rows of other ranks that a part reads, by remote_index. Waits; not of features.
    [[nodiscard]] std::shared_ptr<Array<float>> remote_rows(const ChunkedPart& part) const;
    /// No rank asks any more.
    void stop();

private:
    void begin_features(ChunkSlot& slot);
    void begin_rows(ChunkSlot& slot);
    [[nodiscard]] std::size_t place_fresh(ChunkSlot& slot);
    [[nodiscard]] store::RemoteFetch fetch(std::span<const VertexId> ids,
                                           std::span<float> rows) const;
    [[nodiscard]] const float* own_row(VertexId v) const noexcept {
        return own_.data() + (v - ranges_.here().begin) * columns_;
    }

    const RankRanges& ranges_;
    const store::FeatureStore* store_ = nullptr;  ///< of features
    std::span<const float> own_;
    std::size_t columns_;
    std::unique_ptr<store::RowExchange> exchange_;
    const ChunkedPart* part_ = nullptr;
    bool keeps_ = false;
    Kept& kept_;                         ///< rows of other ranks, as they were first asked for
    std::vector<std::uint32_t> places_;  ///< in `kept_`, by remote_index
    std::uint32_t placed_ = 0;
};

}  // namespace rudder::train
