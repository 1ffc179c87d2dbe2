// Learned rows where they lie, on the ranks that own their vertices, and as one list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "store/feature_store.hpp"

namespace rudder::train {

/// What a run knows of its learned rows: one list for all of them, vertices in the order of ids.
struct LearnedState {
    std::vector<float> values;  ///< of all rows, one after the other
    // The optimiser's, of the same size; empty where only rows are kept.
    std::vector<float> mean;
    std::vector<float> square;
    std::vector<float> taken;  ///< by row: steps that changed it
};

/// One rank's share of the learned rows.
class LearnedTable {
public:
    /// Vertices of one own part and type.
    struct Stretch {
        VertexId begin;
        VertexId end;
        std::uint64_t width;
        std::size_t first_row;    ///< among the own ones
        std::size_t first_float;  ///< likewise
        float* rows;              ///< in the store, row_floats apart
    };

    /// What is given must outlive it.
    LearnedTable(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                 const store::FeatureStore& store);

    [[nodiscard]] std::span<const Stretch> stretches() const noexcept { return own_; }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::size_t floats() const noexcept { return floats_; }
    [[nodiscard]] std::size_t row_floats() const noexcept { return row_floats_; }
    /// The first vertex of each rank: ranks + 1 numbers.
    [[nodiscard]] std::span<const VertexId> rank_starts() const noexcept { return rank_starts_; }

    /// What numbers of everyone's rows are counted by.
    enum class Counted : bool { by_float, by_row };
    /// Of all ranks.
    [[nodiscard]] std::size_t all(Counted counted) const;
    /// The own rows, one right after the other.
    [[nodiscard]] std::vector<float> values() const;
    /// Collective: everyone's numbers, rank after rank, on rank 0; empty elsewhere.
    [[nodiscard]] std::vector<float> gather(std::span<const float> own) const;
    /// Collective: each rank's share of rank 0's numbers, which are as many as `all` says.
    [[nodiscard]] std::vector<float> scatter(std::span<const float> numbers, Counted counted) const;
    /// Collective: rank 0's values become the rows. As many as there are floats in all, or an
    /// input Error that names `where`.
    void place(std::span<const float> values, const std::string& where) const;

private:
    const comm::Communicator& comm_;
    std::vector<Stretch> own_;
    std::size_t rows_ = 0;
    std::size_t floats_ = 0;
    std::size_t row_floats_;
    std::vector<VertexId> rank_starts_;
    std::vector<std::size_t> rows_of_;    ///< by rank
    std::vector<std::size_t> floats_of_;  ///< likewise
};

/// Collective: the rows that a run has learned, of rank 0, go to the store of whoever uses its
/// network; nothing where none are learned. `where` is the checkpoint.
void place_learned(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                   const store::FeatureStore& store, std::span<const float> values,
                   const std::string& where);

}  // namespace rudder::train
