// Orders from one rank of a host to the others, through memory they share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rudder/comm/communicator.hpp"
#include "steer/helm/helm.hpp"

namespace rudder::train {

/// A few of them behind each other, written by the host's first rank and read by all others, each
/// at its own pace. Nobody waits: a reader that falls behind by more than there are places misses
/// what was overwritten. Ranks meet once per step, so that cannot happen to who looks once per
/// step.
class OrderBoard {
public:
    /// Collective over the host.
    explicit OrderBoard(const comm::Communicator& comm);

    /// On the first rank, one call at a time.
    void post(const steer::PackedOrder& order);
    /// On the others: the next one that was not read, if there is one.
    [[nodiscard]] std::optional<steer::PackedOrder> poll();

private:
    static constexpr std::size_t words = sizeof(steer::PackedOrder) / 8;
    static constexpr std::uint64_t places = 8;
    using Word = std::atomic<std::uint64_t>;
    struct Place {
        Word version;  ///< 2n + 1 while order n is written, 2n + 2 once it stands
        std::array<Word, words> order;
    };
    struct Board {
        Word posted;
        std::array<Place, places> ring;
    };
    [[nodiscard]] Board& board() const { return board_->front(); }

    std::shared_ptr<std::span<Board>> board_;
    std::uint64_t read_ = 0;
};

}  // namespace rudder::train
