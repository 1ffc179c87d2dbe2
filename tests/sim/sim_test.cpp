// Whole training runs on simulated ranks, machines and networks, under what goes wrong by a seed.
// Each ends with the bits of a run that nothing happened to, or with the right error; and what it
// has left behind goes on to those bits.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/executor/task_state.hpp"
#include "core/log.hpp"
#include "report/sink_runner.hpp"
#include "rudder/core/text.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/fixture.hpp"

#include "sim/scenario.hpp"
#include "support/counted_heap.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

const std::string planted = "planted: the disk of this rank is gone";
/// The others hear of a rank's end after a tenth of a second; whoever is paused then, later.
constexpr Duration noticed_within = 2s;

/// Counts the lines that sinks are handed, on their own task.
class CountingSink final : public report::MetricSink {
public:
    explicit CountingSink(std::uint64_t& lines) : lines_(lines) {}
    [[nodiscard]] std::string_view name() const noexcept override { return "counting"; }
    void steps(std::span<const train::StepRecord> steps) override { lines_ += steps.size(); }

private:
    std::uint64_t& lines_;
};

/// Hands everything to sinks, as a run of the program does.
class ToSinks final : public train::TrainObserver {
public:
    explicit ToSinks(std::uint64_t& lines) {
        std::vector<std::unique_ptr<report::MetricSink>> sinks;
        sinks.push_back(std::make_unique<CountingSink>(lines));
        sinks_.emplace(std::move(sinks));
    }
    void records(std::span<const train::StepRecord> records) override { sinks_->steps(records); }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        sinks_->decisions(decisions);
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t) override {
        sinks_->epoch(record);
    }

private:
    std::optional<report::SinkRunner> sinks_;
};

const partition::PartitionedDataset& data(int graph) {
    static const TempDir folder;
    static const std::array<partition::PartitionedDataset, 2> sets{
        make_parts(folder / "few", {.vertices = 120, .degree = 6, .width = 6, .parts = few_parts}),
        make_parts(folder / "many",
                   {.vertices = 192, .degree = 6, .width = 6, .parts = many_parts})};
    return sets[static_cast<std::size_t>(graph)];
}

/// What a run comes to that nothing happens to: on one rank, without a buffer or an agent.
std::uint64_t plain_digest(const Scenario& scenario) {
    static std::map<std::tuple<int, std::uint64_t>, std::uint64_t> known;
    const auto [found, fresh] = known.try_emplace({scenario.graph, scenario.options.seed});
    if (fresh) {
        train::TrainOptions options = scenario.options;
        options.policy = "none";
        options.steer.agent = "never";
        options.topology = train::TopologyChoice::replicated;
        found->second = train_alone(data(scenario.graph), options).result.digest;
    }
    return found->second;
}

/// One run of a scenario.
struct Ended {
    std::vector<Trained> ranks;  ///< none where an error ended it
    std::optional<Error> error;
    bool out_of_memory = false;
    Duration took{};
    std::uint64_t lines = 0;
};

Ended run_stretch(const Scenario& scenario, const std::filesystem::path& folder,
                  const std::vector<comm::SimulationOptions::Fault>& more,
                  std::uint64_t stop_after) {
    comm::SimulationOptions cluster = scenario.cluster;
    cluster.faults.insert(cluster.faults.end(), more.begin(), more.end());
    comm::SimulatedCluster machines(cluster);
    Ended ended;
    try {
        ended.ranks = stretch(data(scenario.graph), scenario.options, folder, machines, stop_after,
                              [&] { return std::make_unique<ToSinks>(ended.lines); });
    } catch (const Error& error) {
        ended.error = error;
    } catch (const std::bad_alloc&) {
        ended.out_of_memory = true;
    }
    ended.took = machines.executor().now();
    return ended;
}

void expect_whole(const Ended& ended, std::uint64_t digest) {
    ASSERT_FALSE(ended.error) << ended.error->what();
    ASSERT_FALSE(ended.out_of_memory);
    for (const Trained& rank : ended.ranks)
        EXPECT_EQ(rank.result.digest, digest);
    const train::TrainResult& result = ended.ranks.front().result;
    EXPECT_FALSE(result.interrupted);
    expect_closed(result);
    EXPECT_EQ(ended.lines, (result.steps - result.resumed_at) * ended.ranks.size());
}

