// A program of ranks that behaves badly on request, for tests of the watchdog and the launcher.
//
//   ranked_program [--ranks N] [--stuck-after S] MODE [RANK [SECONDS]]
//
// MODE: work (exchange for SECONDS), fail (RANK throws), bad (RANK throws an input error), exit
// (RANK vanishes), hang (RANK computes for ever), deadlock (all wait for each other), callback
// (what is called for a message of RANK's throws, on whatever thread), service (all ask RANK, whose
// service throws).
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/train_settings.hpp"
#include "comm/service.hpp"
#include "core/interrupt.hpp"
#include "core/span.hpp"
#include "rudder/core/error.hpp"
#include "rudder/run/ranks.hpp"

#if defined(__SANITIZE_THREAD__)
/// The sanitizer would sleep for a second at every exit, which the watchdog's tests time.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
    return "atexit_sleep_ms=0";
}
#endif

namespace {

using namespace rudder;
using Clock = std::chrono::steady_clock;

void misbehave(const std::string& mode) {
    if (mode == "fail") throw Error(ErrorKind::failed, "planted failure", "test", "none");
    if (mode == "bad") throw input_error("planted bad part", "part-00001", "none");
    if (mode == "exit") ::_exit(9);
    if (mode == "hang") {
        const Span span("planted computation");
        for (;;)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

/// Its callback throws while the rank computes: nobody waits who could be told.
void plant_callback(const comm::Communicator& comm, int rank) {
    const int from = (rank + 1) % comm.size();
    comm::Request planted;
    if (comm.rank() == rank) {
        planted = comm.receive_message(from, comm::user_channels);
        planted.then_message([](const std::exception_ptr&, comm::Message&) {
            throw Error(ErrorKind::failed, "planted failure of a callback", "test", "none");
        });
    }
    comm.barrier();
    const int word = 1;
    if (comm.rank() == from)
        comm.send(rank, comm::user_channels, comm::Kind::control, std::span(&word, 1)).wait();
    const Span span("planted computation");
    std::this_thread::sleep_for(std::chrono::seconds(60));
}

/// The rank itself waits for a message that never comes, so that it does not notice either.
void ask(const comm::Communicator& comm, int rank) {
    const comm::Service service(
        comm, comm::user_channels + 1, [](int, std::span<const std::byte>, comm::Service::Answer&) {
            fmt::print("failing at {}\n", Clock::now().time_since_epoch().count());
            std::fflush(stdout);
            throw input_error("planted in a service", "part-00001", "none");
        });
    comm.barrier();
    std::vector<std::byte> never(4);
    if (comm.rank() == rank) {
        comm.receive((rank + 1) % comm.size(), comm::user_channels, std::span(never)).wait();
    } else {
        service.ask(rank, comm::Kind::requests, std::vector<std::byte>(4), never).wait();
    }
}

int body(const comm::Communicator& comm, const std::string& mode, int rank, double seconds) {
    if (const char* folder = std::getenv("RUDDER_TEST_READY")) {
        std::ofstream(fmt::format("{}/ready-{}", folder, comm.rank())) << ::getpid();
    }
    if (comm.rank() == 0) {
        fmt::print("started\n");
        std::fflush(stdout);
    }
    if (mode == "callback") plant_callback(comm, rank);
    if (mode == "service") ask(comm, rank);
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    bool done = false;
    while (!done) {
        throw_if_interrupted();
        const Span span("planted work");
        if (comm.rank() == rank && mode != "work") {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            misbehave(mode);
        }
        if (mode == "deadlock") {
            std::vector<int> never(1);
            comm.receive((comm.rank() + 1) % comm.size(), comm::user_channels, std::span(never))
                .wait();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        done = comm.all_max(Clock::now() >= end ? 1 : 0) == 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    install_interrupt_handler();
    run::RankOptions options;
    CLI::App app;
    std::string mode;
    int rank = 0;
    double seconds = 1;
    cli::bind_ranks(app, options);
    app.add_option("MODE", mode)->required();
    app.add_option("RANK", rank);
    app.add_option("SECONDS", seconds);
    CLI11_PARSE(app, argc, argv);
    options.arguments.assign(argv + 1, argv + argc);
    try {
        return run::run_ranked(options, {{"mode", mode}}, [&](const comm::Communicator& comm) {
            return body(comm, mode, rank, seconds);
        });
    } catch (const Error& error) {
        fmt::print(stderr, "rudder: error: {}\n", error.what());
        return error.exit_code();
    }
}
