// One rank of the suite, under mpirun or over sockets: runs the programs it is told and prints what
// failed.
//
//   mpi_ranks suite [RANKS_PER_HOST [PIECE_BYTES [LINK]]]
//   mpi_ranks exchange FIRST LAST     random exchanges; rank 0 prints "SEED DIGEST" lines
//   mpi_ranks large [LINK]            one message of over 2 GiB
//   mpi_ranks abandon                 receives that are given up, into memory that is used again
//   mpi_ranks die RANK                that rank ends without a word; the others say what they see
//   mpi_ranks launch RANKS ...        starts so many ranks of the rest over sockets
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "comm/launcher.hpp"
#include "comm/mpi_transport.hpp"
#include "comm/rank_status.hpp"
#include "comm/socket_transport.hpp"
#include "comm/suite.hpp"
#include "core/executor/executor.hpp"
#include "rudder/core/array.hpp"

namespace {

using namespace rudder;

bool over_sockets() {
    return comm::launched_with() == comm::Carrier::sockets;
}

comm::Communicator join(const comm::MpiOptions& options) {
    if (!over_sockets()) return comm::Communicator(comm::make_mpi_transport(options));
    const char* seconds = std::getenv("RUDDER_TEST_PATIENCE");
    return comm::Communicator(comm::make_socket_transport(
        {.job = comm::socket_job(),
         .ranks_per_host = options.ranks_per_host,
         .link = options.link,
         .patience = std::chrono::seconds(seconds == nullptr ? 20 : std::stoi(seconds))}));
}

void run_suite(const std::vector<std::string>& arguments) {
    comm::MpiOptions options;
    if (!arguments.empty()) options.ranks_per_host = std::stoi(arguments[0]);
    if (arguments.size() > 1) options.piece_bytes = std::stoull(arguments[1]);
    if (arguments.size() > 2) options.link = comm::parse_link(arguments[2]);
    const comm::Communicator comm = join(options);
    for (const test::RankProgram& program : test::rank_programs()) {
        program.run(comm);
        comm.barrier();
        if (comm.rank() == 0) fmt::print("{} passed\n", program.name);
    }
}

void run_exchange(std::uint64_t first, std::uint64_t last) {
    const comm::Communicator comm = join({});
    for (std::uint64_t seed = first; seed < last; ++seed) {
        const std::uint64_t digest = test::random_exchange(comm, seed);
        if (comm.rank() == 0) fmt::print("{} {:x}\n", seed, digest);
    }
    comm.barrier();
}

void run_large(const std::vector<std::string>& arguments) {
    comm::MpiOptions options;
    if (!arguments.empty()) options.link = comm::parse_link(arguments[0]);
    const comm::Communicator comm = join(options);
    constexpr std::size_t size = (std::size_t{1} << 31) + 5;
    auto bytes = Array<std::uint8_t>::zeroed(size);
    if (comm.rank() == 0) {
        bytes[0] = 11;
        bytes[size - 1] = 77;
        comm.send(1, comm::user_channels, comm::Kind::features, std::as_const(bytes).span()).wait();
    } else {
        comm.receive(0, comm::user_channels, bytes.span()).wait();
        if (bytes[0] != 11 || bytes[size - 1] != 77) throw std::runtime_error("bytes differ");
        if (comm.accounts().received_total != size) throw std::runtime_error("wrong account");
        fmt::print("large passed\n");
    }
    comm.barrier();
}

/// Posts a receive and gives it up: its wait is cancelled, or nobody ever waits.
void give_up(const comm::Communicator& comm, std::span<std::byte> bytes, bool waiting) {
    std::atomic<bool> posted{false};
    Task task = Executor::current().spawn("gives up", [&] {
        auto request = comm.receive(0, comm::user_channels, bytes, comm::Kind::features);
        posted.store(true);
        if (waiting) request.wait();
    });
    while (!posted.load())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (waiting) task.cancel();
    task.join();
}

/// A receive that is given up leaves its memory alone, whenever its message comes; that is dropped,
/// and the next receive gets the next message.
void run_abandon() {
    const comm::Communicator comm = join({});
    for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, std::size_t{1} << 20}) {
        for (const bool waiting : {true, false}) {
            std::vector<std::byte> bytes(size, std::byte{1});
            const std::vector<std::byte> next(size, std::byte{2});
            if (comm.rank() == 0) {
                comm.barrier();  // the other has given up
                for (const auto* each : {&std::as_const(bytes), &next})
                    comm.send(1, comm::user_channels, comm::Kind::features, std::span(*each))
                        .wait();
            } else {
                give_up(comm, bytes, waiting);
                std::ranges::fill(bytes, std::byte{9});
                comm.barrier();
                const comm::Message message = comm.receive_message(0, comm::user_channels).take();
                if (message.bytes != next) throw std::runtime_error("not the next message");
                if (std::ranges::count(bytes, std::byte{9}) != static_cast<std::ptrdiff_t>(size))
                    throw std::runtime_error("memory that was given up has been written to");
            }
            comm.barrier();
        }
    }
    if (comm.rank() == 0) fmt::print("abandon passed\n");
}

/// The others wait for a message of that rank, and for one that they send it.
void run_die(int rank) {
    const comm::Communicator comm = join({});
    comm.barrier();
    if (comm.rank() == rank) std::_Exit(0);
    int value = 0;
    comm.receive(rank, comm::user_channels, std::span(&value, 1)).wait();
}

int launch(const std::vector<std::string>& arguments) {
    comm::LaunchOptions options{.ranks = std::stoi(arguments.at(0)),
                                .carrier = comm::Carrier::sockets,
                                .command = {"/proc/self/exe"}};
    options.command.insert(options.command.end(), arguments.begin() + 1, arguments.end());
    return comm::launch_ranks(options);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.at(0) == "launch") return launch({arguments.begin() + 1, arguments.end()});
    std::optional<comm::MpiSession> session;
    if (!over_sockets()) session.emplace();
    comm::write_rank_process(comm::launched_rank(), comm::RankStage::joined);
    try {
        const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
        if (arguments.at(0) == "suite") run_suite(rest);
        if (arguments[0] == "exchange")
            run_exchange(std::stoull(rest.at(0)), std::stoull(rest.at(1)));
        if (arguments[0] == "large") run_large(rest);
        if (arguments[0] == "abandon") run_abandon();
        if (arguments[0] == "die") run_die(std::stoi(rest.at(0)));
    } catch (const std::exception& error) {
        fmt::print(stderr, "failed: {}\n", error.what());
        comm::write_rank_status(1, error.what());
        std::fflush(nullptr);
        std::_Exit(1);
    }
    comm::write_rank_status(0, "");
    return 0;
}
