// Whole runs on a device: the twin, which is there on every machine. Rows and blocks go the way
// they go to a GPU.
#include "nn/gpu/device.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "train/device_choice.hpp"
#include "train/fixture.hpp"
#include "train/summary.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class OnTwin : public testing::Test {
protected:
    void SetUp() override {
        train::lend_device([] { return nn::make_twin_device(); });
    }
    void TearDown() override { train::lend_device({}); }

    static train::TrainOptions options(const char* device, const char* model = "sage") {
        train::TrainOptions made = small_options();
        made.device = device;
        made.model = model;
        return made;
    }
    static void expect_near(const Trained& ours, const Trained& cpu) {
        ASSERT_EQ(ours.result.steps, cpu.result.steps);
        EXPECT_NEAR(static_cast<double>(ours.result.first_loss),
                    static_cast<double>(cpu.result.first_loss),
                    1e-5 * static_cast<double>(cpu.result.first_loss));
        EXPECT_NEAR(static_cast<double>(ours.result.last_loss),
                    static_cast<double>(cpu.result.last_loss),
                    1e-3 * static_cast<double>(cpu.result.last_loss));
        EXPECT_EQ(ours.result.rows.demand, cpu.result.rows.demand);
    }
};

TEST_F(OnTwin, RunsOfEveryModelStayBesideTheCpu) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        const Trained cpu = train_alone(data, options("cpu", model));
        const Trained ours = train_alone(data, options("cuda", model));
        SCOPED_TRACE(model);
        expect_near(ours, cpu);
        EXPECT_NE(ours.weights, std::vector<float>(ours.weights.size(), 0.F));
    }
}

TEST_F(OnTwin, TheSameBitsAgainAndOnAnyRanks) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const Trained once = train_alone(data, options("cuda"));
    const Trained again = train_alone(data, options("cuda"));
    EXPECT_EQ(again.result.digest, once.result.digest);
    EXPECT_EQ(again.weights, once.weights);
    train::TrainOptions deeper = options("cuda");
    deeper.in_flight = 4;
    EXPECT_EQ(train_alone(data, deeper).result.digest, once.result.digest);
    for (const int ranks : {2, 4}) {
        const auto all =
            train_simulated(data, options("cuda"), {.ranks = ranks, .ranks_per_host = 1});
        EXPECT_EQ(all.front().result.digest, once.result.digest) << ranks;
        EXPECT_EQ(all.front().weights, once.weights) << ranks;
    }
}

TEST_F(OnTwin, CheckpointsGoFromOneDeviceToTheOther) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const auto on = [&](const char* device, const char* run, std::uint64_t stop_after) {
        return stretch(data, options(device), folder / run, 1, stop_after).front();
    };
    static_cast<void>(on("cpu", "to-device", 4));
    const Trained there = on("cuda", "to-device", 0);
    static_cast<void>(on("cuda", "to-cpu", 4));
    const Trained back = on("cpu", "to-cpu", 0);
    const Trained cpu = train_alone(data, options("cpu"));
    EXPECT_NEAR(static_cast<double>(there.result.last_loss),
                static_cast<double>(cpu.result.last_loss), 1e-3);
    EXPECT_NEAR(static_cast<double>(back.result.last_loss),
                static_cast<double>(cpu.result.last_loss), 1e-3);
    // On one device all the time, cut or not, to the bit.
    static_cast<void>(on("cuda", "cut", 4));
    EXPECT_EQ(on("cuda", "cut", 0).weights, train_alone(data, options("cuda")).weights);
}

TEST_F(OnTwin, SparseRows) {
    const TempDir folder;
    SmallGraph graph;
    graph.words = 6;
    graph.width = 200;
    const auto data = make_parts(folder.path(), graph);
    expect_near(train_alone(data, options("cuda")), train_alone(data, options("cpu")));
}

TEST_F(OnTwin, ThePlanCountsItsMemory) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const auto planned = [&](const char* device) {
        train::Trainer trainer(comm::Communicator::local(), data, options(device));
        return trainer.plan();
    };
    EXPECT_EQ(planned("cpu").device_bytes, 0U);
    const train::TrainPlan plan = planned("cuda");
    EXPECT_GT(plan.device_bytes, 4 * sizeof(float) * plan.parameters);
}

TEST_F(OnTwin, TheSummarySaysWhatItRanOn) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const auto gpu = [&](const char* device) {
        return train::summary_json(train_alone(data, options(device)).result, options(device), {})
            .at("gpu");
    };
    EXPECT_TRUE(gpu("cpu").is_null());
    const Json seen = gpu("cuda");
    EXPECT_EQ(seen.at("device"), "cuda:0 twin on the host, one chain per element");
    EXPECT_GT(seen.at("staged").get<std::uint64_t>(), 0U);
    EXPECT_GE(seen.at("waiting_seconds").get<double>(), 0);
}

TEST_F(OnTwin, AutoTakesADeviceThatIsThere) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    EXPECT_EQ(train_alone(data, options("auto")).result.digest,
              train_alone(data, options("cuda")).result.digest);
}

TEST(DeviceOption, IsReadAndRefused) {
    using Kind = train::DeviceChoice::Kind;
    EXPECT_EQ(train::parse_device("cpu").kind, Kind::cpu);
    EXPECT_EQ(train::parse_device("auto").kind, Kind::choose);
    EXPECT_EQ(train::parse_device("cuda").kind, Kind::cuda);
    EXPECT_FALSE(train::parse_device("cuda").ordinal.has_value());
    EXPECT_EQ(train::parse_device("cuda:3").ordinal, 3);
    for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1025", "CUDA"}) {
        try {
            static_cast<void>(train::parse_device(text));
            FAIL() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_NE(error.problem().find("invalid device"), std::string::npos);
        }
    }
}

TEST(DeviceOption, LinksAreRefusedOnAGpu) {
    train::TrainOptions options = small_options();
    options.device = "cuda:0";
    options.task = train::TaskKind::link;
    EXPECT_THROW(train::check_device_options(options), Error);
    options.device = "auto";
    EXPECT_NO_THROW(train::check_device_options(options));
}

TEST(DeviceOption, FeaturesOfEdgesAreRefusedOnAGpu) {
    train::TrainOptions options = small_options();
    options.edge_features = true;
    EXPECT_NO_THROW(train::check_device_options(options));
    options.device = "cuda";
    EXPECT_THROW(train::check_device_options(options), Error);
}

TEST(DeviceOption, LearnedRowsAreRefusedOnAGpu) {
    train::TrainOptions options = small_options();
    options.embeddings = "16";
    EXPECT_NO_THROW(train::check_device_options(options));
    options.device = "cuda";
    EXPECT_THROW(train::check_device_options(options), Error);
}

TEST(DeviceOption, WithoutAGpuARunIsRefusedAndAutoTakesTheProcessor) {
    if (nn::find_devices().missing.empty()) GTEST_SKIP() << "there is a GPU";
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    const Trained cpu = train_alone(data, options);
    options.device = "auto";
    EXPECT_EQ(train_alone(data, options).result.digest, cpu.result.digest);
    options.device = "cuda";
    try {
        static_cast<void>(train_alone(data, options));
        FAIL() << "it ran";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(error.problem().find("no GPU can be used"), std::string::npos);
    }
}

}  // namespace
}  // namespace rudder::test
