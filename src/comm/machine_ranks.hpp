// Ranks by machine: which of them are a host, and the memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rudder/comm/hosts.hpp"
#include "rudder/comm/transport.hpp"

namespace rudder::comm {

/// The hosts of ranks whose machines have these labels: `per_host` consecutive ranks each, or (0)
/// those of a machine. A usage Error where a host would lie on several machines.
[[nodiscard]] HostMap group_hosts(std::span<const int> machine_of, int per_host);

/// The name of a block of shared memory of ranks of one machine: the job's number, their first
/// rank, and which block it is.
[[nodiscard]] std::string window_name(std::uint64_t job, int first, std::string_view which);

/// A window of the ranks of this rank's host, as `Transport::share` gives it; collective over them.
[[nodiscard]] std::shared_ptr<std::span<std::byte>> share_on_host(Transport& transport,
                                                                  std::uint64_t job,
                                                                  std::size_t bytes,
                                                                  std::uint64_t key);

}  // namespace rudder::comm
