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
    std::unique_ptr<Landing> next;  ///< of those that wait in a pool
};

/// Landings that nobody holds any more, for those to come.
class LandingPool : public std::enable_shared_from_this<LandingPool> {
public:
    explicit LandingPool(std::size_t row_bytes) : row_bytes_(row_bytes) {}
    ~LandingPool();
    LandingPool(const LandingPool&) = delete;
    LandingPool& operator=(const LandingPool&) = delete;

    /// A landing for so many rows. It comes back when the last of its holders lets go.
    [[nodiscard]] std::shared_ptr<Landing> take(std::size_t rows);
    /// Memory of all landings there are, in bytes.
    [[nodiscard]] std::uint64_t bytes() const;

private:
    [[nodiscard]] std::unique_ptr<Landing> take_waiting(std::size_t size);
    /// Allocates nothing, since it is called where nobody can be told that memory has run out.
    void give_back(std::unique_ptr<Landing> landing) noexcept;

    std::size_t row_bytes_;
    mutable std::mutex mutex_;          ///< held for a few instructions, never while waiting
    std::unique_ptr<Landing> waiting_;  ///< the first of those that nobody holds
    std::uint64_t bytes_ = 0;
};

}  // namespace rudder::buffer
