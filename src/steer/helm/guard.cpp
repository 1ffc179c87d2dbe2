#include "guard.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rudder::steer {

void Breaker::succeeded() noexcept {
    failures_ = 0;
    pause_ = first_pause;
}

bool Breaker::failed(std::uint64_t step) noexcept {
    // What comes back while it is open was asked before it opened.
    if (!closed(step)) return false;
    // Stays at the limit, so that one more failure after a pause is enough.
    failures_ = std::min(failures_ + 1, most_failures);
    if (failures_ < most_failures) return false;
    open_until_ = step + pause_;
    pause_ = std::min(2 * pause_, longest_pause);
    ++openings_;
    return true;
}

void PairedCosts::add(double cost, double reference) noexcept {
    // Welford: no loss of digits where the costs are large and their differences small.
    const double value = cost - reference;
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
    reference_sum_ += reference;
}

double PairedCosts::error() const noexcept {
    if (count_ < 2) return std::numeric_limits<double>::infinity();
    const auto n = static_cast<double>(count_);
    return std::sqrt(squares_ / (n - 1) / n);
}

double PairedCosts::reference() const noexcept {
    return count_ == 0 ? 0 : reference_sum_ / static_cast<double>(count_);
}

bool PairedCosts::worse(double share, double sigmas) const noexcept {
    return count_ >= 2 && mean_ > share * std::abs(reference()) && mean_ > sigmas * error();
}

bool PairedCosts::better(double share, double sigmas) const noexcept {
    return count_ >= 2 && -mean_ > share * std::abs(reference()) && -mean_ > sigmas * error();
}

}  // namespace rudder::steer
