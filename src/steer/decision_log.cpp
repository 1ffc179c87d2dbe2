#include "rudder/steer/decision_log.hpp"

#include <array>
namespace rudder {
std::string_view to_string(DecisionStatus status) noexcept {
    static constexpr std::array<std::string_view, 5> names{"applied", "late", "invalid", "refused",
                                                           "undone"};
    return names[static_cast<std::size_t>(status)];
}
}  // namespace rudder
