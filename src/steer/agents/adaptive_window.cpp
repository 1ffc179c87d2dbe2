#include "adaptive_window.hpp"

#include <algorithm>

namespace rudder::steer {

namespace {

class AdaptiveWindow final : public Agent {
public:
    [[nodiscard]] std::uint64_t interval() const noexcept override { return 32; }

    [[nodiscard]] Answer decide(const Observation& seen) override {
        constexpr std::uint64_t shortest = 4;
        constexpr double much_stall = 0.05;
        const bool waits = seen.seconds.stall > much_stall * seen.seconds.step;
        const std::uint64_t before = seen.setting.policy.whole("window");
        const std::uint64_t longest = std::max<std::uint64_t>(64, before);
        std::uint64_t window = before;
        if (seen.queue_bytes > seen.queue_limit / 10 * 9) {
            window = std::max(shortest, before / 2);
        } else if (waits && seen.queue_bytes < seen.queue_limit / 4) {
            window = std::min(longest, before * 2);
        }
        if (window == before) return {.action = Action::keep(Reason::rule)};
        return {.action = Action::set({{KnobId::window, static_cast<double>(window)}},
                                      waits ? Reason::high_stall : Reason::rule)};
    }
};

}  // namespace

std::unique_ptr<Agent> make_adaptive_window() {
    return std::make_unique<AdaptiveWindow>();
}

}  // namespace rudder::steer
