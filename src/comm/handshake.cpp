#include "rudder/comm/handshake.hpp"

#include <fmt/format.h>

#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"

namespace rudder::comm {

std::string build_fingerprint() {
    const Region program = Region::map("/proc/self/exe");
    return fmt::format("{} {}", version(),
                       to_hex(array_checksum({program.data(), program.size()})));
}

void verify_same(const Communicator& comm, const Fingerprint& fingerprint) {
    std::string mine;
    for (const auto& [name, value] : fingerprint) {
        for (const std::string& text : {name, value})
            mine.append(text).push_back('\0');
    }
    const auto all = comm.all_gather(std::span<const char>(mine));
    const std::string first(all.front().begin(), all.front().end());
    for (std::size_t r = 1; r < all.size(); ++r) {
        const std::string other(all[r].begin(), all[r].end());
        if (other == first) continue;
        const auto ours = split(first, '\0');
        const auto theirs = split(other, '\0');
        std::size_t at = 0;
        while (at + 1 < std::min(ours.size(), theirs.size()) && ours[at] == theirs[at])
            ++at;
        const std::string_view name = at > 0 ? ours[at - at % 2] : "fingerprint";
        throw usage_error(fmt::format("rank {} differs from rank 0 in its {}", r, name),
                          fmt::format("rank 0 has '{}', rank {} has '{}'", ours[at], r, theirs[at]),
                          "start the same program with the same options and data on all ranks");
    }
}

}  // namespace rudder::comm
