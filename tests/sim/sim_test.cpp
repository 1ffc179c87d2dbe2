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
#include "core/json.hpp"
#include "core/log.hpp"
#include "rudder/core/text.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/fixture.hpp"

#include "sim/faulty_disk.hpp"
#include "sim/scenario.hpp"
#include "sim/to_sinks.hpp"
#include "support/counted_heap.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

const std::string planted = "planted: the disk of this rank is gone";
/// The others hear of a rank's end after a tenth of a second; whoever is paused then, later.
constexpr Duration noticed_within = 2s;

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
    std::filesystem::path folder;
};

/// What befalls one.
struct Mishap {
    std::vector<comm::SimulationOptions::Fault> faults{};
    std::uint64_t stop_after = 0;  ///< steps; 0: never
};

Ended run_stretch(const Scenario& scenario, const partition::PartitionedDataset& parts,
                  const std::filesystem::path& folder, const Mishap& mishap = {}) {
    comm::SimulationOptions cluster = scenario.cluster;
    cluster.faults.insert(cluster.faults.end(), mishap.faults.begin(), mishap.faults.end());
    comm::SimulatedCluster machines(cluster);
    Ended ended;
    ended.folder = folder;
    std::optional<ShortReads> reads;
    if (scenario.short_reads) reads.emplace();
    const auto observer = [&] {
        return std::make_unique<ToSinks>(ended.lines,
                                         scenario.sinks ? std::optional(folder) : std::nullopt);
    };
    try {
        ended.ranks = stretch(parts, scenario.options, folder, machines, mishap.stop_after,
                              observer, scenario.every_epochs);
    } catch (const Error& error) {
        ended.error = error;
    } catch (const std::bad_alloc&) {
        ended.out_of_memory = true;
    }
    ended.took = machines.executor().now();
    return ended;
}

Ended run_stretch(const Scenario& scenario, const std::filesystem::path& folder,
                  const Mishap& mishap = {}) {
    return run_stretch(scenario, data(scenario.graph), folder, mishap);
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

/// metrics.jsonl has a line of every step and rank, in order, however often the run was cut.
void expect_all_lines(const Ended& ended) {
    std::ifstream in(ended.folder / "metrics.jsonl");
    std::uint64_t lines = 0;
    for (std::string text; std::getline(in, text); ++lines) {
        const Json line = Json::parse(text, nullptr, false);
        ASSERT_TRUE(line.is_object()) << text;
        ASSERT_EQ(line.at("step"), lines / ended.ranks.size()) << text;
        ASSERT_EQ(line.at("rank"), lines % ended.ranks.size()) << text;
    }
    EXPECT_EQ(lines, ended.ranks.front().result.steps * ended.ranks.size());
}

/// What a run has open besides: nothing, once it has ended.
std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Nothing that is half written, whoever died or had no room left.
void expect_nothing_half_written(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return;  // it ended before anything was written
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
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
    for (const auto& checkpoint : checkpoints)
        EXPECT_NO_THROW(static_cast<void>(train::read_checkpoint(checkpoint)));
    const Ended resumed = run_stretch(scenario, run);
    expect_whole(resumed, digest);
    // Where memory or room ran out, so may have that of a sink, which ends with a warning.
    const bool told = scenario.trouble != Trouble::memory && scenario.trouble != Trouble::disk;
    if (scenario.sinks && told && !testing::Test::HasFailure()) expect_all_lines(resumed);
}

/// An interrupt is answered with a checkpoint of the last step that was done.
void expect_checkpoint(const Ended& interrupted) {
    const auto left = train::list_checkpoints(interrupted.folder);
    ASSERT_FALSE(left.empty());
    EXPECT_EQ(train::checkpoint_step(left.back()), interrupted.ranks.front().result.steps);
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
    static_cast<void>(run_stretch(scenario, folder / "counted"));
    const auto all = static_cast<double>(stop_failing());
    fail_allocation(1 + static_cast<std::uint64_t>(all * scenario.moment), is_short_of_memory);
    Ended ended = run_stretch(scenario, folder / "run");
    stop_failing();
    return ended;
}

/// The same run, on a disk that is full at some moment: no checkpoint that was there is lost, and
/// training goes on.
void run_on_filling_disk(const Scenario& scenario, const std::filesystem::path& run,
                         std::uint64_t needed, std::uint64_t digest) {
    constexpr std::uint64_t to_begin = 4096;  // what sinks write before the first step
    const std::uint64_t room =
        to_begin + static_cast<std::uint64_t>(static_cast<double>(needed) * scenario.moment);
    Ended ended;
    {
        const FillingDisk disk(run, room);
        ended = run_stretch(scenario, run);
        // Lines say seconds, so that the sizes of two runs differ a little.
        if (room < needed / 2) {
            EXPECT_TRUE(FillingDisk::full()) << room << " of " << needed;
        }
    }
    expect_whole(ended, digest);
    expect_nothing_half_written(run);
    if (!testing::Test::HasFailure()) expect_resumes(scenario, run, digest);
}

/// Damages some file of a folder: a bit is flipped, or the end is missing.
std::filesystem::path damage_one_of(const std::filesystem::path& folder, const Scenario& scenario) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
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
    return file;
}

