// A shadow: a policy run on ids beside the real buffer, to see what it would have fetched.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "rudder/buffer/id_buffer.hpp"

namespace rudder {

struct ShadowOptions {
    /// Follows one row in so many, chosen by a hash of the vertex; 1: all. The capacity shrinks
    /// alike, so that rates stay what they are.
    std::uint32_t sample = 16;
    std::uint32_t salt = 0;  ///< another one follows other rows
};

/// Runs a policy without feature rows. It shares the numbering of the real buffer and is given the
/// same steps; it copies the rows it follows, so nothing has to stay valid.
class ShadowBuffer {
public:
    ShadowBuffer(const PolicySpec& spec, const PolicyFacts& facts, SlotId capacity,
                 const ShadowOptions& options, std::uint64_t first_step = 0);

    /// As IdBuffer::publish and advance.
    void publish(std::uint64_t step, std::span<const RowKey> rows);
    void advance(const Decision& decision = {});
    void set_policy(const PolicySpec& spec) { buffer_->set_policy(spec); }
    void set_capacity(SlotId capacity);

    [[nodiscard]] std::uint64_t horizon() const noexcept { return buffer_->horizon(); }
    [[nodiscard]] std::uint64_t next_step() const noexcept { return buffer_->next_step(); }
    /// What it counted, and the same scaled to all rows.
    [[nodiscard]] const RowAccounts& counted() const noexcept { return buffer_->accounts(); }
    [[nodiscard]] RowAccounts estimated() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    /// Decides about rows that were numbered since.
    void follow_new();
    [[nodiscard]] SlotId scaled(SlotId capacity) const noexcept;

    ShadowOptions options_;
    PolicyFacts real_;
    std::vector<RowKey> sample_row_;  ///< by real row; no_row: not followed
    std::unique_ptr<RowNumbering> rows_;
    std::vector<std::uint32_t> halo_degree_;
    std::vector<double> inclusion_;
    std::uint64_t seen_ = 0;      ///< rows of all steps advanced
    std::uint64_t followed_ = 0;  ///< those that were followed
    std::deque<std::vector<RowKey>> steps_;
    std::deque<std::uint64_t> sizes_;
    std::vector<std::vector<RowKey>> spare_;
    std::unique_ptr<IdBuffer> buffer_;
};

}  // namespace rudder
