// What the verbs that use a trained network share: their options, the run, its data.
#pragma once

#include <functional>
#include <string>

#include "rudder/run/ranks.hpp"
#include "rudder/train/options.hpp"
#include "train/prediction/inference.hpp"

#include "verb.hpp"

namespace rudder::cli {

/// A run's network on a run's data, on ranks.
class InferenceJob {
public:
    /// Adds RUN.
    void define_run(CLI::App& app);
    /// Adds --data, --memory, --trust-data and the options of ranks.
    void define_options(CLI::App& app);

    /// One rank's work.
    using Body = std::function<int(const comm::Communicator&, const partition::PartitionedDataset&,
                                   const train::SavedNetwork&, const train::InferenceOptions&)>;
    /// Loads the network, refuses data that is not the run's, starts or joins the ranks, and runs
    /// `body` on each; its result is the exit code.
    int run(const Context& context, const Body& body);

private:
    [[nodiscard]] std::string data_path(const train::SavedNetwork& saved) const;

    std::string run_;
    std::string data_;
    train::TrainOptions limits_;  ///< memory and checksums
    run::RankOptions ranks_;
};

/// Accuracies by set, or null where there is nothing to score; mean losses likewise.
[[nodiscard]] Json scores_json(const train::InferenceResult& result, nn::Objective objective);
/// The same as a table.
[[nodiscard]] std::string scores_text(const train::InferenceResult& result,
                                      nn::Objective objective);

}  // namespace rudder::cli
