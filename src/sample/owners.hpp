// Which rank holds which part: told once, by all to all.
#pragma once

#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/book.hpp"
#include "rudder/partition/part.hpp"

#include "message_rows.hpp"

namespace rudder::sample {

/// The rank (of `comm`) and the number of arcs of each part that messages pass along. Every part
/// must have exactly one rank.
class PartOwners {
public:
    /// Collective.
    PartOwners(const comm::Communicator& comm, const partition::PartitionBook& book,
               std::span<const partition::Part> own, std::span<const MessageRows> messages = {})
        : ranks_(book.parts(), -1), edges_(book.parts(), 0) {
        std::vector<std::uint64_t> mine;
        for (std::size_t i = 0; i < own.size(); ++i) {
            mine.push_back(own[i].id());
            mine.push_back(rows_of(own, messages, i).neighbours.size());
        }
        const auto all = comm.all_gather(std::span<const std::uint64_t>(mine));
        for (std::size_t r = 0; r < all.size(); ++r) {
            for (std::size_t i = 0; i < all[r].size(); i += 2) {
                const std::uint64_t part = all[r][i];
                RUDDER_CHECK(part < ranks_.size() && ranks_[part] < 0);
                ranks_[part] = static_cast<int>(r);
                edges_[part] = all[r][i + 1];
            }
        }
        for (const int rank : ranks_)
            RUDDER_CHECK(rank >= 0);
    }

    [[nodiscard]] int rank(PartId part) const { return ranks_[part]; }
    [[nodiscard]] std::span<const EdgeIndex> edges() const noexcept { return edges_; }

private:
    std::vector<int> ranks_;
    std::vector<EdgeIndex> edges_;
};

}  // namespace rudder::sample
