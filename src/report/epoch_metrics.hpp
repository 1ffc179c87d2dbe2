// What an epoch is measured by: one list that TensorBoard and Prometheus go by.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "sink.hpp"

namespace rudder::report {

struct EpochMetric {
    std::string_view tag;     ///< in TensorBoard
    std::string_view name;    ///< in Prometheus
    std::string_view labels;  ///< there; may be empty
    std::string_view help;    ///< one sentence, without its full stop
    /// Nothing: it is not known of this epoch.
    std::optional<double> (*value)(const train::EpochRecord& epoch);
};

/// All of them; those of one name in Prometheus stand together.
[[nodiscard]] std::span<const EpochMetric> epoch_metrics() noexcept;

}  // namespace rudder::report
