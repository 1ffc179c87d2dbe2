#include "simulated_cluster.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"

#include "link_clock.hpp"
#include "window.hpp"

namespace rudder::comm {

namespace {

class SimulatedTransport;

}  // namespace

/// What the ranks of a cluster share: the clock, the network, the windows.
struct SimulatedCluster::State {
    explicit State(const SimulationOptions& with)
        : options(with),
          link(with.link),
          link_changes(with.link_changes),
          hosts(HostMap::consecutive(with.ranks, with.ranks_per_host)),
          out(static_cast<std::size_t>(with.ranks)),
          in(static_cast<std::size_t>(with.ranks)),
          last(static_cast<std::size_t>(with.ranks) * static_cast<std::size_t>(with.ranks)),
          dead(static_cast<std::size_t>(with.ranks)),
          executor(with.seed) {}

    /// A message on its way. It is delivered when it has arrived, and so have those before it of
    /// the same sender, receiver and tag.
    struct Letter {
        int from;
        int to;
        Tag tag;
        Kind kind;
        LinkClass which;
        Duration transfer;
        Duration late;  ///< by chance
        LinkStamp stamp{};
        std::vector<std::byte> bytes;
        std::shared_ptr<Operation> operation;  ///< of its sender
        bool here = false;
    };
    using LetterPointer = std::shared_ptr<Letter>;

    void post(const LetterPointer& letter) {
        const Duration now = executor.now();
        // Without a link nothing is passed: pairs keep their order.
        if (options.link.active()) line_of(*letter).push_back(letter);
        if (options.jitter > Duration::zero()) {
            letter->late = Duration(static_cast<Duration::rep>(
                executor.draw(static_cast<std::uint64_t>(options.jitter.count()) + 1)));
        }
        if (!options.link.active() || hosts.same(letter->from, letter->to)) {
            letter->which = LinkClass::first;
            arrive_at(now, letter);
            return letter->operation->complete();
        }
        letter->transfer = link.transfer(letter->bytes.size());
        letter->stamp = clock(out, letter->from).send(letter->which, now, letter->transfer);
        if (letter->which != LinkClass::first) return leave_later(letter);
        const Duration left(letter->stamp.left);
        arrive_at(enter(letter), letter);
        leave_at(left, letter);
    }

    /// A message that others may pass should have left.
    void leave(const LetterPointer& letter) {
        if (clock(out, letter->from).passed(letter->which, letter->stamp))
            return leave_later(letter);
        letter->operation->complete();
        const Duration arrival = enter(letter);
        executor.call_at(arrival, [this, letter] { end(letter); });
    }
    void leave_later(const LetterPointer& letter) {
        executor.call_at(Duration(letter->stamp.left), [this, letter] { leave(letter); });
    }
    /// Likewise at its receiver's end of the link.
    void end(const LetterPointer& letter) {
        if (!clock(in, letter->to).passed(letter->which, letter->stamp))
            return arrive_at(executor.now(), letter);
        executor.call_at(Duration(letter->stamp.left), [this, letter] { end(letter); });
    }

    void leave_at(Duration when, const LetterPointer& letter) {
        if (when <= executor.now()) {
            letter->operation->complete();
        } else {
            executor.call_at(when, [letter] { letter->operation->complete(); });
        }
    }

    /// When it will be whole at its receiver's end of the link, which has left this end; from there
    /// on its stamp is of that end.
    Duration enter(const LetterPointer& letter) {
        const Duration begins = Duration(letter->stamp.left) + link.delay - letter->transfer;
        letter->stamp = clock(in, letter->to).send(letter->which, begins, letter->transfer);
        return Duration(letter->stamp.left);
    }

    /// By chance later; but what cannot be passed keeps the order of its pair.
    void arrive_at(Duration when, const LetterPointer& letter) {
        when += letter->late;
        if (letter->which == LinkClass::first) {
            Duration& before = last[static_cast<std::size_t>(letter->from) *
                                        static_cast<std::size_t>(options.ranks) +
                                    static_cast<std::size_t>(letter->to)];
            before = when = std::max(when, before);
        }
        executor.call_at(when, [this, letter] { deliver(letter); });
    }
    void deliver(const LetterPointer& letter);
    /// The others hear of the end of a rank in a while; the first one counts.
    void tell_later(Error end);

    void hand_over(const Letter& letter);
    std::deque<LetterPointer>& line_of(const Letter& letter) {
        return lines[{letter.from, letter.to, letter.tag}];
    }

    static LinkClock& clock(std::vector<LinkClock>& of, int rank) {
        return of[static_cast<std::size_t>(rank)];
    }

    SimulationOptions options;
    LinkModel link;  ///< now
    LinkChanges link_changes;
    HostMap hosts;
    std::vector<std::shared_ptr<SimulatedTransport>> transports;
    std::vector<LinkClock> out;  ///< by rank, as are the next
    std::vector<LinkClock> in;
    std::vector<Duration> last;  ///< arrival of the last message of the first class, per pair
    std::map<std::tuple<int, int, Tag>, std::deque<LetterPointer>> lines;
    std::vector<bool> dead;
    std::exception_ptr failure;  ///< set when a death has been told
    std::map<std::pair<int, std::uint64_t>, std::shared_ptr<std::span<std::byte>>> windows;
    std::uint64_t messages = 0;
    SeededExecutor executor;  ///< ends first: its tasks and calls use the others
};

namespace {

class SimulatedTransport final : public Transport {
public:
    SimulatedTransport(SimulatedCluster::State& cluster, int rank)
        : Transport(rank, cluster.options.ranks), cluster_(cluster) {
        set_hosts(cluster.hosts);
        const LinkModel& link = cluster.options.link;
        set_link_figures(link.bytes_under_way(), link.bytes_per_second);
    }

