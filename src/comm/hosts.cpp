#include "rudder/comm/hosts.hpp"

#include <map>

#include "rudder/core/check.hpp"

namespace rudder::comm {

HostMap::HostMap(const std::vector<int>& label_of_rank) {
    std::map<int, int> host_of_label;
    for (std::size_t rank = 0; rank < label_of_rank.size(); ++rank) {
        const auto [found, fresh] =
            host_of_label.try_emplace(label_of_rank[rank], static_cast<int>(members_.size()));
        if (fresh) members_.emplace_back();
        host_.push_back(found->second);
        members_[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(rank));
    }
}

HostMap HostMap::consecutive(int ranks, int per_host) {
    RUDDER_CHECK(per_host > 0);
    std::vector<int> labels;
    for (int rank = 0; rank < ranks; ++rank)
        labels.push_back(rank / per_host);
    return HostMap(labels);
}

}  // namespace rudder::comm