/// A rank died when the others had all they needed of it: they end whole, and it has no result.
void expect_whole_but(const Ended& ended, int dead, std::uint64_t digest) {
    for (std::size_t rank = 0; rank < ended.ranks.size(); ++rank) {
        if (static_cast<int>(rank) == dead) continue;
        EXPECT_EQ(ended.ranks[rank].result.digest, digest) << rank;
    }
}

/// Nothing but whole checkpoints, of which the last is gone on from: to the same bits.
void expect_resumes(const Scenario& scenario, const std::filesystem::path& run,
                    std::uint64_t digest) {
    const auto checkpoints = train::list_checkpoints(run);
    if (checkpoints.empty()) return;
    for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints"))
        EXPECT_TRUE(entry.path().filename().string().front() != '.') << entry.path();
    for (const auto& checkpoint : checkpoints)
        EXPECT_NO_THROW(static_cast<void>(train::read_checkpoint(checkpoint)));
    expect_whole(run_stretch(scenario, run, {}, 0), digest);
}

void expect_named(const Scenario& scenario, const Error& error) {
    const std::string text = error.what();
    if (scenario.trouble == Trouble::memory) {
        EXPECT_NE(text.find("memory"), std::string::npos) << text;
    } else if (scenario.trouble == Trouble::death) {
        EXPECT_EQ(error.kind(), ErrorKind::rank) << text;
        EXPECT_NE(text.find(fmt::format("rank {} died", scenario.rank)), std::string::npos) << text;
    } else {
        EXPECT_EQ(error.kind(), scenario.kind) << text;
        EXPECT_NE(text.find(planted), std::string::npos) << text;
    }
}

/// The rank whose allocations are counted; what the simulation itself allocates is not.
int short_of_memory = -1;
bool is_short_of_memory() {
    const TaskState* task = TaskState::running();
    return task != nullptr && task->rank() == short_of_memory;
}

/// The same run, with an allocation of its rank that fails.
Ended run_short_of_memory(const Scenario& scenario, const std::filesystem::path& folder) {
    short_of_memory = scenario.rank;
    fail_allocation(0, is_short_of_memory);
    static_cast<void>(run_stretch(scenario, folder / "counted", {}, 0));
    const auto all = static_cast<double>(stop_failing());
    fail_allocation(1 + static_cast<std::uint64_t>(all * scenario.moment), is_short_of_memory);
    Ended ended = run_stretch(scenario, folder / "run", {}, 0);
    stop_failing();
    return ended;
}

/// Some file of the last checkpoint is damaged: it is refused by name, and those before it are
/// there to go on from.
void damage_last_checkpoint(const Scenario& scenario, const std::filesystem::path& run) {
    const auto checkpoints = train::list_checkpoints(run);
    if (checkpoints.empty()) return;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints.back()))
        files.push_back(entry.path());
    std::ranges::sort(files);
    const auto& file = files[scenario.seed % files.size()];
    const auto size = std::filesystem::file_size(file);
    const auto at = static_cast<std::uint64_t>(static_cast<double>(size - 1) * scenario.moment);
    if (scenario.seed % 2 == 0) {
        std::filesystem::resize_file(file, at);
    } else {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(at));
        const int byte = stream.get();
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put(static_cast<char>(byte ^ (1 << scenario.seed / 2 % 8)));
    }
    const Ended refused = run_stretch(scenario, run, {}, 0);
    ASSERT_TRUE(refused.error) << file << " at " << at;
    EXPECT_EQ(refused.error->kind(), ErrorKind::input) << refused.error->what();
    EXPECT_NE(std::string(refused.error->what()).find(checkpoints.back().filename().string()),
              std::string::npos)
        << refused.error->what();
    std::filesystem::remove_all(checkpoints.back());
}

/// What ends well in spite of its trouble has come to the digest; what did not has been named, and
/// what it left goes on to it.
void expect_end(const Scenario& scenario, const Ended& ended, const std::filesystem::path& run,
                std::uint64_t digest) {
    if (ended.error) {
        expect_named(scenario, *ended.error);
    } else if (scenario.trouble == Trouble::death) {
        expect_whole_but(ended, scenario.rank, digest);
    } else if (!ended.out_of_memory && !ended.ranks.front().result.interrupted) {
        return expect_whole(ended, digest);
    }
    if (scenario.trouble == Trouble::bits) damage_last_checkpoint(scenario, run);
    if (!testing::Test::HasFailure()) expect_resumes(scenario, run, digest);
}

