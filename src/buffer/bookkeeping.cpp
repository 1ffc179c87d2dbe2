#include "bookkeeping.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "rudder/buffer/id_buffer.hpp"

namespace rudder::buffer {

namespace {

/// Rows of the small buffer, at most.
constexpr std::uint64_t small_rows = std::uint64_t{1} << 15;

// What a live buffer has beside numbering, residents and policy.
constexpr std::uint64_t live_row_bytes = 8;     ///< where a step has it, if it may come twice
constexpr std::uint64_t live_slot_bytes = 12;   ///< who writes to it
constexpr std::uint64_t live_vertex_bytes = 4;  ///< of a step ahead: where its row is
constexpr std::uint64_t listed_row_bytes = 4;   ///< of a step ahead: its row
constexpr std::uint64_t floor_row_bytes = 4;    ///< last use

/// So many rows a power of two fewer; at least one where there are any.
std::uint64_t smaller(double count, unsigned by) {
    const auto whole = static_cast<std::uint64_t>(count);
    return whole == 0 ? 0 : std::max<std::uint64_t>(whole >> by, 1);
}

/// A policy on a small buffer; what its state takes without and with steps that are known.
struct SmallBuffer {
    RowNumbering rows;
    std::vector<std::uint32_t> degree;
    std::vector<double> inclusion;
    std::vector<std::vector<RowKey>> steps;
    IdBuffer buffer;

    SmallBuffer(const PolicySpec& policy, VertexId vertices, std::span<const VertexId> halo,
                VertexId limit, SlotId slots)
        : rows(vertices, halo, limit),
          degree(halo.size(), 1),
          inclusion(halo.size(), 0.5),
          buffer(policy, {&rows, degree, inclusion, {}, 0}, slots, slots) {}

    void take(std::uint64_t count, std::uint64_t of_step) {
        for (std::uint64_t i = 0; i < count; ++i) {
            std::vector<RowKey>& step =
                steps.emplace_back(std::min<std::uint64_t>(of_step, rows.size()));
            // As far apart as there is room, and others in each step.
            const std::uint64_t stride = step.empty() ? 1 : rows.size() / step.size();
            for (std::size_t k = 0; k < step.size(); ++k)
                step[k] = static_cast<RowKey>(k * stride + steps.size() % stride);
            buffer.publish(steps.size() - 1, step);
        }
        buffer.advance();
    }
};

}  // namespace

BookkeepingBytes bookkeeping_bytes(const PolicySpec& policy, const BookkeepingShape& shape) {
    BookkeepingBytes bytes;
    if (shape.rows == 0) return bytes;
    unsigned by = 0;
    while (shape.rows >> by > small_rows)
        ++by;
    const bool direct = shape.vertices <= RowNumbering::direct_limit;
    std::vector<VertexId> halo(shape.rows >> by);
    std::iota(halo.begin(), halo.end(), VertexId{0});
    const VertexId vertices =
        direct ? std::max<VertexId>(shape.vertices >> by, halo.size()) : shape.vertices;
    const auto slots = static_cast<SlotId>(std::min<std::uint64_t>(shape.slots >> by, no_slot - 1));
    SmallBuffer small(policy, vertices, halo, direct ? vertices : 0, slots);
    small.take(1, 0);
    const std::uint64_t without = small.buffer.bytes();
    const std::uint64_t ahead = std::min(shape.steps_ahead, small.buffer.horizon());
    small.take(ahead + 1, smaller(shape.rows_per_step, by));
    const std::uint64_t with = std::max(small.buffer.bytes(), without);
    // What it knows of the rows it holds comes with them.
    const std::uint64_t of_step = smaller(shape.rows_per_step, by);
    for (std::uint64_t taken = 0; of_step != 0 && taken < 2 * std::uint64_t{slots};
         taken += of_step)
        small.take(1, of_step);
    const std::uint64_t held = std::max(small.buffer.bytes(), with) - with;
    bytes.numbering = small.rows.bytes() << by;
    if (shape.several_batches) bytes.numbering += shape.rows * live_row_bytes;
    bytes.policy = (without + held) << by;
    bytes.slots = shape.slots * live_slot_bytes;
    if (shape.floor) bytes.floor = shape.rows * floor_row_bytes;
    const double lists =
        shape.rows_per_step * listed_row_bytes + shape.vertices_per_step * live_vertex_bytes;
    bytes.steps = ((with - without) << by) +
                  static_cast<std::uint64_t>(lists * static_cast<double>(shape.steps_ahead + 1));
    return bytes;
}

}  // namespace rudder::buffer
