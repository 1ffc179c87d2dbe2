#include "machine_board.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"

namespace rudder::comm {

MachineBoard::MachineBoard(std::span<const int> machine_of, int rank,
                           std::shared_ptr<std::span<std::byte>> memory)
    : memory_(std::move(memory)), place_(machine_of.size(), nullptr) {
    auto* places = reinterpret_cast<MachinePlace*>(memory_->data());
    for (std::size_t r = 0; r < machine_of.size(); ++r) {
        if (machine_of[r] != machine_of[static_cast<std::size_t>(rank)]) continue;
        place_[r] = places + ranks_++;
    }
    RUDDER_CHECK(memory_->size() == bytes_for(ranks_));
    own_ = place_[static_cast<std::size_t>(rank)];
}

void refuse_link_between(std::span<const int> machine_of, std::span<const std::string> names) {
    constexpr std::size_t most_named = 8;
    std::set<int> seen;
    std::string list;
    for (std::size_t r = 0; r < machine_of.size(); ++r) {
        if (!seen.insert(machine_of[r]).second || seen.size() > most_named) continue;
        list += fmt::format("{}{} (rank {})", list.empty() ? "" : ", ", names[r], r);
    }
    if (seen.size() < 2) return;
    if (seen.size() > most_named) list += ", ...";
    throw usage_error(fmt::format("--link between ranks on {} machines: {}", seen.size(), list),
                      "--link",
                      "leave --link out: machines have a real network between them, and clocks of "
                      "their own");
}

}  // namespace rudder::comm
