// Where rows under way land: memory that outlives whoever asked for them, and is used again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

namespace rudder::buffer {

/// Rows that were asked for together: their ids, and the wire rows in the same order.
struct Landing {
    std::vector<VertexId> ids;
    Array<std::byte> memory;  ///< only grows
    std::span<std::byte> rows;
};

/// Landings that nobody holds any more, for those to come.
class LandingPool : public std::enable_shared_from_this<LandingPool> {
public:
    explicit LandingPool(std::size_t row_bytes) : row_bytes_(row_bytes) {}

    /// A landing for so many rows. It comes back when the last of its holders lets go.
    [[nodiscard]] std::shared_ptr<Landing> take(std::size_t rows);
    /// Memory of all landings there are, in bytes.
    [[nodiscard]] std::uint64_t bytes() const;

private:
    void give_back(std::unique_ptr<Landing> landing);

    std::size_t row_bytes_;
    mutable std::mutex mutex_;  ///< held for a few instructions, never while waiting
    std::vector<std::unique_ptr<Landing>> free_;
    std::uint64_t bytes_ = 0;
};

}  // namespace rudder::buffer
