// The rows that the last layer gave all vertices: own ones here, those of other ranks fetched.
#pragma once

#include <memory>
#include <span>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/array.hpp"
#include "store/remote_fetch.hpp"

#include "exact_input.hpp"

namespace rudder::train {

/// Each rank's own, which the others may ask for from its construction to `stop`.
class VertexRows {
public:
    /// Collective over `comm`, which nobody else talks on. `own` are this rank's rows, one after
    /// the other; they and the ranges must outlive it.
    VertexRows(const comm::Communicator& comm, const RankRanges& ranges, std::span<const float> own,
               std::size_t columns);

    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    [[nodiscard]] VertexId vertices() const noexcept { return ranges_.starts.back(); }
    [[nodiscard]] const float* own_row(VertexId v) const noexcept {
        return own_.data() + (v - ranges_.here().begin) * columns_;
    }
    /// Puts the rows of vertices (ascending) into `memory`, from row `first` on; waits.
    void gather(std::span<const VertexId> ids, const std::shared_ptr<Array<float>>& memory,
                std::size_t first) const;
    /// Collective: no rank asks any more.
    void stop();

private:
    const comm::Communicator& comm_;
    const RankRanges& ranges_;
    std::span<const float> own_;
    std::size_t columns_;
    std::unique_ptr<store::RowExchange> exchange_;  ///< null: there is one rank
};

}  // namespace rudder::train
