#include "rudder/core/progress.hpp"

namespace rudder {

void Progress::phase(std::string_view /*name*/, std::uint64_t /*total*/) {}
void Progress::advance(std::uint64_t /*units*/) {}
void Progress::done() {}

Progress& Progress::none() noexcept {
    static Progress silent;
    return silent;
}

}  // namespace rudder
