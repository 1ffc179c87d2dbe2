// The summary of a run, as other programs read it.
#pragma once

#include <string>

#include "rudder/core/json_fwd.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/trainer.hpp"

namespace rudder::train {

/// What a summary says besides the result.
struct RunFacts {
    int ranks = 1;
    int hosts = 1;
    PartId parts = 1;
    std::string data;  ///< path of the partitioned data set
    std::string link;  ///< the link model, if one was given
    int threads = 1;   ///< per rank
    bool regression = false;
};

/// The value of summary.json (design section 10). Rows, bytes, seconds of phases and CPU seconds
/// are sums over ranks; `total` and `epoch` are seconds of the clock.
[[nodiscard]] Json summary_json(const TrainResult& result, const TrainOptions& options,
                                const RunFacts& facts);

/// The median of an epoch's seconds, evaluation excluded.
[[nodiscard]] double median_epoch_seconds(const TrainResult& result);

}  // namespace rudder::train
