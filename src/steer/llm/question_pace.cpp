#include "question_pace.hpp"

#include <algorithm>
#include <cmath>

namespace rudder::steer {

void QuestionPace::answered(const Observation& seen, double cpu_seconds) {
    constexpr double longest = 1e12;  // steps: no further question
    cpu_ += cpu_seconds;
    answers_ += 1;
    seconds_ += seen.seconds.step;
    steps_ += static_cast<double>(seen.seconds.steps);
    if (share_ >= 1 || !(seconds_ > 0) || !(steps_ > 0)) return;
    const double step = seconds_ / steps_;
    // From the start to the question after this one, in steps.
    const double due = (cpu_ + cpu_ / answers_) / (share_ * step);
    const double wait = std::ceil(std::min(due, longest)) - static_cast<double>(seen.step);
    const double least = static_cast<double>(least_);
    now_.store(static_cast<std::uint64_t>(std::max(wait, least)), std::memory_order_relaxed);
}

}  // namespace rudder::steer