void run_scenario(const Scenario& scenario) {
    const TempDir folder;
    const std::uint64_t digest = plain_digest(scenario);
    const Ended calm = run_stretch(scenario, folder / "calm", {}, 0);
    expect_whole(calm, digest);
    if (testing::Test::HasFailure() || scenario.trouble == Trouble::none) return;
    const std::filesystem::path run = folder / "run";
    if (scenario.trouble == Trouble::memory)
        return expect_end(scenario, run_short_of_memory(scenario, folder.path()), run, digest);
    const auto at = Duration(
        static_cast<Duration::rep>(static_cast<double>(calm.took.count()) * scenario.moment));
    std::vector<comm::SimulationOptions::Fault> faults;
    std::uint64_t stop_after = 0;
    if (scenario.trouble == Trouble::death) faults.push_back({.rank = scenario.rank, .at = at});
    if (scenario.trouble == Trouble::failure)
        faults.push_back({.rank = scenario.rank,
                          .at = at,
                          .error = Error(scenario.kind, planted, "simulation", "")});
    if (scenario.trouble == Trouble::interrupt || scenario.trouble == Trouble::bits) {
        const auto steps = static_cast<double>(calm.ranks.front().result.steps);
        stop_after = 1 + static_cast<std::uint64_t>(steps * scenario.moment);
    }
    if (scenario.trouble == Trouble::disk) {
        std::filesystem::create_directories(run);
        std::ofstream(run / "checkpoints") << "in the way";
    }
    const Ended ended = run_stretch(scenario, run, faults, stop_after);
    if (ended.error) {
        ASSERT_FALSE(faults.empty()) << ended.error->what();
        EXPECT_LT(ended.took, at + noticed_within);
    }
    expect_end(scenario, ended, run, digest);
}

/// The seed alone that is to be repeated, if any.
std::optional<std::uint64_t> seed_asked_for() {
    const char* text = std::getenv("RUDDER_SIM_SEED");
    return text == nullptr ? std::nullopt : parse_u64(text);
}

/// Of the seed under way; written ahead, since whoever says it may have no memory left.
std::string how_to_repeat;

void say_how_to_repeat() {
    static_cast<void>(!::write(STDERR_FILENO, how_to_repeat.data(), how_to_repeat.size()));
}

/// Also what ends the program says how to repeat it.
[[noreturn]] void end_with_seed() {
    say_how_to_repeat();
    std::abort();
}

/// The same of a wrong access, whatever stack it came on: a fiber's may be what is full.
[[maybe_unused]] void end_by_signal(int signal) {
    say_how_to_repeat();
    std::signal(signal, SIG_DFL);
    static_cast<void>(std::raise(signal));
}

void tell_of_every_end() {
    std::set_terminate(end_with_seed);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these say more
    static std::array<std::byte, 65536> stack;
    const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
    ::sigaltstack(&other, nullptr);
    struct sigaction action {};
    action.sa_handler = end_by_signal;
    action.sa_flags = SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE})
        ::sigaction(signal, &action, nullptr);
#endif
}

void run_seeds(std::uint64_t first, std::uint64_t count) {
    log::set_level(log::Level::off);
    tell_of_every_end();
    const auto asked = seed_asked_for();
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        if (asked && *asked != seed) continue;
        how_to_repeat =
            fmt::format("repeat it with: RUDDER_SIM_SEED={} test_sim --gtest_filter='{}.*'\n", seed,
                        testing::UnitTest::GetInstance()->current_test_suite()->name());
        const Scenario scenario = draw_scenario(seed);
        SCOPED_TRACE(scenario.text());
        if (asked) fmt::print(stderr, "{}\n", scenario.text());
        try {
            run_scenario(scenario);
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
        if (testing::Test::HasFailure()) {
            GTEST_FAIL() << how_to_repeat;
        }
    }
}

/// Of the many seeds of the long tests.
TEST(SimulatedSeeds, ThatOnceFailed) {
    run_seeds(4532, 1);  // memory ran out between the two lists of a step that was told of
}

class Simulation : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Simulation, FiftySeeds) {
    run_seeds(50 * GetParam(), 50);
}

INSTANTIATE_TEST_SUITE_P(Train, Simulation, testing::Range<std::uint64_t>(0, 4));

class LongSimulation : public testing::TestWithParam<std::uint64_t> {};

/// Five hundred seeds each; under a sanitizer, which takes ten times as long, fifty of them.
TEST_P(LongSimulation, ManySeeds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    run_seeds(500 * GetParam(), 50);
#else
    run_seeds(500 * GetParam(), 500);
#endif
}

INSTANTIATE_TEST_SUITE_P(LongTrain, LongSimulation, testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace rudder::test
