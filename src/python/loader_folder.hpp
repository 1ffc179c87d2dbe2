// The run folder of a loader, as `rudder train` leaves one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"
#include "run/run_recorder.hpp"
#include "run/train_observers.hpp"
#include "train/loader.hpp"
#include "train/summary.hpp"

namespace rudder::python {

/// What its caller says of it.
struct FolderRequest {
    std::string path;  ///< empty: none is kept
    bool force = false;
    std::vector<std::string> command;  ///< the program's
};

/// One rank's side; rank 0 writes. It must outlive the loader that it watches.
class LoaderFolder {
public:
    /// Collective; a usage Error where something lies there that may not be replaced.
    LoaderFolder(const comm::Communicator& comm, FolderRequest request);

    /// To be told of what the loader does; null where no folder is kept.
    [[nodiscard]] train::TrainObserver* observer() noexcept {
        return request_.path.empty() ? nullptr : &observers_;
    }
    /// Collective: the loader is made; its folder is, too. `path`: of its parts.
    void begin(const comm::Communicator& comm, const partition::PartitionedDataset& data,
               const std::string& path, const train::TrainOptions& options,
               const train::Loader& loader);
    /// The loader is closed: writes the summary.
    void finish(const train::TrainResult& result);

private:
    FolderRequest request_;
    train::TrainOptions options_;
    train::RunFacts facts_;
    run::TrainObservers observers_;
    std::optional<run::RunRecorder> recorder_;  ///< on rank 0
};

}  // namespace rudder::python
