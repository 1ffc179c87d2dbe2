// Runs put down at any step and taken up again: the same losses, weights, scores and accounts.
#include <fstream>

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "rudder/core/error.hpp"
#include "run/run_folder.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"
#include "train/fixture.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

void expect_same(const Trained& cut, const Trained& whole) {
    EXPECT_EQ(cut.result.digest, whole.result.digest);
    EXPECT_EQ(cut.result.steps, whole.result.steps);
    EXPECT_EQ(cut.weights, whole.weights);
    EXPECT_EQ(cut.result.best_epoch, whole.result.best_epoch);
    EXPECT_EQ(cut.result.first_loss, whole.result.first_loss);
    EXPECT_EQ(cut.result.last_loss, whole.result.last_loss);
    ASSERT_EQ(cut.result.epochs.size(), whole.result.epochs.size());
    for (std::size_t e = 0; e < cut.result.epochs.size(); ++e) {
        const train::EpochRecord& a = cut.result.epochs[e];
        const train::EpochRecord& b = whole.result.epochs[e];
        EXPECT_EQ(a.loss, b.loss);
        EXPECT_EQ(a.scores.train.correct, b.scores.train.correct);
        EXPECT_EQ(a.scores.train.answers, b.scores.train.answers);
        EXPECT_EQ(a.scores.valid.correct, b.scores.valid.correct);
        EXPECT_EQ(a.scores.test.correct, b.scores.test.correct);
    }
}

TEST(Resume, CutAtEveryStepAndOnOtherRanks) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.epochs = 3;
    options.eval_every = 1;
    options.lr_schedule = "cosine";
    const Trained whole = train_alone(data, options);
    const int ranks[]{1, 2, 4};
    for (std::uint64_t step = 1; step < whole.result.steps; ++step) {
        const fs::path run = folder.path() / ("run" + std::to_string(step));
        const auto first = stretch(data, options, run, ranks[step % 3], step);
        EXPECT_TRUE(first.front().result.interrupted);
        EXPECT_LT(first.front().result.steps, whole.result.steps + 1);
        const auto second = stretch(data, options, run, ranks[(step + 1) % 3], 0);
        expect_same(second.front(), whole);
        EXPECT_GT(second.front().result.resumed_at, 0U);
        expect_closed(second.front().result);
    }
}

/// Also in the last step of an epoch after which none is due.
TEST(Resume, AnInterruptLeavesACheckpointWhereNoneIsDue) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.eval_every = 1;
    const Trained whole = train_alone(data, options);
    bool at_end_of_epoch = false;
    for (std::uint64_t step = 1; step + 1 < whole.result.steps; ++step) {
        const fs::path run = folder.path() / ("run" + std::to_string(step));
        const train::TrainResult cut = stretch(data, options, run, 2, step, 0).front().result;
        EXPECT_TRUE(cut.interrupted);
        at_end_of_epoch |= cut.steps % cut.steps_per_epoch == 0;
        const auto left = train::list_checkpoints(run);
        ASSERT_EQ(left.size(), 1U) << "interrupted after step " << cut.steps;
        EXPECT_EQ(train::read_checkpoint(left.front()).state.step, cut.steps);
        expect_same(stretch(data, options, run, 1, 0, 0).front(), whole);
    }
    EXPECT_TRUE(at_end_of_epoch);
}

TEST(Resume, CutManyTimes) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.epochs = 4;
    options.eval_every = 1;
    options.optimiser.name = "sgd";
    const Trained whole = train_alone(data, options);
    const fs::path run = folder.path() / "run";
    std::vector<Trained> last;
    for (std::uint64_t step = 2; step < whole.result.steps; step += 3)
        last = stretch(data, options, run, 2, step);
    last = stretch(data, options, run, 4, 0);
    expect_same(last.front(), whole);
    expect_closed(last.front().result);
    EXPECT_LE(train::list_checkpoints(run).size(), 3U);
    EXPECT_TRUE(train::best_checkpoint(run).has_value());
}

