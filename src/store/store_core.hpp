// What a store is made of, as its pulls see it, and where each part's rows lie.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

#include "feature_store.hpp"
#include "pull_scratch.hpp"
#include "remote_fetch.hpp"
#include "row_format.hpp"

namespace rudder::store {

/// The parts of the whole data set as one rank sees them.
class RowPlaces {
public:
    RowPlaces(const comm::Communicator& comm, const partition::PartitionBook& book);

    /// The parts of this rank, and those of its host's ranks, ascending.
    [[nodiscard]] const std::vector<PartId>& own_parts() const noexcept { return own_; }
    [[nodiscard]] const std::vector<PartId>& host_parts() const noexcept { return host_; }
    /// Vertices of the host's parts.
    [[nodiscard]] VertexId host_rows() const noexcept { return host_rows_; }
    /// The first of part p among them.
    [[nodiscard]] VertexId host_row(PartId p) const noexcept { return parts_[p].host_row; }
    /// Says where the rows of a host's part lie, `row_bytes` each.
    void place(PartId p, const std::byte* rows) noexcept { parts_[p].rows = rows; }
    void set_row_bytes(std::size_t bytes) noexcept { row_bytes_ = bytes; }

    [[nodiscard]] const partition::PartitionBook& book() const noexcept { return book_; }
    /// The part that holds v.
    [[nodiscard]] PartId part(VertexId v) const {
        RUDDER_CHECK_NORMAL(v < book_.vertices());
        return book_.owner(v);
    }
    [[nodiscard]] int owner(PartId p) const noexcept { return parts_[p].rank; }
    [[nodiscard]] bool local(PartId p) const noexcept { return parts_[p].on_host; }
    /// The address of a row of this host.
    [[nodiscard]] const std::byte* row(PartId p, VertexId v) const noexcept {
        return parts_[p].rows + (v - book_.starts()[p]) * row_bytes_;
    }
    /// Its number among the host's rows.
    [[nodiscard]] VertexId host_row(PartId p, VertexId v) const noexcept {
        return parts_[p].host_row + (v - book_.starts()[p]);
    }
    /// The ranks' ranges of vertices: ranks + 1 numbers.
    [[nodiscard]] std::vector<VertexId> rank_starts() const;

private:
    struct Place {
        const std::byte* rows = nullptr;
        VertexId host_row = 0;
        int rank = 0;
        bool on_host = false;
    };
    partition::PartitionBook book_;
    std::vector<Place> parts_;
    std::vector<PartId> own_;
    std::vector<PartId> host_;
    VertexId host_rows_ = 0;
    std::size_t row_bytes_ = 0;
    int ranks_;
};

struct StoreCore {
    comm::Communicator comm;
    RowFormat format;
    graph::DatasetInfo info;  ///< with learned rows for features
    LearnedSet learned;
    bool in_wire_format;  ///< the host's rows, as they lie
    RowPlaces places;
    std::vector<partition::Part> parts;            ///< opened; their files stay mapped
    std::shared_ptr<std::span<std::byte>> window;  ///< of Shards::shared
    ScratchPool pool;
    std::unique_ptr<RowExchange> exchange;  ///< none where all parts are on this host
    std::atomic<std::uint64_t> bulk{0};     ///< rows per message; 0: about 256 KiB
    std::atomic<bool> demand_first{true};   ///< see FeatureStore::set_demand_first

    /// Turns rows of this host, which lie there, into floats.
    void load(std::span<const std::byte* const> rows, std::span<const VertexId> vertices,
              float* const* out) const {
        in_wire_format ? format.decode_rows(rows, vertices, out)
                       : format.load_rows(rows, vertices, out);
    }
};

/// Begins a pull; see FeatureStore::pull.
[[nodiscard]] Pull begin_pull(StoreCore& core, std::span<const RowsWanted> wanted, comm::Kind kind,
                              RowChoice choice);
/// See FeatureStore::load_local.
void load_local(const StoreCore& core, std::span<const RowsWanted> wanted);

}  // namespace rudder::store
