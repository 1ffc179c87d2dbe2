// The profile of one epoch: recorded on every rank, brought together on rank 0.
#pragma once

#include <cstdint>
#include <optional>

#include "core/profile.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/train/options.hpp"

namespace rudder::train {

class EpochProfile {
public:
    /// A run that goes on with epoch `first` (counted from 0). Refuses (usage Error) a profile
    /// where time is simulated: all ranks are one thread there.
    EpochProfile(const comm::Communicator& comm, const TrainOptions& options, std::uint32_t first);
    /// Ends a recording whose run did not come to its end.
    ~EpochProfile();
    EpochProfile(const EpochProfile&) = delete;
    EpochProfile& operator=(const EpochProfile&) = delete;

    /// Starts recording if this is the epoch.
    void begin(std::uint32_t epoch);
    /// Ends a recording under way; collective then. All of it on rank 0, nothing elsewhere.
    [[nodiscard]] std::optional<RunProfile> finish();
    /// The epoch that was asked for (counted from 1) and never came.
    [[nodiscard]] std::optional<std::uint32_t> missing() const;

private:
    const comm::Communicator& comm_;
    std::optional<std::uint32_t> wanted_;
    bool recording_ = false;
    bool recorded_ = false;
};

}  // namespace rudder::train