/// A part that is damaged is refused, by its folder's name; unless nothing that matters is.
void run_on_damaged_part(const Scenario& scenario, const std::filesystem::path& folder,
                         std::uint64_t digest) {
    const std::filesystem::path parts = folder / "parts";
    std::filesystem::copy(data(scenario.graph).folder().path(), parts,
                          std::filesystem::copy_options::recursive);
    const auto count = data(scenario.graph).parts();
    const std::string part = fmt::format("part-{:05}", scenario.seed % count);
    const auto file = damage_one_of(parts / part, scenario);
    SCOPED_TRACE(file);
    const partition::PartitionedDataset damaged(parts);
    const Ended ended = run_stretch(scenario, damaged, folder / "run");
    if (!ended.error) return expect_whole(ended, digest);
    EXPECT_EQ(ended.error->kind(), ErrorKind::input) << ended.error->what();
    EXPECT_NE(std::string(ended.error->what()).find(part), std::string::npos)
        << ended.error->what();
    EXPECT_TRUE(train::list_checkpoints(folder / "run").empty()) << "nothing was trained";
}

/// Some file of the last checkpoint is damaged: it is refused by name, and those before it are
/// there to go on from.
void damage_last_checkpoint(const Scenario& scenario, const std::filesystem::path& run) {
    const auto checkpoints = train::list_checkpoints(run);
    const auto file = damage_one_of(checkpoints.back(), scenario);
    const Ended refused = run_stretch(scenario, run);
    ASSERT_TRUE(refused.error) << file;
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
    } else if (!ended.out_of_memory) {
        expect_checkpoint(ended);
        if (testing::Test::HasFailure()) return;
    }
    expect_nothing_half_written(run);
    if (scenario.trouble == Trouble::bits) damage_last_checkpoint(scenario, run);
    if (!testing::Test::HasFailure()) expect_resumes(scenario, run, digest);
}

/// What befalls the run of a scenario in whose calm run so much time passed, by so many steps.
Mishap mishap_of(const Scenario& scenario, Duration at, std::uint64_t steps) {
    Mishap mishap;
    if (scenario.trouble == Trouble::death)
        mishap.faults.push_back({.rank = scenario.rank, .at = at});
    if (scenario.trouble == Trouble::failure)
        mishap.faults.push_back({.rank = scenario.rank,
                                 .at = at,
                                 .error = Error(scenario.kind, planted, "simulation", "")});
    if (scenario.trouble == Trouble::interrupt || scenario.trouble == Trouble::bits)
        mishap.stop_after =
            1 + static_cast<std::uint64_t>(static_cast<double>(steps) * scenario.moment);
    return mishap;
}

