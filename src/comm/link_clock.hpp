// When messages leave a link on which some go before others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/executor/executor.hpp"
#include "rudder/comm/accounts.hpp"

namespace rudder::comm {

/// Who goes before whom on a link: gradients, for which all ranks wait; rows of the next steps;
/// rows that are fetched ahead; evaluation.
enum class LinkClass : std::uint8_t { first, demand, ahead, last };
inline constexpr std::size_t link_classes = 4;

/// Messages of a few packets go first, unless they hold rows: questions, above all.
inline constexpr std::size_t small_message_bytes = std::size_t{16} << 10;

[[nodiscard]] LinkClass link_class(Kind kind, std::size_t bytes) noexcept;

/// What a message carries over a link.
struct LinkStamp {
    Duration::rep left = 0;    ///< when its last byte leaves, if nothing passes it
    Duration::rep passed = 0;  ///< the work of classes before its own that had been handed in
};

/// The clock of one link. Messages of one class leave in the order in which they are handed in;
/// those of a class before pass them, down to the byte (the model leaves out that a packet under
/// way is finished first). The link is never idle while there is work, so that its rate is kept
/// exactly.
///
/// A message that may be passed is stamped as if it were not; when that time has come, `passed`
/// says whether it was, and when to look again. Zeroed memory is a clock that is free; it may be
/// shared by several processes.
class LinkClock {
public:
    /// A message that takes `transfer` is handed in.
    LinkStamp send(LinkClass which, Duration now, Duration transfer) noexcept;
    /// Whether work that was handed in since has passed the message; its stamp then says the later
    /// time.
    [[nodiscard]] bool passed(LinkClass which, LinkStamp& stamp) const noexcept;

private:
    using Time = std::atomic<Duration::rep>;
    static_assert(Time::is_always_lock_free);

    std::atomic<std::uint32_t> locked_;
    /// By class: when all work of it and of those before it will have left; and how much there was.
    std::array<Time, link_classes> free_;
    std::array<Time, link_classes> work_;
};

}  // namespace rudder::comm
