// Sums of floats over ranks whose bits do not depend on how the contributions are spread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"

#include "message_coder.hpp"

namespace rudder::comm {

/// How contributions and sums travel: as they are, or rounded to half their size.
enum class SumPrecision : std::uint8_t { float32, bfloat16 };

/// Adds contributions 0, 1, 2, ... one by one in that order, whichever rank holds which: the owner
/// of each piece of the vector adds ((c0 + c1) + c2) + ... and sends the sum to all. One code for
/// all bodies, so the bits are the same in all of them.
///
/// In bfloat16 every contribution is rounded, those of the owner as well, and so is the sum, which
/// is made in float32: the bits still do not depend on who holds what.
///
/// Each rank sends and receives its contributions once and the result once, which is optimal for
/// one contribution per rank; pieces are pipelined; up to eight reductions may be under way.
class OrderedReducer {
public:
    /// Collective. `indices` are the numbers of the contributions this rank will hand in,
    /// ascending; all ranks together have 0 to n - 1, each once. A rank may have none. Where all
    /// ranks have a `coder`, messages are written by it.
    OrderedReducer(const Communicator& comm, std::span<const std::uint32_t> indices,
                   std::shared_ptr<MessageCoder> coder = nullptr);

    /// Starts a reduction; all ranks start theirs in the same order. contributions[i] is that of
    /// indices[i] and, like `out`, must stay in place until the request is done; they must not
    /// overlap. `out` has the same size on all ranks and gets the sum.
    Request reduce(const std::vector<std::span<const float>>& contributions, std::span<float> out,
                   Kind kind = Kind::gradients, SumPrecision precision = SumPrecision::float32);

    /// Contributions in all.
    [[nodiscard]] std::size_t contributions() const noexcept { return owner_.size(); }

private:
    struct Reduction;
    static constexpr std::uint32_t slots = reduction_channels;

    Communicator comm_;
    std::shared_ptr<MessageCoder> coder_;
    std::vector<std::uint32_t> own_;  ///< indices of this rank
    std::vector<int> owner_;          ///< rank of each contribution
    std::vector<std::vector<std::uint32_t>> of_rank_;
    std::vector<Request> under_way_;
};

}  // namespace rudder::comm
