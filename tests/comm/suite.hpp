// One suite of programs for ranks, run against all bodies of the communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/reduction.hpp"
#include "rudder/comm/communicator.hpp"

namespace rudder::test {

/// A program that every rank runs. It throws (std::runtime_error) where something is not as
/// promised, so that it can run where GoogleTest does not: in ranks under mpirun.
struct RankProgram {
    std::string name;
    std::function<void(const comm::Communicator&)> run;
};

/// Throws unless it holds.
inline void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

/// All programs of the suite.
[[nodiscard]] const std::vector<RankProgram>& rank_programs();

/// A random program of sends, receives and collectives drawn from the seed; the same digest of all
/// received bytes comes out in every body.
[[nodiscard]] std::uint64_t random_exchange(const comm::Communicator& comm, std::uint64_t seed);

/// The random contributions of a reduction, and the sum they must give bit for bit.
[[nodiscard]] std::vector<float> contribution(std::uint64_t seed, std::uint32_t index,
                                              std::size_t size);
[[nodiscard]] std::vector<float> ordered_sum(std::uint64_t seed, std::uint32_t count,
                                             std::size_t size, comm::SumPrecision precision = {});
/// Reduces `count` contributions spread over the ranks as the seed says, and compares.
void check_reduction(const comm::Communicator& comm, std::uint64_t seed, std::uint32_t count,
                     std::size_t size, comm::SumPrecision precision = {});

}  // namespace rudder::test
