// Import, export, import again: nothing may change, for random graphs with every kind of feature
// and target; and what NumPy makes of the result.
#include <set>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "graph/io/export.hpp"
#include "graph/io/npz.hpp"

#include "io_support.hpp"
#include "support/process.hpp"
#include "support/random_archive.hpp"

namespace rudder::test {
namespace {

void expect_equal(const graph::Dataset& a, const graph::Dataset& b) {
    EXPECT_EQ(rows_of(a.topology()), rows_of(b.topology()));
    EXPECT_EQ(a.info().self_loops, b.info().self_loops);
    EXPECT_EQ(a.info().duplicates, b.info().duplicates);
    ASSERT_EQ(a.info().features.width, b.info().features.width);
    ASSERT_EQ(a.info().features.type, b.info().features.type);
    EXPECT_TRUE(std::ranges::equal(a.features().bytes(), b.features().bytes()));
    EXPECT_TRUE(std::ranges::equal(a.features().scale, b.features().scale));
    EXPECT_EQ(a.info().targets.kind, b.info().targets.kind);
    EXPECT_EQ(a.info().targets.count, b.info().targets.count);
    EXPECT_EQ(a.info().targets.labelled, b.info().targets.labelled);
    EXPECT_EQ(a.info().targets.names, b.info().targets.names);
    EXPECT_TRUE(std::ranges::equal(a.targets().classes, b.targets().classes));
    EXPECT_TRUE(std::ranges::equal(a.targets().multilabel, b.targets().multilabel));
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(a.targets().regression),
                                   std::as_bytes(b.targets().regression)));
    EXPECT_TRUE(std::ranges::equal(a.roles(), b.roles()));
}

class RoundTrip : public ImportTest, public testing::WithParamInterface<int> {};

TEST_P(RoundTrip, ChangesNothing) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    const RandomEdges random = random_edges(seed);
    graph::ImportOptions options{.input = write("in.npz", random_archive(seed, random)),
                                 .output = folder_ / "first"};
    options.directed = seed % 3 == 0;
    options.keep_self_loops = seed % 2 == 0;
    options.keep_duplicates = seed % 5 == 0;
    options.seed = seed;
    if (seed % 4 == 0 && seed % 8 != 0) options.feature_type = ElementType::bf16;
    if (seed % 4 == 0 && seed % 16 == 8) options.feature_type = ElementType::f16;
    graph::import_dataset(options);
    const graph::Dataset first(options.output);
    first.check();
    EXPECT_EQ(
        rows_of(first.topology()),
        naive_rows(random, {!options.directed, options.keep_self_loops, options.keep_duplicates}));
    graph::export_dataset({options.output, folder_ / "again.npz"});
    options.input = folder_ / "again.npz";
    options.output = folder_ / "second";
    graph::import_dataset(options);
    const graph::Dataset second(options.output);
    second.check();
    expect_equal(first, second);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, testing::Range(0, 48));

class Export : public ImportTest {};

TEST_F(Export, RefusesAnExistingFileAndLeavesNothingWhenInterrupted) {
    import(write("a.txt", "0 1\n1 2\n"));
    const auto file = write("there.npz", "kept");
    expect_error(
        [&] {
            graph::export_dataset({folder_ / "out", file});
        },
        ErrorKind::usage, {"--force"});
    set_interrupted(true);
    const auto error = error_of([&] {
        graph::export_dataset({folder_ / "out", folder_ / "new.npz"});
    });
    set_interrupted(false);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::interrupted);
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
        left.insert(entry.path().filename());
    EXPECT_EQ(left, (std::set<std::string>{"a.txt", "out", "there.npz"}));
}

TEST_F(Export, InterruptedImportLeavesNothing) {
    const auto file = write("a.txt", "0 1\n1 2\n");
    set_interrupted(true);
    const auto error =
        error_of([&] { graph::import_dataset({.input = file, .output = folder_ / "new"}); });
    set_interrupted(false);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::interrupted);
    std::filesystem::remove(file);
    EXPECT_TRUE(folder_.empty());
}

TEST_F(Export, WritesWhereItMayNotIsAFailure) {
    import(write("a.txt", "0 1\n1 2\n"));
    const auto error = error_of([&] { graph::export_dataset({folder_ / "out", "/proc/new.npz"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::failed);
}

/// A python with NumPy: the project's own, else the system's; empty if there is none.
std::string find_python() {
    for (const std::string& python :
         {std::string(RUDDER_SOURCE_DIR) + "/.venv/bin/python", std::string("python3")}) {
        if (run({python, "-c", "import numpy"}).code == 0) return python;
    }
    return {};
}

TEST_F(Export, NumpyReadsWhatWeWriteAndWeWhatNumpyWrites) {
    const std::string python = find_python();
    if (python.empty()) GTEST_SKIP() << "no python3 with numpy here";
    const auto made = (folder_ / "made.npz").string();
    const std::string make = fmt::format(R"(
import numpy as np
np.savez_compressed('{}', num_nodes=4, src=np.array([0, 1, 2]), dst=np.array([1, 2, 2]),
  x=np.arange(8, dtype='f2').reshape(4, 2), y=np.array([0, 1, -1, 1]),
  classes=np.array(['Bäume', '中 文']), train=np.array([0]), val=np.array([1]),
  test=np.array([3]), junk=np.array([{{}}, None], dtype=object))
)",
                                         made);
    const Outcome wrote = run({python, "-c", make});
    ASSERT_EQ(wrote.code, 0) << wrote.err;
    const graph::Dataset data = import(made);
    EXPECT_THAT(data.info().targets.names, testing::ElementsAre("Bäume", "中 文"));
    graph::export_dataset({folder_ / "out", folder_ / "ours.npz"});
    const std::string check = fmt::format(R"(
import numpy as np
a = np.load('{}')
assert a['num_nodes'] == 4 and a['num_nodes'].shape == ()
assert a['src'].dtype == np.int32 and a['src'].tolist() == [0, 1], a['src']
assert a['dst'].tolist() == [1, 2], a['dst']
assert a['x'].dtype == np.float16 and (a['x'] == np.arange(8).reshape(4, 2)).all()
assert a['y'].tolist() == [0, 1, -1, 1] and a['classes'].tolist() == ['Bäume', '中 文']
assert [a[k].tolist() for k in ('train', 'val', 'test')] == [[0], [1], [3]]
)",
                                          (folder_ / "ours.npz").string());
    const Outcome checked = run({python, "-c", check});
    EXPECT_EQ(checked.code, 0) << checked.err;
}

}  // namespace
}  // namespace rudder::test
