// Checkpoints as files: any one there and back, which of them stay, and how often they are due.
#include <bit>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "core/packed.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/random.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"
#include "train/checkpoints/digest.hpp"
#include "train/checkpoints/options_json.hpp"
#include "train/made_checkpoint.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(CheckpointFiles, ComeBackBitForBit) {
    const TempDir folder;
    for (std::uint64_t step = 1; step < 12; ++step) {
        const train::Checkpoint sent = made_checkpoint(step);
        const fs::path path = train::write_checkpoint(folder.path(), sent);
        EXPECT_EQ(path, train::checkpoint_folder(folder.path(), step));
        const train::Checkpoint back = train::read_checkpoint(path);
        EXPECT_EQ(packed(back.state), packed(sent.state));
        EXPECT_EQ(back.weights, sent.weights);
        EXPECT_EQ(back.under_evaluation, sent.under_evaluation);
        EXPECT_EQ(back.optimiser_steps, sent.optimiser_steps);
        ASSERT_EQ(back.memory.size(), 2U);
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(back.memory[i].name, sent.memory[i].name);
            EXPECT_EQ(back.memory[i].values, sent.memory[i].values);
            EXPECT_EQ(back.parameters[i].name, sent.parameters[i].name);
            EXPECT_EQ(back.parameters[i].shape, sent.parameters[i].shape);
            EXPECT_EQ(back.parameters[i].offset, sent.parameters[i].offset);
            EXPECT_EQ(back.parameters[i].size, sent.parameters[i].size);
        }
        EXPECT_EQ(train::network_json(back.identity.network),
                  train::network_json(sent.identity.network));
        EXPECT_EQ(train::training_json(back.identity.train),
                  train::training_json(sent.identity.train));
        EXPECT_EQ(back.identity.data, sent.identity.data);
        EXPECT_EQ(back.identity.trained_on, sent.identity.trained_on);
        EXPECT_NO_THROW(train::check_same_run(back.identity, sent.identity, "here"));
    }
}

/// Whoever made the run does not choose which other files are read.
TEST(CheckpointFiles, LinksLeadNowhereOutside) {
    const TempDir folder;
    const fs::path run = folder / "run";
    const fs::path made = train::write_checkpoint(run, made_checkpoint(3));
    fs::create_directory_symlink(run, folder / "alias");
    EXPECT_EQ(train::load_network(folder / "alias").step, 3U) << "the run itself may be anywhere";
    for (const char* name : {"state.json", "weights.safetensors", "optimiser.safetensors"}) {
        fs::rename(made / name, made / "aside");
        fs::create_symlink("aside", made / name);
        EXPECT_NO_THROW(static_cast<void>(train::read_checkpoint(made))) << name << " stays inside";
        fs::rename(made / "aside", folder / "outside");
        for (const fs::path& target : {fs::path("../../../outside"), folder / "outside"}) {
            fs::remove(made / name);
            fs::create_symlink(target, made / name);
            const Refusal refusal =
                refusal_of([&] { static_cast<void>(train::read_checkpoint(made)); });
            EXPECT_EQ(refusal.kind, ErrorKind::input);
            EXPECT_THAT(refusal.problem, HasSubstr("symbolic link leads out")) << target;
            EXPECT_EQ(refusal.where, (made / name).string());
            EXPECT_THROW(static_cast<void>(train::read_run_state(made)), Error);
        }
        fs::remove(made / name);
        fs::rename(folder / "outside", made / name);
    }
    train::mark_best(run, made);
    fs::rename(run / "checkpoints/best.json", folder / "best.json");
    fs::create_symlink(folder / "best.json", run / "checkpoints/best.json");
    EXPECT_THAT(refusal_of([&] { static_cast<void>(train::load_network(run)); }).problem,
                HasSubstr("symbolic link leads out"));
    fs::remove(run / "checkpoints/best.json");
    // A checkpoint as a whole is no link, either.
    fs::rename(made, folder / "elsewhere");
    fs::create_directory_symlink(folder / "elsewhere", made);
    EXPECT_THAT(refusal_of([&] { static_cast<void>(train::load_network(run)); }).problem,
                HasSubstr("symbolic link leads out"));
    EXPECT_EQ(train::load_network(folder / "elsewhere").step, 3U);
}

