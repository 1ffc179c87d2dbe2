#include "socket_job.hpp"

#include <array>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::comm {

namespace {

constexpr const char* rank_variable = "RANK";
constexpr const char* size_variable = "WORLD_SIZE";
constexpr const char* host_variable = "MASTER_ADDR";
constexpr const char* port_variable = "MASTER_PORT";
constexpr const char* own_port_variable = "RUDDER_PORT";
constexpr const char* secret_variable = "RUDDER_JOB_SECRET";
constexpr const char* listener_variable = "RUDDER_LISTENER";
constexpr const char* run_variable = "TORCHELASTIC_RUN_ID";

constexpr std::uint64_t most_ranks = 4096;

std::string value_of(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::uint64_t number_of(const char* name, std::uint64_t least, std::uint64_t most) {
    const std::string text = value_of(name);
    const auto number = parse_u64(text);
    if (number && *number >= least && *number <= most) return *number;
    throw usage_error(fmt::format("invalid {}: {}", name, text.empty() ? "not set" : text),
                      "environment",
                      fmt::format("start ranks with torchrun, or set {} to a number from {} to {}",
                                  name, least, most));
}

std::uint16_t meeting_port() {
    constexpr std::uint64_t most = std::numeric_limits<std::uint16_t>::max();
    const bool own = std::getenv(own_port_variable) != nullptr;
    return static_cast<std::uint16_t>(own ? number_of(own_port_variable, 1, most)
                                          : number_of(port_variable, 1, most - 1) + 1);
}

}  // namespace

bool sockets_launched() noexcept {
    constexpr std::array names{rank_variable, size_variable, host_variable, port_variable};
    for (const char* name : names) {
        if (std::getenv(name) == nullptr) return false;
    }
    return true;
}

SocketJob socket_job() {
    SocketJob job;
    job.size = static_cast<int>(number_of(size_variable, 1, most_ranks));
    job.rank =
        static_cast<int>(number_of(rank_variable, 0, static_cast<std::uint64_t>(job.size) - 1));
    job.host = value_of(host_variable);
    job.port = meeting_port();
    job.secret = value_of(secret_variable);
    if (job.secret.empty()) {
        job.secret =
            fmt::format("{} {} {}", value_of(run_variable), job.host, value_of(port_variable));
    }
    if (job.rank == 0 && std::getenv(listener_variable) != nullptr) {
        job.listener = static_cast<int>(
            number_of(listener_variable, 0, std::numeric_limits<std::int32_t>::max()));
    }
    return job;
}

void announce_job(const SocketJob& job) {
    ::setenv(rank_variable, std::to_string(job.rank).c_str(), 1);
    ::setenv(size_variable, std::to_string(job.size).c_str(), 1);
    ::setenv(host_variable, job.host.c_str(), 1);
    ::setenv(port_variable, std::to_string(job.port).c_str(), 1);
    ::setenv(own_port_variable, std::to_string(job.port).c_str(), 1);
    ::setenv(secret_variable, job.secret.c_str(), 1);
    if (job.listener >= 0) {
        ::setenv(listener_variable, std::to_string(job.listener).c_str(), 1);
    } else {
        ::unsetenv(listener_variable);
    }
}

}  // namespace rudder::comm
