// Notices that what a run costs has changed for good.
#pragma once

#include <cstddef>

namespace rudder::steer {

/// A two-sided CUSUM of the logarithm of a cost against its own recent level. One odd sample (the
/// short last step of an epoch) cannot set it off: each counts for three sigmas at most.
class Drift {
public:
    /// `least`: relative change that one sigma is taken for at least.
    explicit Drift(double least) : least_(least) {}

    /// True if the cost has changed; the level is then learned anew.
    bool add(double cost);
    /// Something of ours changed it.
    void reset() noexcept;
    /// New level over old, of the last alarm.
    [[nodiscard]] double ratio() const noexcept { return ratio_; }

private:
    static constexpr std::size_t learned_from = 6;  ///< samples

    double least_;
    std::size_t count_ = 0;
    double level_ = 0;
    double spread_ = 0;  ///< mean distance from the level
    double up_ = 0;
    double down_ = 0;
    double recent_ = 0;  ///< level of the last few samples
    double ratio_ = 1;
};

}  // namespace rudder::steer
