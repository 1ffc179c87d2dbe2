// A network as a run leaves it, without a folder; and files held against each other.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "rudder/train/trainer.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/prediction/data_match.hpp"

namespace rudder::test {

/// Trains on one rank; `scores` are those of the last epoch.
[[nodiscard]] inline train::SavedNetwork trained_network(const partition::PartitionedDataset& data,
                                                         const train::TrainOptions& options,
                                                         train::Scores& scores) {
    train::Trainer trainer(comm::Communicator::local(), data, options);
    train::TrainObserver observer;
    scores = trainer.run(observer).epochs.back().scores;
    train::SavedNetwork saved;
    saved.options = trainer.network_options();
    saved.weights.assign(trainer.weights().begin(), trainer.weights().end());
    saved.train = options;
    saved.trained_on = train::trained_on(options.task, data.info());
    saved.data = data.folder().path().string();
    saved.data_checksum = train::data_checksum(data);
    return saved;
}

[[nodiscard]] inline std::string file_bytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rudder::test
