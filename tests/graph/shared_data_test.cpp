// The real graphs beside the project, with the counts their table gives.
#include "io_support.hpp"
#include "support/process.hpp"

namespace rudder::test {
namespace {

struct Expected {
    const char* file;
    VertexId vertices;
    EdgeIndex edges;  ///< as the archive stores them
    EdgeIndex arcs;   ///< after symmetrising and dropping
    std::uint64_t width;
    ElementType type;
    std::uint64_t classes;
    VertexId labelled;
    graph::SplitCounts split;
};

class SharedData : public ImportTest {
protected:
    void check(const Expected& expected) {
        if (shared_folder().empty()) GTEST_SKIP() << "no folder of shared graphs here";
        const auto file = shared_folder() / "data" / expected.file;
        const graph::DatasetInfo info = import(file).info();
        EXPECT_EQ(info.vertices, expected.vertices);
        EXPECT_EQ(info.edges, expected.arcs);
        EXPECT_EQ(info.features.width, expected.width);
        if (expected.width != 0) {
            EXPECT_EQ(info.features.type, expected.type);
        }
        EXPECT_EQ(info.targets.count, expected.classes);
        EXPECT_EQ(info.targets.labelled, expected.labelled);
        EXPECT_EQ(info.split, expected.split);
        graph::ImportOptions options{.input = file, .output = {}, .directed = true};
        options.keep_self_loops = true;
        options.keep_duplicates = true;
        EXPECT_EQ(import(options).info().edges, expected.edges);
    }
};

constexpr auto u8 = ElementType::u8;

TEST_F(SharedData, Cora) {
    check({"cora.npz", 2708, 5278, 2 * 5278, 1433, u8, 7, 2708, {140, 500, 1000}});
}
TEST_F(SharedData, Citeseer) {
    check({"citeseer.npz", 3327, 4552, 2 * 4552, 3703, u8, 6, 3312, {120, 500, 1000}});
}
TEST_F(SharedData, AmazonComputers) {
    check({"amazon_cs.npz", 13752, 245861, 2 * 245861, 767, u8, 10, 13752, {8251, 2751, 2750}});
}
TEST_F(SharedData, DebianPackages) {
    check({"debian_bookworm.npz",
           63620,
           333407,
           656650,
           128,
           ElementType::i8,
           58,
           63620,
           {37735, 12923, 12962}});
}
TEST_F(SharedData, NpmPackages) {
    check({"npm_deps.npz",
           304031,
           926384 + 1419123,
           4660480,
           0,
           u8,
           40,
           63426,
           {38056, 12685, 12685}});
}
TEST_F(SharedData, MusaeGithub) {
    check({"musae_github.npz", 37700, 289003, 2 * 289003, 4005, u8, 2, 37700, {22620, 7540, 7540}});
}

using LongSharedData = SharedData;

TEST_F(LongSharedData, CoauthorPhysics) {
    check({"coauthor_phy.npz", 34493, 247962, 2 * 247962, 8415, u8, 5, 34493, {20696, 6898, 6899}});
}

TEST_F(SharedData, TheTimeSeriesIsRefused) {
    if (shared_folder().empty()) GTEST_SKIP() << "no folder of shared graphs here";
    refuse(shared_folder() / "data" / "danube_aligned.npz", {"danube_aligned.npz", "no edges"});
}

}  // namespace
}  // namespace rudder::test