/// What a network reads of edges and what its samples would carry come from different fields.
TEST(CheckpointFiles, FeaturesOfEdgesContradictNothing) {
    const TempDir folder;
    struct Way {
        std::uint64_t inputs;
        bool asked;
        const char* model;
        nn::Objective objective;
        const char* problem;  ///< nothing: it is read
    };
    constexpr auto classes = nn::Objective::classes;
    for (const Way& way :
         {Way{0, false, "sage", classes, ""}, Way{4, true, "sage", classes, ""},
          Way{4, true, "gatv2", classes, ""},
          Way{4, false, "sage", classes, "reads 4 columns of them, and was trained without"},
          Way{0, true, "sage", classes, "reads 0 columns of them, and was trained with --edge"},
          Way{4, true, "gcn", classes, "invalid features of edges of a network"},
          Way{4, true, "sage", nn::Objective::links, "invalid features of edges of a network"}}) {
        SCOPED_TRACE(fmt::format("{} columns, {}, {}", way.inputs, way.asked, way.model));
        train::Checkpoint c = made_checkpoint(3);
        c.identity.network.edge_inputs = way.inputs;
        c.identity.network.model = way.model;
        c.identity.network.objective = way.objective;
        if (way.objective == nn::Objective::links) {
            c.identity.network.outputs = 1;
            c.identity.network.pairs.emplace();
        }
        c.identity.train.edge_features = way.asked;
        const fs::path path = train::write_checkpoint(folder.path(), c);
        const auto read = [&] { return train::read_checkpoint(path); };
        if (*way.problem == '\0') {
            EXPECT_EQ(read().identity.network.edge_inputs, way.inputs);
            continue;
        }
        const Refusal refusal = refusal_of([&] { static_cast<void>(read()); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_THAT(refusal.problem, HasSubstr(way.problem));
        EXPECT_EQ(refusal.where, (path / "state.json").string());
    }
}

// What was not counted then is nothing; all else is as it was.
TEST(CheckpointFiles, ThoseOfVersionsThatDidNotCountTiesAreRead) {
    const TempDir folder;
    train::Checkpoint sent = made_checkpoint(4);
    steer::HelmTotals& agent = sent.state.counts.agent;
    agent.judged = 30;
    agent.correct = 20;
    agent.no_effect = 7;
    const fs::path path = train::write_checkpoint(folder.path(), sent);
    EXPECT_EQ(train::read_checkpoint(path).state.counts.agent.no_effect, 7U);
    Json json = train::to_json(sent.state);
    json["counts"]["agent"].erase("no_effect");
    const train::RunState back = train::run_state_from_json(json, "here");
    EXPECT_EQ(back.counts.agent.no_effect, 0U);
    agent.no_effect = 0;
    EXPECT_EQ(packed(back), packed(sent.state));
}

TEST(CheckpointFiles, WritingOneTwiceReplacesIt) {
    const TempDir folder;
    train::Checkpoint c = made_checkpoint(4);
    static_cast<void>(train::write_checkpoint(folder.path(), c));
    c.weights[0] = 42;
    static_cast<void>(train::write_checkpoint(folder.path(), c));
    ASSERT_EQ(train::list_checkpoints(folder.path()).size(), 1U);
    EXPECT_EQ(train::read_checkpoint(train::list_checkpoints(folder.path())[0]).weights[0], 42);
}

TEST(CheckpointFiles, AreListedByStepAndOthersAreNot) {
    const TempDir folder;
    EXPECT_TRUE(train::list_checkpoints(folder.path()).empty());
    for (const std::uint64_t step : {1000U, 9U, 10U, 100U, 99U})
        static_cast<void>(train::write_checkpoint(folder.path(), made_checkpoint(step)));
    fs::create_directories(folder / "checkpoints" / "other");
    write_text(folder / "checkpoints" / "best.json", "{}");
    std::vector<std::uint64_t> steps;
    for (const fs::path& path : train::list_checkpoints(folder.path()))
        steps.push_back(train::read_checkpoint(path).state.step);
    EXPECT_THAT(steps, testing::ElementsAre(9, 10, 99, 100, 1000));
}

TEST(CheckpointFiles, ABestThatLiesElsewhereIsRefused) {
    const TempDir folder;
    static_cast<void>(train::write_checkpoint(folder.path(), made_checkpoint(1)));
    for (const std::string name : {"../step-0000000001", "/tmp/step-0000000001", "..", "other"}) {
        write_text(folder / "checkpoints" / "best.json", Json({{"checkpoint", name}}).dump());
        EXPECT_THAT([&] { static_cast<void>(train::best_checkpoint(folder.path())); },
                    testing::ThrowsMessage<Error>(testing::HasSubstr("invalid checkpoint name")));
    }
}

TEST(CheckpointFiles, TheBestIsTheOneThatWasMarkedWhileItIsThere) {
    const TempDir folder;
    EXPECT_FALSE(train::best_checkpoint(folder.path()));
    for (const std::uint64_t step : {1U, 2U, 3U})
        static_cast<void>(train::write_checkpoint(folder.path(), made_checkpoint(step)));
    EXPECT_EQ(train::load_network(folder.path()).step, 3U) << "else the last";
    const fs::path second = train::checkpoint_folder(folder.path(), 2);
    train::mark_best(folder.path(), second);
    EXPECT_EQ(train::best_checkpoint(folder.path()), second);
    const train::SavedNetwork saved = train::load_network(folder.path());
    EXPECT_EQ(saved.step, 2U);
    EXPECT_EQ(saved.epoch, 2U);
    EXPECT_EQ(saved.checkpoint, second);
    EXPECT_EQ(saved.weights, made_checkpoint(2).weights);
    EXPECT_EQ(saved.data, made_checkpoint(2).identity.data);
    EXPECT_EQ(saved.train.fanout, made_checkpoint(2).identity.train.fanout);
    fs::remove_all(second);
    EXPECT_FALSE(train::best_checkpoint(folder.path()));
    EXPECT_EQ(train::load_network(folder.path()).step, 3U);
    fs::remove_all(folder / "checkpoints");
    EXPECT_THAT(refusal_of([&] { (void)train::load_network(folder.path()); }).problem,
                HasSubstr("no checkpoint"));
}

/// The steps whose checkpoints lie in a folder.
std::set<std::uint64_t> kept_steps(const fs::path& run) {
    std::set<std::uint64_t> steps;
    for (const fs::path& path : train::list_checkpoints(run))
        steps.insert(train::read_checkpoint(path).state.step);
    return steps;
}

// The last few and the best stay, whatever the order of improvements; what was the best before
// goes with the next one that is written.
TEST(CheckpointKeepers, KeepTheLastAndTheBest) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const TempDir folder;
        Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
        const std::size_t keep = 1 + draws.below(3);
        std::optional<std::uint64_t> best;
        std::set<std::uint64_t> expected;
        {
            train::CheckpointKeeper keeper(folder.path(), keep);
            for (std::uint64_t step = 1; step <= 8; ++step) {
                train::Checkpoint memory = keeper.take();
                memory = made_checkpoint(step);
                keeper.write(std::move(memory));
                expected.insert(step);
                std::erase_if(expected,
                              [&](std::uint64_t old) { return old + keep <= step && old != best; });
                if (draws.below(3) != 0) continue;
                best = step;
                keeper.best(step);
            }
            keeper.wait();
        }
        EXPECT_EQ(kept_steps(folder.path()), expected) << seed;
        const auto marked = train::best_checkpoint(folder.path());
        ASSERT_EQ(marked.has_value(), best.has_value());
        if (marked) {
            EXPECT_EQ(*marked, train::checkpoint_folder(folder.path(), *best));
        }
    }
}

