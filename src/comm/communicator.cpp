#include "rudder/comm/communicator.hpp"

#include <algorithm>
#include <numeric>

#include "local_transport.hpp"

namespace rudder::comm {

namespace {

/// Contexts come in pairs: one for all ranks, and this more for those of a host.
constexpr std::uint32_t host_context = 1;
constexpr std::uint32_t context_limit = tag_limit / channel_limit;

std::shared_ptr<const std::vector<int>> all_ranks(int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return std::make_shared<const std::vector<int>>(std::move(ranks));
}

}  // namespace

Communicator::Communicator(std::shared_ptr<Transport> transport)
    : transport_(std::move(transport)),
      ranks_(all_ranks(transport_->size())),
      rank_(transport_->rank()) {}

Communicator Communicator::local() {
    return Communicator(std::make_shared<LocalTransport>());
}

int Communicator::group_rank(int global) const {
    const auto found = std::ranges::find(*ranks_, global);
    RUDDER_CHECK(found != ranks_->end());
    return static_cast<int>(found - ranks_->begin());
}

Communicator Communicator::host() const {
    const HostMap& map = hosts();
    const auto& members = map.members(map.host_of(transport_->rank()));
    Communicator group(*this);
    group.ranks_ = std::make_shared<const std::vector<int>>(members);
    group.rank_ =
        static_cast<int>(std::ranges::find(members, transport_->rank()) - members.begin());
    group.context_ = context_ | host_context;
    group.reductions_ = std::make_shared<std::uint32_t>(0);
    return group;
}

Communicator Communicator::duplicate() const {
    Communicator twin(*this);
    twin.context_ = 2 * ++*duplicates_ + (context_ & host_context);
    RUDDER_CHECK(twin.context_ < context_limit);
    twin.reductions_ = std::make_shared<std::uint32_t>(0);
    return twin;
}

std::shared_ptr<std::span<std::byte>> Communicator::share_bytes(std::size_t bytes) const {
    return transport_->share(bytes, (*windows_)++);
}

}  // namespace rudder::comm
