#include "rudder/sample/batch.hpp"

namespace rudder::sample {

std::size_t Batch::bytes() const noexcept {
    std::size_t sum =
        vertices.capacity() * sizeof(VertexId) + degrees.capacity() * sizeof(std::uint32_t);
    for (const Block& block : blocks) {
        sum += block.offsets.capacity() * sizeof(std::uint32_t) +
               block.neighbours.capacity() * sizeof(LocalId);
    }
    return sum;
}

}  // namespace rudder::sample
