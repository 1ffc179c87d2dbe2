// Import, partition, export, import again: nothing may change, whatever the graph, the features and
// the targets.
#include "core/json.hpp"
#include "rudder/graph/dataset.hpp"

#include "cli_support.hpp"
#include "support/random_archive.hpp"
#include "support/random_graph.hpp"

namespace rudder::test {
namespace {

class CliRoundTrip : public CliTest, public testing::WithParamInterface<int> {};

TEST_P(CliRoundTrip, ChangesNothing) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    const RandomEdges random = random_edges(seed);
    write("in.npz", random_archive(seed, random));
    Words options{"--force"};
    if (seed % 3 == 0) options.emplace_back("--directed");
    if (seed % 2 == 0) options.emplace_back("--keep-self-loops");
    if (seed % 5 == 0) options.emplace_back("--keep-duplicates");
    if (seed % 7 == 0) options.emplace_back("--row-normalise");
    if (seed % 8 == 4) options.insert(options.end(), {"--feature-type", "bfloat16"});
    if (seed % 16 == 8) options.insert(options.end(), {"--feature-type", "float16"});
    const auto import = [&](const std::string& in, const std::string& out) {
        Words words{"import", in, out};
        words.insert(words.end(), options.begin(), options.end());
        return ok_json(words);
    };
    const Json first = import("in.npz", "data");
    EXPECT_EQ(rows_of(graph::Dataset(folder_ / "data").topology()),
              naive_rows(random, {seed % 3 != 0, seed % 2 == 0, seed % 5 == 0}));
    const std::string method = std::vector{"metis", "ldg", "fennel", "random", "hash"}.at(seed % 5);
    const std::string parts = std::to_string(1 + seed % std::min<VertexId>(random.vertices, 4));
    const Outcome made = rudder(
        {"partition", "data", "parts", "--parts", parts, "--method", method, "--quiet"}, here());
    ASSERT_EQ(made.code, 0) << made.err;
    ok({"info", "parts", "--check"});
    ok({"export", "parts", "out.npz"});
    EXPECT_EQ(import("out.npz", "again"), first);
    EXPECT_EQ(checksums_of(folder_ / "again"), checksums_of(folder_ / "data"));

    // The parts go along: given back, they make the same partition.
    ok({"partition", "again", "given", "--parts", parts, "--assignment", "out.npz", "--quiet"});
    ok({"export", "given", "given.npz"});
    EXPECT_EQ(bytes_of(folder_ / "given.npz").size(), bytes_of(folder_ / "out.npz").size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CliRoundTrip, testing::Range(0, 32));

}  // namespace
}  // namespace rudder::test