TEST(CheckpointKeepers, AFolderThatCannotBeWrittenCostsTheCheckpointAlone) {
    const TempDir folder;
    write_text(folder / "run", "a file where the folder should be");
    testing::internal::CaptureStderr();
    {
        train::CheckpointKeeper keeper(folder / "run");
        for (const std::uint64_t step : {1U, 2U, 3U})
            keeper.write(made_checkpoint(step));
        keeper.best(3);
        EXPECT_NO_THROW(keeper.wait());
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("no checkpoint at step 1"));
    EXPECT_THAT(said, testing::Not(HasSubstr("step 2"))) << "one warning";
}

TEST(CheckpointKeepers, CountWhatTheyCouldNotWrite) {
    const TempDir folder;
    const fs::path run = folder / "run";
    fs::create_directories(run);
    testing::internal::CaptureStderr();
    train::CheckpointKeeper keeper(run);
    keeper.write(made_checkpoint(1));
    train::CheckpointReport report = keeper.report();
    EXPECT_EQ(report.written, 1U);
    EXPECT_EQ(report.failed, 0U);
    EXPECT_EQ(report.last, 1U);
    EXPECT_EQ(report.error, "");
    fs::remove_all(run);
    write_text(run, "a file where the folder should be");
    for (const std::uint64_t step : {2U, 3U})
        keeper.write(made_checkpoint(step));
    keeper.write_best(made_checkpoint(4));
    report = keeper.report();
    static_cast<void>(testing::internal::GetCapturedStderr());
    EXPECT_EQ(report.written, 1U);
    EXPECT_EQ(report.failed, 3U) << "best weights, too";
    EXPECT_FALSE(report.last);
    EXPECT_NE(report.error, "");
}

