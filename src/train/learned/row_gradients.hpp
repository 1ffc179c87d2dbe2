// Gradients of learned rows on their way from the parts that read rows to the ranks that own them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"
#include "rudder/sample/batch.hpp"
#include "store/learned_rows.hpp"

namespace rudder::train {

/// The gradients of one part's batch: each learned vertex once, in the order of ids, its row as
/// wide as it is learned.
struct RowGradients {
    RawVector<VertexId> vertices;
    RawVector<std::size_t> places;  ///< where each one's row begins; one more than vertices
    RawVector<float> values;
};

/// Gathers them from the gradients of a batch's rows (vertices x row_floats), adding up those of a
/// vertex that is there several times, in the order of the batch.
class RowGradientReader {
public:
    void read(const sample::Batch& batch, std::span<const float> gradients, std::size_t row_floats,
              const store::LearnedSet& learned, RowGradients& out);

private:
    struct Use {
        VertexId vertex;
        std::uint32_t position;
    };
    RawVector<Use> uses_;
    RawVector<std::size_t> first_;  ///< use of each distinct vertex
};

/// What a rank sends an owner: for each of its parts the gradients of rows from `begin` to `end`.
[[nodiscard]] std::vector<std::byte> pack_gradients(std::span<const RowGradients> parts,
                                                    VertexId begin, VertexId end);

/// The gradients of one part as they came: a view of the message for the floats.
struct ReceivedGradients {
    RawVector<VertexId> vertices;
    const float* values = nullptr;
};
/// Reads a message of `parts` parts with rows from `begin` to `end`; false if it is not such a one.
/// Appends a list for each part; none for a message of no bytes, which has no rows.
[[nodiscard]] bool unpack_gradients(std::span<const std::byte> message, std::size_t parts,
                                    VertexId begin, VertexId end, const store::LearnedSet& learned,
                                    std::vector<ReceivedGradients>& lists);

}  // namespace rudder::train
