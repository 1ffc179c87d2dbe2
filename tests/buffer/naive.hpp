// The slow, obvious version of each policy, to compare the fast ones with.
#pragma once

#include "rudder/buffer/id_buffer.hpp"

#include "random_trace.hpp"

namespace rudder::test {

/// What the policy fetches; steps, needed, hits, demand and replacement are filled. For `window`,
/// demand stands for demand and ahead together.
[[nodiscard]] Rows naive_replay(const PlainTrace& trace, const buffer::PolicySpec& policy,
                                std::uint64_t capacity);

/// The least rows any policy can fetch, by trying all contents of the buffer; tiny traces only.
[[nodiscard]] std::uint64_t least_rows(const PlainTrace& trace, std::uint64_t capacity);

}  // namespace rudder::test
