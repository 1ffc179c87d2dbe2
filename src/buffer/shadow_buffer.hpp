// A shadow: a policy run on ids beside the real buffer, to see what it would have fetched.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "rudder/buffer/id_buffer.hpp"

#include "shadow_feed.hpp"

namespace rudder::buffer {

/// Runs a policy without feature rows, on the steps of a feed, which several may share. Sizes are
/// those of the real buffer; it scales them.
class ShadowBuffer {
public:
    /// Takes steps from `first_step` on, which the feed must not have forgotten when it takes them.
    ShadowBuffer(const PolicySpec& spec, std::shared_ptr<const ShadowFeed> feed, SlotId slots,
                 SlotId capacity, std::uint64_t first_step = 0);
    ShadowBuffer& operator=(const ShadowBuffer&) = delete;

    /// A copy that goes on exactly as this one would, and may outlive it.
    [[nodiscard]] std::unique_ptr<ShadowBuffer> clone() const;

    /// Takes the next step, which the feed must have; its policy sees as many of those after it as
    /// it wants and the feed has.
    void advance(const Decision& decision = {});
    /// As IdBuffer::set_policy and set_capacity.
    void set_policy(const PolicySpec& spec) { buffer_->set_policy(spec); }
    void set_capacity(SlotId capacity);

    [[nodiscard]] std::uint64_t horizon() const noexcept { return buffer_->horizon(); }
    [[nodiscard]] std::uint64_t next_step() const noexcept { return buffer_->next_step(); }
    /// As IdBuffer::replaceable, of followed rows.
    [[nodiscard]] std::uint64_t replaceable() const { return buffer_->replaceable(); }
    [[nodiscard]] const PolicySpec& spec() const noexcept { return buffer_->spec(); }
    /// What it counted, and the same scaled to all rows.
    [[nodiscard]] const Rows& counted() const noexcept { return buffer_->accounts(); }
    [[nodiscard]] Rows estimated() const noexcept;
    /// Of its own, without the feed's.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return buffer_->bytes(); }

private:
    ShadowBuffer(const ShadowBuffer& other);

    std::shared_ptr<const ShadowFeed> feed_;
    std::deque<std::shared_ptr<const ShadowFeed::Step>> steps_;  ///< published, not advanced
    std::uint64_t seen_ = 0;                                     ///< rows of all steps advanced
    std::uint64_t followed_ = 0;                                 ///< those that were followed
    std::unique_ptr<IdBuffer> buffer_;
};

}  // namespace rudder::buffer
