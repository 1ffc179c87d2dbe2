// Memory of a pass: laid out first, then taken at once, kept for the next pass.
#pragma once

#include <cstddef>
#include <span>

#include "rudder/core/array.hpp"

namespace rudder::nn {

/// Adds up stretches of bytes, each 64-byte aligned.
class WorkspacePlan {
public:
    template <class T>
    [[nodiscard]] std::size_t add(std::size_t count) {
        const std::size_t offset = bytes_;
        bytes_ += (count * sizeof(T) + 63) / 64 * 64;
        return offset;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    std::size_t bytes_ = 0;
};

/// One block of memory that grows to the largest plan seen, and an eighth more, so that batches of
/// about one size seldom make it grow.
class Workspace {
public:
    /// What a plan takes when it is the first.
    [[nodiscard]] static std::size_t bytes_for(const WorkspacePlan& plan) noexcept {
        return plan.bytes() + plan.bytes() / 8;
    }
    void fit(const WorkspacePlan& plan) {
        if (plan.bytes() <= memory_.size()) return;
        memory_ = {};  // before the new one, lest both be there at once
        memory_ = Array<std::byte>::uninitialised(bytes_for(plan));
    }
    template <class T>
    [[nodiscard]] T* at(std::size_t offset) noexcept {
        return reinterpret_cast<T*>(memory_.data() + offset);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return memory_.size(); }

private:
    Array<std::byte> memory_;
};

}  // namespace rudder::nn