TEST(CheckpointKeepers, ARhythmIsOfEpochsOrSeconds) {
    const auto parsed = [](const char* text) { return train::CheckpointRhythm::parse(text); };
    EXPECT_EQ(parsed("0").epochs, 0U);
    EXPECT_EQ(parsed("3").epochs, 3U);
    EXPECT_EQ(parsed("3").seconds, 0);
    EXPECT_EQ(parsed("0.5s").seconds, 0.5);
    EXPECT_EQ(parsed("300s").epochs, 0U);
    for (const char* wrong :
         {"", "s", "-1", "1.5", "0s", "-3s", "3 s", "3m", "nan", "infs", "1e10"}) {
        const Refusal refusal = refusal_of([&] { (void)parsed(wrong); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.where, "checkpoint-every");
        EXPECT_EQ(refusal.problem, "invalid checkpoint-every: '" + std::string(wrong) + "'");
    }
}

TEST(Digests, TellEveryBitAndTheOrderOfLosses) {
    const std::vector<float> losses{1.5F, 0.25F, 0.0F, -0.0F, 1e-40F};
    const auto digest = [](const std::vector<float>& all) {
        train::LossDigest d;
        for (const float loss : all)
            d.add(loss);
        return d.value();
    };
    std::set<std::uint64_t> seen{digest(losses)};
    for (std::size_t i = 0; i < losses.size(); ++i) {
        for (unsigned bit = 0; bit < 32; ++bit) {
            auto changed = losses;
            changed[i] =
                std::bit_cast<float>(std::bit_cast<std::uint32_t>(losses[i]) ^ (1U << bit));
            EXPECT_TRUE(seen.insert(digest(changed)).second) << i << bit;
        }
        if (i == 0) continue;
        auto swapped = losses;
        std::swap(swapped[i], swapped[i - 1]);
        EXPECT_NE(digest(swapped), digest(losses)) << i;
    }
    // Put down and taken up again after every step.
    train::LossDigest whole;
    std::uint64_t value = 0;
    for (const float loss : losses) {
        whole.add(loss);
        train::LossDigest part(value);
        part.add(loss);
        value = part.value();
        EXPECT_EQ(value, whole.value());
    }
    EXPECT_EQ(whole.text().size(), 16U);
}

}  // namespace
}  // namespace rudder::test
