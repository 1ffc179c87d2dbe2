// What info --json and run.json say of data: every key, in its order.
#include "run/data_json.hpp"

#include <gmock/gmock.h>

#include "core/json.hpp"

namespace rudder::run {
namespace {

graph::DatasetInfo some_info() {
    graph::DatasetInfo info;
    info.vertices = 100;
    info.edges = 640;
    info.symmetric = false;
    info.self_loops = 3;
    info.duplicates = 2;
    info.features = {.width = 16, .type = ElementType::f16, .row_normalise = true};
    info.targets = {.kind = graph::TargetKind::classes, .count = 7, .labelled = 90, .names = {}};
    info.split = {.train = 50, .valid = 20, .test = 15};
    return info;
}

TEST(DataJson, OfADataSet) {
    EXPECT_EQ(dataset_json(some_info()).dump(),
              R"({"kind":"dataset","vertices":100,"edges":640,)"
              R"("features":{"width":16,"type":"float16","row_normalise":true},)"
              R"("targets":"classes","classes":7,"labelled":90,"train":50,"valid":20,"test":15,)"
              R"("symmetric":false,"self_loops":3,"duplicates":2})");
}

TEST(DataJson, OfABareGraph) {
    graph::DatasetInfo info;
    info.vertices = 5;
    const Json json = dataset_json(info);
    EXPECT_TRUE(json.at("features").is_null());
    EXPECT_EQ(json.at("targets"), "none");
    EXPECT_EQ(json.at("classes"), 0);
    EXPECT_EQ(json.at("symmetric"), true);
    EXPECT_EQ(json.size(), dataset_json(some_info()).size()) << "absent things keep their keys";
}

TEST(DataJson, OfAPartitionItIsThatOfItsDataSetAndMore) {
    partition::PartitionSummary summary;
    partition::set_figures(
        summary, {{.vertices = 60, .train = 30, .edges = 400, .crossing = 40, .halo = 11},
                  {.vertices = 40, .train = 20, .edges = 240, .crossing = 24, .halo = 9}});
    summary.method = "ldg";
    summary.seed = 12;
    const Json whole = dataset_json(some_info());
    const Json json = partition_json(some_info(), summary);
    EXPECT_EQ(json.at("kind"), "partition");
    for (const auto& [key, value] : whole.items()) {
        if (key != "kind") {
            EXPECT_EQ(json.at(key), value) << key;
        }
    }
    EXPECT_EQ(json.at("parts"), 2);
    EXPECT_DOUBLE_EQ(json.at("cut").get<double>(), 0.1);
    EXPECT_DOUBLE_EQ(json.at("balance").get<double>(), 1.2);
    EXPECT_DOUBLE_EQ(json.at("edge_balance").get<double>(), 1.25);
    EXPECT_EQ(json.at("halo"), Json({11, 9}));
    EXPECT_EQ(json.at("method"), "ldg");
    EXPECT_EQ(json.at("options").at("seed"), 12);
    const auto back = partition::partition_summary(json, "here");
    EXPECT_EQ(back.halo, summary.halo);
    EXPECT_EQ(back.method, "ldg");
}

}  // namespace
}  // namespace rudder::run
