// One rank of the store's test under mpirun.
//
//   store_ranks FOLDER RANKS_PER_HOST LINK     (0 and an empty text: neither)
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "comm/mpi_transport.hpp"

#include "suite.hpp"

int main(int argc, char** argv) {
    using namespace rudder;
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const comm::MpiSession session;
    try {
        comm::MpiOptions options;
        options.ranks_per_host = std::stoi(arguments.at(1));
        if (!arguments.at(2).empty()) options.link = comm::parse_link(arguments[2]);
        using store::Precision;
        using store::Shards;
        for (const store::StoreOptions& of_store :
             {store::StoreOptions{Precision::bfloat16, Shards::mapped},
              store::StoreOptions{Precision::bfloat16, Shards::shared},
              store::StoreOptions{Precision::int4, Shards::mapped},
              store::StoreOptions{Precision::int4, Shards::shared}}) {
            const comm::Communicator comm(comm::make_mpi_transport(options));
            test::PullPlan plan{.folder = arguments[0], .options = of_store, .pulls = 10};
            test::pull_and_check(comm, plan);
            comm.barrier();
            const bool last =
                of_store.precision == Precision::int4 && of_store.shards == Shards::shared;
            if (comm.rank() == 0 && last) fmt::print("store passed\n");
        }
    } catch (const std::exception& error) {
        fmt::print(stderr, "failed: {}\n", error.what());
        std::fflush(nullptr);
        std::_Exit(1);
    }
    return 0;
}
