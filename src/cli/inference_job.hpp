// What the verbs that use a trained network share: their options, the run, its data.
#pragma once

#include <functional>
#include <string>

#include "rudder/run/ranks.hpp"
#include "rudder/train/options.hpp"
#include "train/prediction/inference.hpp"

#include "verb.hpp"

namespace rudder::cli {

/// Whether a verb can do without labels.
enum class Labels : bool { needed, optional };

/// A run's network on a run's data or on other data, on ranks.
class InferenceJob {
public:
    /// Adds RUN.
    void define_run(CLI::App& app);
    /// Adds --data, --memory, --trust-data and the options of ranks.
    void define_options(CLI::App& app);

    /// One rank's work.
    using Body = std::function<int(const comm::Communicator&, const partition::PartitionedDataset&,
                                   const train::SavedNetwork&, const train::InferenceOptions&)>;
    /// Loads the network, refuses data that does not fit it (without --data: that is not the
    /// run's), starts or joins the ranks, and runs `body` on each; its result is the exit code.
    int run(const Context& context, Labels labels, const Body& body);

private:
    [[nodiscard]] std::string own_data(const train::SavedNetwork& saved) const;
    void complete(train::SavedNetwork& saved) const;
    [[nodiscard]] std::string other_data(const train::SavedNetwork& saved, Labels labels,
                                         const Context& context) const;

    std::string run_;
    std::string data_;
    train::TrainOptions limits_;  ///< memory and checksums
    run::RankOptions ranks_;
};

/// Accuracies by set, or null where there is nothing to score; mean losses likewise; and how the
/// data set's classes were matched.
[[nodiscard]] Json scores_json(const train::InferenceResult& result,
                               const train::SavedNetwork& saved, const train::DataMatch& match);
/// The scores as a table.
[[nodiscard]] std::string scores_text(const train::InferenceResult& result,
                                      const train::SavedNetwork& saved);
/// The same of links: how those ranked that were not trained on.
[[nodiscard]] Json link_scores_json(const train::InferenceResult& result,
                                    const train::DataMatch& match);
[[nodiscard]] std::string link_scores_text(const train::InferenceResult& result);
/// A line on labels that the network does not know; empty where there are none.
[[nodiscard]] std::string unknown_text(const train::InferenceResult& result,
                                       const train::DataMatch& match);

}  // namespace rudder::cli
