#include "simulated_cluster.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"

#include "window.hpp"

namespace rudder::comm {

namespace {

class SimulatedTransport;

}  // namespace

/// What the ranks of a cluster share: the clock, the network, the windows.
struct SimulatedCluster::State {
    explicit State(const SimulationOptions& with)
        : options(with),
          executor(with.seed),
          hosts(HostMap::consecutive(with.ranks, with.ranks_per_host)),
          out_free(static_cast<std::size_t>(with.ranks)),
          in_free(static_cast<std::size_t>(with.ranks)),
          last(static_cast<std::size_t>(with.ranks) * static_cast<std::size_t>(with.ranks)),
          dead(static_cast<std::size_t>(with.ranks)) {}

    /// When a message handed in now leaves, and when it arrives.
    struct Times {
        Duration left;
        Duration arrived;
    };
    Times schedule(int from, int to, std::size_t bytes) {
        const Duration now = executor.now();
        Duration& sender = out_free[static_cast<std::size_t>(from)];
        Duration& receiver = in_free[static_cast<std::size_t>(to)];
        Duration& before =
            last[static_cast<std::size_t>(from) * static_cast<std::size_t>(options.ranks) +
                 static_cast<std::size_t>(to)];
        Times times{now, now};
        if (options.link.active() && !hosts.same(from, to)) {
            const Duration transfer = options.link.transfer(bytes);
            sender = std::max(now, sender) + transfer;
            receiver = std::max(sender + options.link.delay, receiver + transfer);
            times = {sender, receiver};
        }
        if (options.jitter > Duration::zero()) {
            times.arrived += Duration(static_cast<Duration::rep>(
                executor.draw(static_cast<std::uint64_t>(options.jitter.count()) + 1)));
        }
        before = times.arrived = std::max(times.arrived, before);
        return times;
    }

    SimulationOptions options;
    SeededExecutor executor;
    HostMap hosts;
    std::vector<std::shared_ptr<SimulatedTransport>> transports;
    std::vector<Duration> out_free;
    std::vector<Duration> in_free;
    std::vector<Duration> last;  ///< arrival of the last message, per pair
    std::vector<bool> dead;
    std::exception_ptr failure;  ///< set when a death has been told
    std::map<std::pair<int, std::uint64_t>, std::shared_ptr<std::span<std::byte>>> windows;
    std::uint64_t messages = 0;
};

namespace {

class SimulatedTransport final : public Transport {
public:
    SimulatedTransport(SimulatedCluster::State& cluster, int rank)
        : Transport(rank, cluster.options.ranks), cluster_(cluster) {
        set_hosts(cluster.hosts);
    }

    void wait(Operation& operation) override {
        const std::string what = operation.name().text();
        Monitor::Lock lock(monitor_);
        monitor_.wait(lock, what, [&] { return operation.done() || cluster_.failure != nullptr; });
        if (!operation.done()) std::rethrow_exception(cluster_.failure);
    }
    void completed() override { monitor_.notify_all(); }

    std::shared_ptr<std::span<std::byte>> share(std::size_t bytes, std::uint64_t key) override {
        auto& window = cluster_.windows[{hosts().host_of(rank()), key}];
        if (window == nullptr) window = private_window(bytes);
        RUDDER_CHECK(window->size() == bytes);
        return window;
    }

    void receive_from(int source, Tag tag, Kind kind, std::span<const std::byte> bytes) {
        inbox().deliver(source, tag, kind, bytes);
    }

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override {
        ++cluster_.messages;
        const auto times = cluster_.schedule(rank(), to, bytes.size());
        // The bytes are copied now, so the message has left as soon as the link says so.
        auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
        cluster_.executor.call_at(
            times.arrived, [this, to, tag, kind, copy, peer = cluster_.transports[index(to)]] {
                if (!cluster_.dead[index(to)]) peer->receive_from(rank(), tag, kind, *copy);
            });
        if (times.left <= cluster_.executor.now()) {
            operation->complete();
        } else {
            cluster_.executor.call_at(times.left, [operation] { operation->complete(); });
        }
    }

private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    SimulatedCluster::State& cluster_;
    Monitor monitor_;
};

void plan_fault(SimulatedCluster::State& state, const SimulationOptions::Fault& fault) {
    state.executor.call_at(fault.at, [&state, fault] {
        const bool dies = fault.length == no_deadline;
        state.executor.pause(fault.rank, dies ? no_deadline : fault.at + fault.length);
        if (!dies) return;
        state.dead[static_cast<std::size_t>(fault.rank)] = true;
        state.executor.call_at(fault.at + state.options.death_notice, [&state, fault] {
            if (state.failure != nullptr) return;
            state.failure = std::make_exception_ptr(
                Error(ErrorKind::rank, fmt::format("rank {} died", fault.rank), "simulation",
                      "resume from the last checkpoint"));
            for (const auto& transport : state.transports)
                transport->completed();
        });
    });
}

}  // namespace

SimulatedCluster::SimulatedCluster(const SimulationOptions& options)
    : state_(std::make_shared<State>(options)) {
    RUDDER_CHECK(options.ranks > 0 && options.ranks_per_host > 0);
    for (int rank = 0; rank < options.ranks; ++rank) {
        state_->transports.push_back(std::make_shared<SimulatedTransport>(*state_, rank));
    }
    for (const auto& fault : options.faults)
        plan_fault(*state_, fault);
}

SimulatedCluster::~SimulatedCluster() = default;

void SimulatedCluster::run(const std::function<void(Communicator)>& program) {
    for (int rank = 0; rank < state_->options.ranks; ++rank) {
        const auto transport = state_->transports[static_cast<std::size_t>(rank)];
        state_->executor.spawn(
            "main", [program, transport] { program(Communicator(transport)); }, rank);
    }
    state_->executor.run();
}

SeededExecutor& SimulatedCluster::executor() noexcept {
    return state_->executor;
}

std::uint64_t SimulatedCluster::messages() const noexcept {
    return state_->messages;
}

}  // namespace rudder::comm
