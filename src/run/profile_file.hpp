// profile.json of a run's folder.
#pragma once

#include <filesystem>

#include "rudder/train/trainer.hpp"

namespace rudder::run {

/// Writes the profile of a run, on rank 0. One that cannot be written is no reason to end the run:
/// it is said, once.
class ProfileFile final : public train::TrainObserver {
public:
    explicit ProfileFile(const std::filesystem::path& folder) : file_(folder / "profile.json") {}
    void profile(const RunProfile& profile) override;

private:
    std::filesystem::path file_;
};

}  // namespace rudder::run
