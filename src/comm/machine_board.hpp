// What the ranks of one machine share: a doorbell and a link's clock each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "doorbell.hpp"
#include "link_clock.hpp"

namespace rudder::comm {

/// The place of one rank, in cache lines of its own.
struct alignas(64) MachinePlace {
    Doorbell bell;
    alignas(64) LinkClock clock;
};

/// One rank's view of its machine. A value; copies see the same memory.
class MachineBoard {
public:
    MachineBoard() = default;
    /// `machine_of` labels each rank's machine; `memory` has a place for each rank of `rank`'s.
    MachineBoard(std::span<const int> machine_of, int rank,
                 std::shared_ptr<std::span<std::byte>> memory);

    [[nodiscard]] static std::size_t bytes_for(int ranks) noexcept {
        return static_cast<std::size_t>(ranks) * sizeof(MachinePlace);
    }
    /// Ranks on this machine.
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    /// Whether all ranks are.
    [[nodiscard]] bool whole() const noexcept {
        return static_cast<std::size_t>(ranks_) == place_.size();
    }
    /// That rank's bell; null if it is on another machine.
    [[nodiscard]] Doorbell* bell(int rank) const noexcept {
        MachinePlace* found = place_[static_cast<std::size_t>(rank)];
        return found == nullptr ? nullptr : &found->bell;
    }
    [[nodiscard]] Doorbell& own_bell() const noexcept { return own_->bell; }
    /// The clock that lies at that rank's place; it must be on this machine.
    [[nodiscard]] LinkClock& clock(int rank) const noexcept {
        return place_[static_cast<std::size_t>(rank)]->clock;
    }

private:
    std::shared_ptr<std::span<std::byte>> memory_;
    std::vector<MachinePlace*> place_;  ///< by rank
    MachinePlace* own_ = nullptr;
    int ranks_ = 0;
};

/// Refuses a modelled link between ranks of several machines, whose clocks differ: a usage Error
/// that names them. `machine_of` labels each rank's machine, `names` has what each rank calls it.
void refuse_link_between(std::span<const int> machine_of, std::span<const std::string> names);

}  // namespace rudder::comm