    void wait(Operation& operation) override {
        const std::string what = operation.name().text();
        Monitor::Lock lock(monitor_);
        monitor_.wait(lock, what,
                      [&] { return operation.done() || failed() || cluster_.failure != nullptr; });
        if (operation.done()) return;
        check_failure();
        std::rethrow_exception(cluster_.failure);
    }
    void completed() override { monitor_.notify_all(); }
    void at_step(std::uint64_t step) override {
        if (const LinkModel* model = cluster_.link_changes.due(step)) cluster_.link = *model;
    }

    std::shared_ptr<std::span<std::byte>> share(std::size_t bytes, std::uint64_t key) override {
        auto& window = cluster_.windows[{hosts().host_of(rank()), key}];
        if (window == nullptr) window = private_window(bytes);
        RUDDER_CHECK(window->size() == bytes);
        return window;
    }

    void receive_from(int source, Tag tag, Kind kind, std::span<const std::byte> bytes) {
        inbox().deliver(source, tag, kind, bytes);
    }
    void forget() { inbox().forget(); }

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override {
        ++cluster_.messages;
        // The bytes are copied now, so the message has left as soon as the link says so.
        cluster_.post(std::make_shared<SimulatedCluster::State::Letter>(
            SimulatedCluster::State::Letter{.from = rank(),
                                            .to = to,
                                            .tag = tag,
                                            .kind = kind,
                                            .which = link_class(kind, bytes.size()),
                                            .transfer = {},
                                            .late = {},
                                            .bytes = {bytes.begin(), bytes.end()},
                                            .operation = std::move(operation)}));
    }

private:
    SimulatedCluster::State& cluster_;
    Monitor monitor_;
};

}  // namespace

void SimulatedCluster::State::hand_over(const Letter& letter) {
    const auto to = static_cast<std::size_t>(letter.to);
    if (!dead[to]) transports[to]->receive_from(letter.from, letter.tag, letter.kind, letter.bytes);
}

void SimulatedCluster::State::deliver(const LetterPointer& letter) {
    if (!options.link.active()) return hand_over(*letter);
    letter->here = true;
    auto& line = line_of(*letter);
    while (!line.empty() && line.front()->here) {
        const LetterPointer first = std::move(line.front());
        line.pop_front();
        hand_over(*first);
    }
}

void SimulatedCluster::State::tell_later(Error end) {
    executor.call_at(executor.now() + options.death_notice, [this, end = std::move(end)] {
        if (failure != nullptr) return;
        failure = std::make_exception_ptr(end);
        for (const auto& transport : transports)
            transport->completed();
    });
}

namespace {

/// What the others hear of a rank that an error has ended.
Error told_of(int rank, const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        if (error.rank()) return error;  // all gave up together
        return {error.kind(), fmt::format("rank {} failed: {}", rank, error.problem()),
                error.where(), error.remedy(), rank};
    } catch (const std::exception& error) {
        return {ErrorKind::failed, fmt::format("rank {} failed: {}", rank, error.what()),
                "simulation", "", rank};
    }
}

void plan_fault(SimulatedCluster::State& state, const SimulationOptions::Fault& fault) {
    state.executor.call_at(fault.at, [&state, fault] {
        if (fault.error) {
            return state.transports[static_cast<std::size_t>(fault.rank)]->fail(
                std::make_exception_ptr(*fault.error));
        }
        const bool dies = fault.length == no_deadline;
        state.executor.pause(fault.rank, dies ? no_deadline : fault.at + fault.length);
        if (!dies) return;
        state.dead[static_cast<std::size_t>(fault.rank)] = true;
        state.tell_later({ErrorKind::rank, fmt::format("rank {} died", fault.rank), "simulation",
                          "resume from the last checkpoint"});
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

/// Ranks that died leave receives behind, whose callbacks hold the transport that they wait in.
SimulatedCluster::~SimulatedCluster() {
    state_->executor.stop();
    for (const auto& transport : state_->transports)
        transport->forget();
}

void SimulatedCluster::run(const std::function<void(Communicator)>& program) {
    for (int rank = 0; rank < state_->options.ranks; ++rank) {
        const auto transport = state_->transports[static_cast<std::size_t>(rank)];
        state_->executor.spawn(
            "main",
            [program, transport, &state = *state_] {
                try {
                    program(Communicator(transport));
                } catch (const std::exception&) {
                    state.tell_later(told_of(transport->rank(), std::current_exception()));
                    throw;
                }
            },
            rank);
    }
    // Whatever ends the run, what is left of it goes before what the program refers to.
    struct Stopping {
        SeededExecutor& executor;
        ~Stopping() { executor.stop(); }
    } const stopping{state_->executor};
    state_->executor.run();
}

SeededExecutor& SimulatedCluster::executor() noexcept {
    return state_->executor;
}

const SimulationOptions& SimulatedCluster::options() const noexcept {
    return state_->options;
}

std::uint64_t SimulatedCluster::messages() const noexcept {
    return state_->messages;
}

}  // namespace rudder::comm
