// The options of verbs that train: defined once, read by several verbs.
#pragma once

#include <memory>
#include <string>

#include "cli/verb.hpp"
#include "rudder/run/ranks.hpp"
#include "rudder/train/options.hpp"
#include "run/run_recorder.hpp"

namespace rudder::cli {

/// A verb that trains, as others see it.
class TrainSettings : public Verb {
public:
    /// What the options come to, once they are parsed. A usage Error where they cannot be meant.
    [[nodiscard]] virtual const train::TrainOptions& settle() = 0;
    [[nodiscard]] virtual run::RankOptions& ranks() = 0;
    /// The partitioned data set.
    [[nodiscard]] virtual const std::string& data() const = 0;
    /// Where it keeps what it does; empty: nowhere.
    [[nodiscard]] virtual const std::string& out() const = 0;
    [[nodiscard]] virtual Existing existing() const = 0;
    [[nodiscard]] virtual const run::SinkSettings& sinks() const = 0;
};

[[nodiscard]] std::unique_ptr<TrainSettings> make_train_settings();

}  // namespace rudder::cli
