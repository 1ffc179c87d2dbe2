#include "sim/scenario.hpp"

#include <random>
#include <vector>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "steer/scripted_agent.hpp"
#include "train/fixture.hpp"

namespace rudder::test {

namespace {

using namespace std::chrono_literals;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
    bool one_in(std::uint64_t count) { return below(count) == 0; }
    template <class T>
    T of(const std::vector<T>& list) {
        return list[below(list.size())];
    }
    double fraction() { return static_cast<double>(below(1000)) / 1000; }
    Duration up_to(Duration most) {
        return Duration(
            static_cast<Duration::rep>(below(static_cast<std::uint64_t>(most.count()) + 1)));
    }

private:
    std::mt19937_64 engine_;
};

/// Agents of the program, and some at fault: silent, late, throwing, senseless.
std::string draw_agent(Dice& dice) {
    if (!dice.one_in(2)) return dice.of<std::string>({"never", "every:3", "random:0.5", "bandit"});
    std::vector<Fault> ways = faults();
    ways.push_back({"changes its mind every other time", [](const steer::Observation& seen) {
                        const auto action = seen.sequence % 4 < 2
                                                ? steer::Action::replace(steer::Reason::none)
                                                : steer::Action::keep(steer::Reason::none);
                        return answer(action);
                    }});
    ways.push_back({"now and then too late", [](const steer::Observation& seen) {
                        Executor::current().sleep_for(seen.step % 3 * 7ms);
                        return answer(steer::Action::replace(steer::Reason::none));
                    }});
    return scripted("scripted", dice.of(ways).script);
}

void draw_options(Dice& dice, Scenario& scenario) {
    train::TrainOptions& options = scenario.options;
    options = small_options();
    options.hidden = 8;
    options.batch = 2;
    options.epochs = 3;
    options.seed = 1 + dice.below(2);
    options.eval = dice.of<std::string>({"exact", "sampled"});
    options.eval_every = static_cast<std::uint32_t>(dice.below(3));
    options.topology =
        dice.one_in(2) ? train::TopologyChoice::partitioned : train::TopologyChoice::replicated;
    options.in_flight = 1 + dice.below(3);
    options.sample_tasks = 1 + static_cast<int>(dice.below(2));
    options.policy = dice.of<std::string>({"none", "lru", "static-degree", "scored", "window:1",
                                           "window:4", "window", "periodic,delta:2"});
    options.buffer = dice.of<double>({0.02, 0.25, 1.0});
    options.buffer_scope = dice.one_in(2) ? buffer::BufferScope::host : buffer::BufferScope::rank;
    // Who decides when to replace, and a policy that does so by itself, do not go together.
    options.steer.agent = options.policy.starts_with("periodic") ? "never" : draw_agent(dice);
    options.steer.deadline = 0.01;
    options.steer.mode = dice.one_in(4) ? steer::AgentMode::sync : steer::AgentMode::async;
}

void draw_cluster(Dice& dice, Scenario& scenario) {
    comm::SimulationOptions& cluster = scenario.cluster;
    cluster.seed = scenario.seed;
    cluster.ranks = scenario.graph == 0 ? dice.of<int>({2, 3, 4, 6}) : dice.of<int>({8, 16});
    cluster.ranks_per_host = 1 + static_cast<int>(dice.below(4));
    cluster.jitter = 1us + dice.up_to(2ms);
    if (dice.one_in(2)) {
        cluster.link = {.delay = dice.up_to(1ms),
                        .bytes_per_second = dice.of<double>({2e5, 5e6, 125e6})};
    }
    for (std::uint64_t pauses = dice.below(3); pauses > 0; --pauses) {
        cluster.faults.push_back(
            {.rank = static_cast<int>(dice.below(static_cast<std::uint64_t>(cluster.ranks))),
             .at = dice.up_to(100ms),
             .length = 1us + dice.up_to(50ms)});
    }
}

void draw_rest(Dice& dice, Scenario& scenario) {
    scenario.sinks = true;
    scenario.every_epochs = dice.of<std::uint32_t>({1, 1, 1, 2, 3, 0});
    scenario.disk_fills = dice.one_in(2);
    scenario.part_damaged = dice.one_in(2);
    scenario.short_reads = dice.one_in(4);
    if (dice.one_in(3) && built_in("Zstandard")) scenario.options.coding = "auto";
    scenario.options.steer.replies_twice = dice.one_in(3);
    comm::SimulationOptions& cluster = scenario.cluster;
    if (!cluster.link.active()) return;
    std::uint64_t step = 0;
    for (std::uint64_t changes = dice.below(3); changes > 0; --changes) {
        step += 1 + dice.below(6);
        cluster.link_changes.push_back(
            {.step = step,
             .model = {.delay = dice.up_to(1ms),
                       .bytes_per_second = dice.of<double>({2e5, 5e6, 125e6})}});
    }
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed, Drawn drawn) {
    Dice dice(seed);
    Scenario scenario;
    scenario.seed = seed;
    scenario.graph = dice.one_in(5) ? 1 : 0;
    draw_options(dice, scenario);
    draw_cluster(dice, scenario);
    scenario.trouble = dice.of<Trouble>({Trouble::none, Trouble::death, Trouble::death,
                                         Trouble::failure, Trouble::interrupt, Trouble::disk,
                                         Trouble::memory, Trouble::memory, Trouble::bits});
    scenario.rank =
        static_cast<int>(dice.below(static_cast<std::uint64_t>(scenario.cluster.ranks)));
    scenario.moment = dice.fraction();
    scenario.kind = dice.of<ErrorKind>({ErrorKind::failed, ErrorKind::input});
    Dice rest(~seed);
    if (drawn == Drawn::all) draw_rest(rest, scenario);
    return scenario;
}

std::string Scenario::text() const {
    static const std::vector<std::string> troubles{"none", "death",  "failure", "interrupt",
                                                   "disk", "memory", "bits"};
    return fmt::format(
        "seed {}: {} ranks, {} a host, {}, agent {}{}, policy {}, coding {}, a checkpoint each {} "
        "epochs, {} changes of the link{}, trouble {}{} of rank {} at {:.0f} %",
        seed, cluster.ranks, cluster.ranks_per_host,
        options.topology == train::TopologyChoice::partitioned ? "partitioned" : "replicated",
        options.steer.agent, options.steer.replies_twice ? " twice" : "", options.policy,
        options.coding, every_epochs, cluster.link_changes.size(),
        short_reads ? ", short reads" : "", troubles[static_cast<std::size_t>(trouble)],
        trouble == Trouble::disk && disk_fills     ? " that fills"
        : trouble == Trouble::bits && part_damaged ? " of a part"
                                                   : "",
        rank, moment * 100);
}

}  // namespace rudder::test