void run_in_trouble(const Scenario& scenario, const TempDir& folder, const Ended& calm,
                    std::uint64_t digest) {
    const std::filesystem::path run = folder / "run";
    if (scenario.trouble == Trouble::memory)
        return expect_end(scenario, run_short_of_memory(scenario, folder.path()), run, digest);
    if (scenario.trouble == Trouble::bits && scenario.part_damaged)
        return run_on_damaged_part(scenario, folder.path(), digest);
    const auto at = Duration(
        static_cast<Duration::rep>(static_cast<double>(calm.took.count()) * scenario.moment));
    const Mishap mishap = mishap_of(scenario, at, calm.ranks.front().result.steps);
    if (scenario.trouble == Trouble::disk) {
        std::filesystem::create_directories(run);
        std::ofstream(run / "checkpoints") << "in the way";
    }
    const Ended ended = run_stretch(scenario, run, mishap);
    if (ended.error) {
        ASSERT_FALSE(mishap.faults.empty()) << ended.error->what();
        EXPECT_LT(ended.took, at + noticed_within);
    }
    expect_end(scenario, ended, run, digest);
}

void run_scenario(const Scenario& scenario) {
    const TempDir folder;
    const std::uint64_t digest = plain_digest(scenario);
    const std::size_t open = open_descriptors();
    std::optional<FillingDisk> counted;
    const bool fills = scenario.trouble == Trouble::disk && scenario.disk_fills;
    if (fills) counted.emplace(folder / "calm");
    const Ended calm = run_stretch(scenario, folder / "calm");
    const std::uint64_t written = fills ? FillingDisk::written() : 0;
    counted.reset();
    expect_whole(calm, digest);
    if (scenario.sinks && !testing::Test::HasFailure()) expect_all_lines(calm);
    if (testing::Test::HasFailure()) return;
    if (fills) {
        run_on_filling_disk(scenario, folder / "run", written, digest);
    } else if (scenario.trouble != Trouble::none) {
        run_in_trouble(scenario, folder, calm, digest);
    }
    expect_nothing_half_written(folder.path());
    EXPECT_EQ(open_descriptors(), open);
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

void run_seeds(std::uint64_t first, std::uint64_t count, Drawn drawn = Drawn::all) {
    log::set_level(log::Level::off);
    tell_of_every_end();
    const auto asked = seed_asked_for();
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        if (asked && *asked != seed) continue;
        how_to_repeat =
            fmt::format("repeat it with: RUDDER_SIM_SEED={} test_sim --gtest_filter='{}.*'\n", seed,
                        testing::UnitTest::GetInstance()->current_test_suite()->name());
        const Scenario scenario = draw_scenario(seed, drawn);
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
    // Memory ran out between the two lists of a step that was told of.
    run_seeds(4532, 1, Drawn::first);
    // Memory ran out while rows under way were given back.
    run_seeds(2834, 1, Drawn::first);
}

class Simulation : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Simulation, FiftySeeds) {
    run_seeds(50 * GetParam(), 50);
}

INSTANTIATE_TEST_SUITE_P(Train, Simulation, testing::Range<std::uint64_t>(0, 4));

class LongSimulation : public testing::TestWithParam<std::uint64_t> {};

/// Five hundred seeds each; under a sanitizer, which takes ten times as long, fifty of them unless
/// RUDDER_SIM_ALL asks for all.
TEST_P(LongSimulation, ManySeeds) {
    std::uint64_t seeds = 500;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (std::getenv("RUDDER_SIM_ALL") == nullptr && !seed_asked_for()) seeds = 50;
#endif
    run_seeds(500 * GetParam(), seeds);
}

INSTANTIATE_TEST_SUITE_P(LongTrain, LongSimulation, testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace rudder::test
