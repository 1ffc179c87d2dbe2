// Archives that are right, in every layout that is known.
#include "core/json.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

using Int = std::int32_t;

class NpzImport : public ImportTest {
protected:
    static std::vector<ZipEntry> graph(std::vector<ZipEntry> more = {}) {
        std::vector<ZipEntry> entries{{"num_nodes", npy<Int>({4})},
                                      {"src", npy<Int>({0, 1, 1, 2})},
                                      {"dst", npy<Int>({1, 0, 1, 1})}};
        entries.insert(entries.end(), more.begin(), more.end());
        return entries;
    }
};

using Rows = std::vector<std::vector<VertexId>>;

TEST_F(NpzImport, SymmetrisesAndDropsLoopsAndDuplicates) {
    const graph::Dataset data = import(write_npz(graph()));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0, 2}, {1}, {}}));
    EXPECT_TRUE(data.info().symmetric);
    EXPECT_EQ(data.info().self_loops, 0U);
}

TEST_F(NpzImport, KeepsWhatIsAskedFor) {
    const graph::Dataset data = import({.input = write_npz(graph()),
                                        .output = {},
                                        .directed = true,
                                        .keep_self_loops = true,
                                        .keep_duplicates = true});
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0, 1, 2}, {}, {}}));
    EXPECT_FALSE(data.info().symmetric);
    EXPECT_EQ(data.info().self_loops, 1U);
}

TEST_F(NpzImport, UnionOfAllPairs) {
    const graph::Dataset data = import(write_npz({{"run_src", npy<Int>({0})},
                                                  {"run_dst", npy<Int>({1})},
                                                  {"dev_src", npy<Int>({5})},
                                                  {"dev_dst", npy<Int>({2})}}));
    EXPECT_EQ(data.info().vertices, 6U);
    EXPECT_EQ(data.info().edges, 4U);
}

TEST_F(NpzImport, EdgeIndexAndAdjacency) {
    EXPECT_EQ(
        rows_of(import(write_npz({{"edge_index", npy<std::int64_t>({0, 1, 1, 2}, 2)}})).topology()),
        (Rows{{1}, {0, 2}, {1}}));
    EXPECT_EQ(rows_of(import(write_npz({{"adj_indptr", npy<Int>({0, 1, 1, 2})},
                                        {"adj_indices", npy<Int>({1, 1})},
                                        {"adj_data", npy<float>({1, 1})},
                                        {"adj_shape", npy<std::int64_t>({3, 3})}}))
                          .topology()),
              (Rows{{1}, {0, 2}, {1}}));
}

TEST_F(NpzImport, AllIntegerTypes) {
    const auto check = [&](auto sample) {
        using T = decltype(sample);
        const auto file =
            write_npz({{"src", npy<T>({0, 1}), {}, {}, true}, {"dst", npy<T>({1, 2})}});
        EXPECT_EQ(import(file).info().edges, 4U);
    };
    check(std::uint8_t{});
    check(std::int8_t{});
    check(std::uint16_t{});
    check(std::int16_t{});
    check(std::uint32_t{});
    check(std::int32_t{});
    check(std::uint64_t{});
    check(std::int64_t{});
}

TEST_F(NpzImport, HeadersOfAllVersions) {
    for (const int version : {1, 2, 3}) {
        NpyBytes src{"<i4", "(2,)", raw<Int>({0, 1}), version};
        NpyBytes dst{"<i4", "(2L,)", raw<Int>({1, 2}), version, true};
        EXPECT_EQ(import(write_npz({{"src", src.str()}, {"dst", dst.str()}})).info().edges, 4U);
    }
}

TEST_F(NpzImport, LabelsOfBytes) {
    auto data = import(write_npz(graph({{"y", npy<std::uint8_t>({0, 2, 255, 0})}})));
    EXPECT_EQ(data.info().targets.count, 3U);  // class 1 has no members
    EXPECT_EQ(data.info().targets.labelled, 3U);
    EXPECT_EQ(data.targets().classes[2], graph::no_label);
    auto full = import(write_npz(graph({{"y", npy<std::uint8_t>({0, 254, 255, 0})}})));
    EXPECT_EQ(full.info().targets.count, 256U);
    EXPECT_EQ(full.info().targets.labelled, 4U);
}

TEST_F(NpzImport, ClassNamesInAnyAlphabet) {
    NpyBytes names{
        "<U5", "(2,)", {reinterpret_cast<const char*>(U"a\0\0\0\0ü中😀 z"), 10 * sizeof(char32_t)}};
    const auto data =
        import(write_npz(graph({{"y", npy<Int>({0, 1, -1, 0})}, {"classes", names.str()}})));
    EXPECT_THAT(data.info().targets.names, testing::ElementsAre("a", "ü中😀 z"));
}

TEST_F(NpzImport, MultilabelAndRegression) {
    auto data = import(write_npz(graph({{"y", npy<Int>({0, 1, 1, 1, -1, -1, 0, 0}, 2)}})));
    EXPECT_EQ(data.info().targets.kind, graph::TargetKind::multilabel);
    EXPECT_EQ(data.info().targets.labelled, 3U);
    const float nan = std::nanf("");
    auto numbers = import(write_npz(graph({{"labels", npy<double>({0.5, 1, 2, double(nan)})}})));
    EXPECT_EQ(numbers.info().targets.kind, graph::TargetKind::regression);
    EXPECT_EQ(numbers.info().targets.labelled, 3U);
    EXPECT_EQ(numbers.targets().regression[0], 0.5F);
}

