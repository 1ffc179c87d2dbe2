#include "profile_file.hpp"

#include <fmt/format.h>

#include "core/log.hpp"
#include "report/profile.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::run {

void ProfileFile::profile(const RunProfile& profile) {
    try {
        report::write_profile(profile, file_);
    } catch (const Error& error) {
        log::warning(fmt::format("no profile: {}; training continues", error.what()));
        return;
    }
    std::uint64_t dropped = 0;
    for (const RankProfile& rank : profile.ranks)
        dropped += rank.dropped;
    if (dropped == 0) return;
    log::warning(fmt::format("the profile lacks {} events: threads had no room for their last ones",
                             format_count(dropped)));
}

}  // namespace rudder::run
