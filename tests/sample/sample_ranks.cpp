// One rank under mpirun: samples a partitioned data set and prints the digest.
//
//   sample_ranks FOLDER (replicated|partitioned) RANKS_PER_HOST TASKS
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "comm/mpi_transport.hpp"
#include "sample/suite.hpp"

int main(int argc, char** argv) {
    using namespace rudder;
    const comm::MpiSession session;
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        const partition::PartitionedDataset data(arguments.at(0));
        const comm::Communicator comm(
            comm::make_mpi_transport({.ranks_per_host = std::stoi(arguments.at(2)), .link = {}}));
        const std::string text = test::run_sampling(
            comm, data,
            {.partitioned = arguments.at(1) == "partitioned", .tasks = std::stoi(arguments.at(3))});
        if (comm.rank() == 0) fmt::print("{}\n", text);
        comm.barrier();
    } catch (const std::exception& error) {
        fmt::print(stderr, "failed: {}\n", error.what());
        std::fflush(nullptr);
        std::_Exit(1);
    }
    return 0;
}
