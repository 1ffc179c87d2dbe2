// The input rows of one layer of exact inference, wherever they lie.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/array.hpp"
#include "rudder/store/feature_store.hpp"

#include "exact_chunks.hpp"

namespace rudder {

/// Which vertices each rank owns.
struct RankRanges {
    std::vector<VertexId> starts;  ///< ranks + 1 numbers
    int rank = 0;

    [[nodiscard]] PartitionBook::Range here() const noexcept {
        const auto r = static_cast<std::size_t>(rank);
        return {starts[r], starts[r + 1]};
    }
};

/// A chunk with memory for its rows, some of which may be on their way.
struct ChunkSlot {
    ChunkSlot() = default;
    ChunkSlot(ChunkSlot&&) = default;
    ChunkSlot& operator=(ChunkSlot&&) = default;
    ChunkSlot(const ChunkSlot&) = delete;
    ChunkSlot& operator=(const ChunkSlot&) = delete;
    /// Rows that nobody waits for any more still land somewhere.
    ~ChunkSlot() {
        if (memory != nullptr) fetch.keep(memory);
    }

    ExactChunk chunk;
    std::shared_ptr<Array<float>> memory;
    std::span<float> rows;  ///< sources x columns
    RawVector<VertexId> ids;
    std::optional<Pull> pull;
    RemoteFetch fetch;
};

/// Features for the first layer; for others the rows that ranks computed, each its own. All ranks
/// have theirs at the same time, and none goes before all are through with it (a barrier).
class LayerInput {
public:
    /// Of the first layer.
    LayerInput(const RankRanges& ranges, const FeatureStore& store);
    /// Of layer `layer`: `own` are the rows of this rank's vertices. Ranges must outlive it.
    LayerInput(const Communicator& comm, const RankRanges& ranges, std::size_t layer,
               std::span<const float> own, std::size_t columns);
    LayerInput(const LayerInput&) = delete;
    LayerInput& operator=(const LayerInput&) = delete;
    ~LayerInput() = default;

    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    /// From now on chunks are of this part; with `keep` all rows of other ranks that it reads are
    /// fetched now, once, instead of with every chunk. Waits.
    void enter(const ChunkedPart& part, bool keep);
    /// Begins to bring the rows of the slot's chunk in place; the slot has the memory.
    void begin(ChunkSlot& slot) const;
    /// Waits until they are there.
    static void finish(ChunkSlot& slot);
    /// A row of one column that was kept, as the bits of a number.
    [[nodiscard]] std::uint32_t kept_bits(LocalId id) const noexcept {
        return std::bit_cast<std::uint32_t>((*kept_)[part_->remote_index(id)]);
    }
    /// No rank asks any more.
    void stop();

private:
    void begin_features(ChunkSlot& slot) const;
    void begin_rows(ChunkSlot& slot) const;
    void copy_kept(ChunkSlot& slot) const;
    [[nodiscard]] RemoteFetch fetch(std::span<const VertexId> ids, std::span<float> rows) const;
    [[nodiscard]] const float* own_row(VertexId v) const noexcept {
        return own_.data() + (v - ranges_.here().begin) * columns_;
    }

    const RankRanges& ranges_;
    const FeatureStore* store_ = nullptr;  ///< of the first layer
    std::span<const float> own_;
    std::size_t columns_;
    std::unique_ptr<RowExchange> exchange_;
    const ChunkedPart* part_ = nullptr;
    bool keeps_ = false;
    std::shared_ptr<Array<float>> kept_;  ///< rows of other ranks, by remote_index
};

}  // namespace rudder