TEST_F(NpzImport, SplitsGivenAsIndicesOrMasks) {
    const auto data = import(write_npz(graph({{"train_idx", npy<Int>({3})},
                                              {"valid_mask", npy<std::uint8_t>({1, 0, 0, 0})},
                                              {"test", npy<Int>({1, 2})}})));
    EXPECT_EQ(data.info().split, (graph::SplitCounts{1, 1, 2}));
    EXPECT_EQ(data.roles()[3], graph::Role::train);
}

TEST_F(NpzImport, DrawsASplitOfTheLabelledOtherwise) {
    const auto file = write_npz(graph({{"y", npy<Int>({0, -1, -1, 1})}}));
    const auto data =
        import({.input = file, .output = {}, .split = graph::SplitFractions{0.5, 0.5, 0}});
    EXPECT_EQ(data.info().split, (graph::SplitCounts{1, 1, 0}));
    EXPECT_EQ(data.roles()[1], graph::Role::none);
}

TEST_F(NpzImport, FeatureTypes) {
    const auto type = [&](const std::string& x) {
        return import(write_npz(graph({{"x", x}}))).info().features.type;
    };
    EXPECT_EQ(type(npy<float>({0, 1, 2, 3}, 1)), ElementType::f32);
    EXPECT_EQ(type(npy<double>({0, 1, 2, 3})), ElementType::f32);
    EXPECT_EQ(type(npy<std::uint8_t>({0, 1, 2, 3}, 1)), ElementType::u8);
    EXPECT_EQ(type(npy<std::int64_t>({0, 1, 2, 255}, 1)), ElementType::u8);
    EXPECT_EQ(type(npy<std::int64_t>({0, 1, 2, 256}, 1)), ElementType::f32);
    EXPECT_EQ(type(npy<std::int8_t>({0, 1, 2, -3}, 1)), ElementType::i8);
    EXPECT_EQ(type(NpyBytes{"<f2", "(4, 1)", std::string(8, '\0')}.str()), ElementType::f16);
    EXPECT_EQ(type(NpyBytes{"|b1", "(4, 1)", std::string(4, '\1')}.str()), ElementType::u8);
}

TEST_F(NpzImport, ConversionsOfFeatures) {
    graph::ImportOptions options{.input = write_npz(graph({{"x", npy<float>({0, 1.5F, 2, 3}, 1)}})),
                                 .output = {}};
    for (const auto type : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
        options.feature_type = type;
        const graph::Dataset data = import(options);
        float value = 0;
        graph::decode_row(data.info().features, data.features().row(1), {}, {&value, 1});
        EXPECT_EQ(value, 1.5F);
    }
    std::filesystem::remove_all(folder_ / "out");
    options.feature_type = ElementType::u8;
    refuse(options, {"1.5 does not fit uint8", "'x', row 1, column 0"});
    options.feature_type = ElementType::i8;
    refuse(options, {"float32", "int8"}, ErrorKind::usage);
    options.input = write_npz(graph({{"x", npy<float>({0, 1e6F, 2, 3}, 1)}}));
    options.feature_type = ElementType::f16;
    refuse(options, {"does not fit float16", "row 1"});
}

TEST_F(NpzImport, MadeFeatures) {
    for (const std::string kind : {"random:5", "structure:5", "structure:1", "structure:200"}) {
        graph::ImportOptions options{.input = write_npz(graph()), .output = {}, .features = kind};
        const graph::Dataset first = import(options);
        EXPECT_EQ(first.info().features.width, std::stoul(kind.substr(kind.find(':') + 1)));
        const auto bytes = first.features().bytes();
        const std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const graph::Dataset again = import(options);
        EXPECT_EQ(std::memcmp(again.features().bytes().data(), copy.data(), copy.size()), 0);
    }
    std::filesystem::remove_all(folder_ / "out");
    for (const std::string kind : {"random", "random:0", "structure:x", "random:99999999"}) {
        refuse(graph::ImportOptions{.input = write_npz(graph()), .output = {}, .features = kind},
               {kind}, ErrorKind::usage);
    }
}

TEST_F(NpzImport, LabelsAndFeaturesFromFilesOfTheirOwn) {
    const auto labels = write("labels.npy", npy<Int>({0, 1, 2, 0}));
    const auto features = write("rows with space ü.npy", npy<float>({0, 1, 2, 3}, 1));
    const graph::Dataset data = import({.input = write_npz(graph()),
                                        .output = {},
                                        .features = features.string(),
                                        .row_normalise = true,
                                        .labels = labels});
    EXPECT_EQ(data.info().targets.count, 3U);
    EXPECT_EQ(data.info().features.width, 1U);
    EXPECT_TRUE(data.info().features.row_normalise);
    EXPECT_TRUE(data.folder().manifest().contains("rudder"));
}

TEST_F(NpzImport, OneVertexAndNoEdges) {
    const graph::Dataset data = import(
        write_npz({{"num_nodes", npy<Int>({1})}, {"src", npy<Int>({})}, {"dst", npy<Int>({})}}));
    EXPECT_EQ(data.info().vertices, 1U);
    EXPECT_EQ(data.info().edges, 0U);
    EXPECT_FALSE(data.info().features.present());
    const graph::Dataset index = import(write_npz(
        {{"num_nodes", npy<Int>({2})}, {"edge_index", NpyBytes{"<i8", "(2, 0)", ""}.str()}}));
    EXPECT_EQ(index.info().vertices, 2U);
}

}  // namespace
}  // namespace rudder::test
