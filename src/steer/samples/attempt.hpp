// A copy of a buffer that goes a way of its own, and what that costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "rudder/buffer/id_buffer.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::steer {

/// All ids of a buffer, from a step that is to come on. Takes the steps of a horizon as they are
/// published.
class Attempt {
public:
    explicit Attempt(const buffer::IdBuffer& buffer)
        : copy_(buffer.clone()), start_(copy_->accounts()) {}

    /// Another setting from the next step on, as far as it concerns ids.
    void set(const Setting& setting) {
        if (setting.policy != copy_->spec()) copy_->set_policy(setting.policy);
        const auto capacity = static_cast<buffer::SlotId>(
            std::min<std::uint64_t>(setting.capacity, copy_->residents().slots()));
        if (capacity != copy_->residents().capacity()) copy_->set_capacity(capacity);
    }
    /// The rows of a step that was not known when the copy was made.
    void publish(std::uint64_t step, std::span<const buffer::RowKey> rows) {
        copy_->publish(step, rows);
    }
    const buffer::StepPlan& advance(const buffer::Decision& decision) {
        return copy_->advance(decision);
    }

    /// Rows since it was made.
    [[nodiscard]] std::uint64_t fetched() const {
        return copy_->accounts().fetched() - start_.fetched();
    }
    [[nodiscard]] Rows rows() const { return copy_->accounts() - start_; }

private:
    std::unique_ptr<buffer::IdBuffer> copy_;
    Rows start_;
};

}  // namespace rudder::steer