// What a checkpoint keeps of the accounts, held against what the transports counted until the run
// was cut: it is that of the steps done, and the rest came for steps that were not.
TEST(Resume, WhatACheckpointKeepsIsWhatCame) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.epochs = 4;
    for (const std::uint64_t stop : {1U, 4U, 7U}) {
        const fs::path run = folder.path() / ("run-" + std::to_string(stop));
        const train::TrainResult cut = stretch(data, options, run, 4, stop).front().result;
        ASSERT_TRUE(cut.interrupted);
        expect_closed(cut);
        const train::RunCounts kept =
            train::read_checkpoint(train::list_checkpoints(run).back()).state.counts;
        ASSERT_GT(kept.bytes.features, 0U);
        ASSERT_GE(cut.rows.fetched(), kept.rows.fetched());
        EXPECT_EQ(cut.bytes.features - kept.bytes.features,
                  (cut.rows.fetched() - kept.rows.fetched()) * cut.row_bytes);
        EXPECT_EQ(kept.bytes.gradients, cut.bytes.gradients);
        EXPECT_EQ(kept.edges, cut.edges);
        EXPECT_EQ(kept.received_total, kept.bytes.total()) << "counted apart from the kinds";
        EXPECT_LE(kept.received_total, cut.received_total);
    }
}

/// The same of what was coded, and of the seconds of a buffer's bookkeeping and of its agent: the
/// accounts of the whole run close, however often it was cut and on whichever ranks.
TEST(Resume, CodedMessagesAreCountedOverAllStretches) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.epochs = 4;
    options.eval_every = 1;
    options.coding = "auto";
    const Trained whole = train_alone(data, options);
    for (const std::string policy : {"none", "scored"}) {
        for (const auto topology :
             {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
            options.policy = policy;
            options.steer.agent = policy == "none" ? "never" : "every:3";
            options.topology = topology;
            const fs::path run =
                folder.path() / (policy + std::to_string(static_cast<int>(topology)));
            const auto go_on = [&](int ranks, std::uint64_t stop) {
                comm::SimulatedCluster machines(
                    {.ranks = ranks,
                     .seed = stop,
                     .link = {.delay = std::chrono::microseconds(50), .bytes_per_second = 1e6}});
                return stretch(data, options, run, machines, stop).front();
            };
            train::RunCounts last;
            for (const std::uint64_t stop : {2U, 5U, 7U}) {
                const Trained cut = go_on(stop == 5 ? 2 : 4, stop);
                ASSERT_TRUE(cut.result.interrupted);
                expect_closed(cut.result);
                const train::RunCounts kept =
                    train::read_checkpoint(train::list_checkpoints(run).back()).state.counts;
                EXPECT_EQ(kept.received_total, kept.bytes.total());
                EXPECT_EQ(kept.coding.features.travelled, kept.bytes.features);
                EXPECT_EQ(kept.coding.features.plain, kept.rows.fetched() * cut.result.row_bytes);
                EXPECT_EQ(kept.coding.gradients.travelled, kept.bytes.gradients);
                EXPECT_LE(kept.coding.topology.travelled, kept.bytes.topology);
                EXPECT_LE(kept.coding.evaluation.travelled, kept.bytes.evaluation);
                EXPECT_GT(kept.coding.features.messages, last.coding.features.messages);
                EXPECT_GT(kept.coding.gradients.coded, last.coding.gradients.coded);
                EXPECT_GE(kept.pilot_seconds, last.pilot_seconds);
                last = kept;
            }
            const Trained end = go_on(4, 0);
            expect_same(end, whole);
            expect_closed(end.result);
            ASSERT_TRUE(end.result.coding);
            EXPECT_GT(end.result.coding->gradients.messages, last.coding.gradients.messages);
            EXPECT_GE(end.result.pilot_seconds, last.pilot_seconds);
        }
    }
}

/// Checkpoints of versions that kept no total of their own say the sum of their kinds.
TEST(Resume, EarlierCheckpointsHaveNoTotal) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    static_cast<void>(stretch(data, small_options(), folder / "run", 4, 2));
    const train::RunState state =
        train::read_checkpoint(train::list_checkpoints(folder / "run").back()).state;
    Json json = to_json(state);
    ASSERT_GT(state.counts.received_total, 0U);
    EXPECT_EQ(train::run_state_from_json(json, "here").counts.received_total,
              state.counts.received_total);
    json["counts"].erase("received_total");
    json["counts"].erase("coding");
    json["counts"].erase("pilot_seconds");
    EXPECT_EQ(train::run_state_from_json(json, "here").counts.received_total,
              state.counts.bytes.total());
}

TEST(Resume, EarlyStopAndPlateausActAtTheSameStep) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.epochs = 40;
    options.patience = 3;
    options.lr_schedule = "plateau:1,0.5";
    const Trained whole = train_alone(data, options);
    EXPECT_TRUE(whole.result.stopped_early);
    EXPECT_LT(whole.result.epochs.size(), 40U);
    const fs::path run = folder.path() / "run";
    for (const std::uint64_t step : {3U, 11U, 17U})
        static_cast<void>(stretch(data, options, run, 2, step));
    expect_same(stretch(data, options, run, 4, 0).front(), whole);
    const auto spread = train_simulated(data, options, {.ranks = 4, .seed = 1});
    expect_same(spread.front(), whole);
    expect_closed(spread.front().result);
}

