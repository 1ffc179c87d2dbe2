// The digest of a run: a hash of all its losses, bit for bit.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "rudder/core/checksum.hpp"

namespace rudder::train {

/// Folds the global loss of each step into one number; two runs with the same digest had the same
/// losses. Can be put down and taken up again.
class LossDigest {
public:
    LossDigest() = default;
    /// Goes on from a value put down earlier.
    explicit LossDigest(std::uint64_t value) noexcept : value_(value) {}

    void add(float loss) noexcept {
        const std::array<std::uint64_t, 2> pair{value_, std::bit_cast<std::uint32_t>(loss)};
        value_ = hash_bytes(std::as_bytes(std::span(pair)));
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
    [[nodiscard]] std::string text() const { return to_hex(value_); }

private:
    std::uint64_t value_ = 0;
};

}  // namespace rudder::train
