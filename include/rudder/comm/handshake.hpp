// The handshake at start: do all ranks run the same program on the same data?
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rudder/comm/communicator.hpp"

namespace rudder::comm {

/// Named texts that must be the same on all ranks: build, configuration, data.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// Compares fingerprints; collective. A difference is a usage Error on every rank that names the
/// first rank that differs from rank 0, and in what.
void verify_same(const Communicator& comm, const Fingerprint& fingerprint);

/// What identifies the running program: its version and the hash of its file.
[[nodiscard]] std::string build_fingerprint();

}  // namespace rudder::comm
