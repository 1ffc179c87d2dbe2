// Bytes sent and received, per kind and per peer, as the transport saw them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rudder::comm {

/// What a message is about; every byte on the wire belongs to one kind.
enum class Kind : std::uint8_t {
    features,
    requests,
    topology,
    gradients,
    evaluation,
    control,
    // Of rows that no step waits for yet: they let others pass, and are counted with those above.
    features_ahead,
    requests_ahead,
};
/// Kinds that are counted, the first ones.
inline constexpr std::size_t kind_count = 6;

/// The kind under which a message is counted.
[[nodiscard]] constexpr Kind counted_as(Kind kind) noexcept {
    if (kind == Kind::features_ahead) return Kind::features;
    return kind == Kind::requests_ahead ? Kind::requests : kind;
}

[[nodiscard]] std::string_view to_string(Kind kind) noexcept;

/// A copy of the counts at one moment.
struct AccountTotals {
    std::array<std::uint64_t, kind_count> sent{};
    std::array<std::uint64_t, kind_count> received{};
    std::uint64_t sent_total = 0;
    /// Counted where messages are handed over, not summed from the kinds.
    std::uint64_t received_total = 0;
    std::vector<std::uint64_t> sent_to;        ///< by rank
    std::vector<std::uint64_t> received_from;  ///< by rank
    std::uint64_t messages = 0;                ///< received
};

/// The counters of one rank. Payload bytes only; messages to oneself are not counted.
class Accounts {
public:
    explicit Accounts(std::size_t ranks) : sent_to_(ranks), received_from_(ranks) {}

    void sent(int peer, Kind kind, std::uint64_t bytes) noexcept;
    /// The one place where a message's bytes enter `received_total`.
    void handed_over(int peer, Kind kind, std::uint64_t bytes) noexcept;
    /// Of one moment: the kinds received add up to the total, also while messages come.
    [[nodiscard]] AccountTotals totals() const;

private:
    [[nodiscard]] AccountTotals look() const;

    using Count = std::atomic<std::uint64_t>;
    std::array<Count, kind_count> sent_{};
    std::array<Count, kind_count> received_{};
    Count received_total_{0};
    Count messages_{0};
    // Messages whose counting has begun, and ended: where both are the same, no count is half done.
    Count begun_{0};
    Count ended_{0};
    std::vector<Count> sent_to_;
    std::vector<Count> received_from_;
};

}  // namespace rudder::comm
