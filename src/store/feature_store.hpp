// Feature rows of the whole graph, wherever they lie: own-host rows are copied, others are pulled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/rows.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

#include "column_facts.hpp"
#include "learned_rows.hpp"
#include "remote_fetch.hpp"
#include "row_format.hpp"

namespace rudder::store {

struct StoreOptions {
    Precision precision = Precision::native;
    Shards shards = Shards::mapped;
    std::uint64_t bulk = 0;  ///< most rows per message; 0: about 256 KiB of them
    /// Writes the rows' messages; null, on all ranks alike: as they are.
    std::shared_ptr<comm::MessageCoder> coder{};
    SparseChoice sparse = SparseChoice::off;
    AssembledRows assembled = AssembledRows::dense;  ///< of sparse rows
    /// Rows that are learned, at first zeroes: they lie in the host's window, and all rows are wide
    /// enough for them. Neither rounded nor sparse.
    LearnedWidths learned{};
};

/// Rows that one batch needs, and where they go: vertices.size() x row_floats.
struct RowsWanted {
    std::span<const VertexId> vertices;
    std::span<float> rows;
    bool distinct = false;  ///< no vertex is there twice: saves looking
};

/// What a pull fetched. Each distinct row counts once, further uses in the same pull are `saved`.
struct Pulled {
    Rows rows;                                  ///< local, demand and saved
    std::vector<std::uint64_t> bytes_by_owner;  ///< of the rows that were asked for, by rank
    comm::CodedBytes received;                  ///< the messages they came in, counted
};

/// A pull under way. Must be waited for before its rows are read or freed, and before its store
/// goes; the task that waits puts the rows of other hosts in place.
class Pull {
public:
    struct State;
    explicit Pull(std::unique_ptr<State> state);
    Pull(Pull&&) noexcept;
    Pull& operator=(Pull&&) noexcept;
    ~Pull();

    /// Waits until all rows are in place.
    const Pulled& wait();
    /// Whether all rows are here, so that `wait` only has to put them in place.
    [[nodiscard]] bool done() const;

private:
    std::unique_ptr<State> state_;
};

/// One rank's view of all rows. Serves its own rows to other hosts in a task of its own.
class FeatureStore {
public:
    /// Collective. Rows of a host's parts are seen by all of its ranks; other hosts' rows travel.
    /// A data set without features is an Error. Where rows are quantised, all of them are read
    /// once for their ranges.
    FeatureStore(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                 const StoreOptions& options);
    ~FeatureStore();

    [[nodiscard]] const RowFormat& format() const noexcept;
    /// The data set as networks see it: with learned rows for features.
    [[nodiscard]] const graph::DatasetInfo& info() const noexcept;
    /// The vertices whose rows are learned.
    [[nodiscard]] const LearnedSet& learned() const noexcept;
    /// The learned row of a vertex of this rank, to be changed while no rank reads any.
    [[nodiscard]] float* learned_row(VertexId v) const;
    /// Whether a row lies on this host; and the rank that holds it.
    [[nodiscard]] bool local(VertexId v) const noexcept;
    [[nodiscard]] int owner(VertexId v) const noexcept;

    /// Starts fetching the rows of several batches at once: remote ids are grouped by owner without
    /// duplicates and asked for in few messages; own-host rows are copied meanwhile, on all
    /// threads. `kind` is `requests` for training, `evaluation` for evaluation. Safe from any task.
    /// Rows that are not of the choice are left alone, and not counted.
    [[nodiscard]] Pull pull(std::span<const RowsWanted> wanted,
                            comm::Kind kind = comm::Kind::requests,
                            RowChoice choice = RowChoice::all) const;

    /// Puts those of the wanted rows that lie on this host and are not learned in place, on all
    /// threads, and leaves the others alone. Safe from any task.
    void load_local(std::span<const RowsWanted> wanted) const;

    /// Starts fetching distinct rows of other hosts in the wire's format, for whoever keeps them
    /// so: row_bytes each into `rows`, in this order. Neighbours of one owner are asked for
    /// together, so ascending ids are best. Memory and ids must stay until it is done. Safe from
    /// any task.
    [[nodiscard]] RemoteFetch fetch(std::span<const VertexId> vertices, std::span<std::byte> rows,
                                    comm::Kind kind = comm::Kind::requests) const;

    /// How many rows an owner is asked for in one message, at most; 0: about 256 KiB of them. May
    /// be changed at any moment, from any task: fetches that begin later follow it.
    void set_bulk(std::uint64_t rows) noexcept;
    [[nodiscard]] std::uint64_t bulk() const noexcept;
    /// Whether rows that a step waits for pass rows fetched ahead (`requests_ahead`), on links and
    /// where their owners answer; at first they do. Otherwise they come in the order in which they
    /// were asked for. May be changed as `set_bulk`.
    void set_demand_first(bool first) noexcept;
    [[nodiscard]] bool demand_first() const noexcept;

    /// A column that quantising changes by much, the worst of them.
    [[nodiscard]] const std::optional<ColumnError>& outlier() const noexcept;
    /// Bytes of rows this host keeps in memory of its own (not mapped files), and of the zeros and
    /// steps of quantised columns.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    /// Collective: no rank pulls any more. Must come before destruction.
    void stop();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::store