class Checkpoints : public testing::Test {
protected:
    void SetUp() override {
        data_.emplace(make_parts(folder_.path(), {}));
        static_cast<void>(stretch(*data_, small_options(), run_, 1, 0));
    }
    /// Reads the last checkpoint, which must be refused with these words.
    void expect_refused(std::initializer_list<std::string> words) {
        try {
            static_cast<void>(train::read_checkpoint(train::list_checkpoints(run_).back()));
            FAIL() << "a damaged checkpoint was read";
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 3);
            for (const std::string& word : words)
                EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
        }
    }
    static std::string read(const fs::path& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void write(const fs::path& file, const std::string& bytes) {
        std::ofstream(file, std::ios::binary) << bytes;
    }

    TempDir folder_;
    fs::path run_ = folder_.path() / "run";
    std::optional<partition::PartitionedDataset> data_;
};

TEST_F(Checkpoints, EveryFlippedBitAndEveryCutIsNoticed) {
    const auto all = train::list_checkpoints(run_);
    ASSERT_EQ(all.size(), 2U);
    for (const char* name : {"weights.safetensors", "optimiser.safetensors", "state.json"}) {
        const fs::path file = all.back() / name;
        const std::string good = read(file);
        for (std::size_t i = 0; i < 40; ++i) {
            std::string bad = good;
            const std::size_t at = i * (good.size() - 1) / 39;
            bad[at] = static_cast<char>(bad[at] ^ 4);
            write(file, bad);
            expect_refused({all.back().filename().string()});
        }
        write(file, good.substr(0, good.size() / 2));
        expect_refused({"damaged", all.front().string()});
        fs::remove(file);
        expect_refused({"damaged"});
        write(file, good);
    }
    EXPECT_NO_THROW(static_cast<void>(train::read_checkpoint(all.back())));
}

TEST_F(Checkpoints, OfANewerVersionIsRefused) {
    const fs::path file = train::list_checkpoints(run_).back() / "state.json";
    std::string text = read(file);
    const std::string version = "\"version\": 2";
    const auto at = text.find(version);
    ASSERT_NE(at, std::string::npos);
    write(file, text.replace(at, version.size(), "\"version\": 3"));
    expect_refused({"version 3", "newer"});
}

TEST_F(Checkpoints, OfAnotherRunListsTheDifferences) {
    const train::Checkpoint saved = train::read_checkpoint(train::list_checkpoints(run_).back());
    train::RunIdentity now = saved.identity;
    EXPECT_NO_THROW(train::check_same_run(saved.identity, now, "run"));
    now.train.epochs += 5;
    EXPECT_NO_THROW(train::check_same_run(saved.identity, now, "run"));
    now.train.hidden = 99;
    now.train.batch = 1;
    try {
        train::check_same_run(saved.identity, now, "run");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_NE(std::string(error.what()).find("hidden: 16, now 99"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("batch: 16, now 1"), std::string::npos);
    }
    now = saved.identity;
    ++now.version;
    const Refusal older = refusal_of([&] { train::check_same_run(saved.identity, now, "run"); });
    EXPECT_EQ(older.kind, ErrorKind::input);
    EXPECT_NE(older.problem.find("a checkpoint of version 2"), std::string::npos);
    now = saved.identity;
    now.data_checksum = "0";
    try {
        train::check_same_run(saved.identity, now, "run");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
    }
}

TEST_F(Checkpoints, GiveANetworkForInference) {
    const train::SavedNetwork saved = train::load_network(run_);
    EXPECT_EQ(saved.options.model, "sage");
    EXPECT_EQ(saved.options.inputs, 12U);
    const auto network = nn::make_network(saved.options);
    EXPECT_EQ(network->weights().size(), saved.weights.size());
    EXPECT_THROW(static_cast<void>(train::load_network(folder_.path() / "nowhere")), Error);
}

TEST_F(Checkpoints, WeightsAreSafetensors) {
    const auto folder = train::list_checkpoints(run_).back();
    const Safetensors file(folder / "weights.safetensors");
    EXPECT_EQ(file.notes().at("model"), "sage");
    const auto& tensors = file.tensors();
    ASSERT_TRUE(tensors.contains("layers.0.self.weight"));
    EXPECT_EQ(tensors.at("layers.0.self.weight").shape, (std::vector<std::int64_t>{16, 12}));
}

}  // namespace
}  // namespace rudder::test
