// The parts of an archive, each against its slow version: edges of every layout, features, split.
#include <mutex>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "graph/io/edge_blocks.hpp"
#include "graph/io/npz_reader.hpp"

#include "io_support.hpp"
#include "memory_npy.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using Pairs = std::vector<std::pair<VertexId, VertexId>>;

/// The edges of a source, sorted.
Pairs pairs_of(const graph::EdgeSource& source) {
    Pairs pairs;
    std::mutex lock;
    const auto take = [&](auto edges) {
        const std::lock_guard guard(lock);
        for (const auto& edge : edges)
            pairs.emplace_back(edge.source, edge.target);
    };
    source.walk(take, take);
    EXPECT_EQ(source.edges(), pairs.size());
    std::ranges::sort(pairs);
    return pairs;
}

Pairs pairs_of(const RandomEdges& random) {
    Pairs pairs;
    for (const graph::Edge& edge : random.edges)
        pairs.emplace_back(edge.source, edge.target);
    std::ranges::sort(pairs);
    return pairs;
}

template <class T>
std::vector<T> ends_of(const RandomEdges& random, bool sources) {
    std::vector<T> ids;
    for (const graph::Edge& edge : random.edges)
        ids.push_back(static_cast<T>(sources ? edge.source : edge.target));
    return ids;
}

class NpzParts : public ImportTest {
protected:
    graph::NpzArchive archive(const std::vector<ZipEntry>& entries) {
        return graph::NpzArchive(write_npz(entries));
    }
    Pairs edges(const std::vector<ZipEntry>& entries, std::optional<VertexId> vertices) {
        return pairs_of(*graph::read_npz_edges(archive(entries), vertices));
    }
    /// "problem @ where", the file's name taken off.
    std::string shortened(const Refusal& refusal) const {
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        std::string where = refusal.where;
        const std::string file = (folder_ / "graph.npz").string();
        if (!where.starts_with(file)) return "not the file: " + where;
        return refusal.problem + " @" + where.substr(file.size());
    }
    std::string edges_refused(const std::vector<ZipEntry>& entries,
                              std::optional<VertexId> vertices = 3) {
        return shortened(refusal_of([&] { (void)edges(entries, vertices); }));
    }
    std::string features_refused(const std::vector<ZipEntry>& entries) {
        return shortened(refusal_of([&] { (void)features(entries, 3); }));
    }
    std::string split_refused(const std::vector<ZipEntry>& entries) {
        return shortened(refusal_of([&] { (void)roles(entries, 3); }));
    }
    std::unique_ptr<graph::FeatureSource> features(const std::vector<ZipEntry>& entries,
                                                   VertexId vertices) {
        return graph::read_npz_features(
            std::make_shared<const graph::NpzArchive>(write_npz(entries)), vertices);
    }
    std::optional<std::vector<graph::Role>> roles(const std::vector<ZipEntry>& entries,
                                                  VertexId vertices) {
        const auto found = graph::read_npz_split(archive(entries), vertices);
        if (!found) return std::nullopt;
        return std::vector<graph::Role>(found->begin(), found->end());
    }
};

TEST_F(NpzParts, EdgesInColumnsOfEveryWidth) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const RandomEdges random = random_edges(seed);
        const auto both = [&]<class T>(T) {
            return edges({{"src", npy(ends_of<T>(random, true)), {}, {}, seed % 2 == 0},
                          {"dst", npy(ends_of<T>(random, false))}},
                         random.vertices);
        };
        const Pairs want = pairs_of(random);
        EXPECT_EQ(both(std::uint8_t{}), want) << seed;
        EXPECT_EQ(both(std::int16_t{}), want) << seed;
        EXPECT_EQ(both(std::int32_t{}), want) << seed;
        EXPECT_EQ(both(std::uint32_t{}), want) << seed;
        EXPECT_EQ(both(std::int64_t{}), want) << seed;
        EXPECT_EQ(both(std::uint64_t{}), want) << seed;
    }
}

TEST_F(NpzParts, EdgesAsATableOrAsRowsOrAllAtOnce) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const RandomEdges random = random_edges(seed);
        const Pairs want = pairs_of(random);
        auto table = ends_of<std::int64_t>(random, true);
        const auto targets = ends_of<std::int64_t>(random, false);
        table.insert(table.end(), targets.begin(), targets.end());
        const NpyBytes index{"<i8", fmt::format("(2, {})", targets.size()), raw(table)};
        std::vector<std::int32_t> offsets{0};
        std::vector<std::int32_t> entries;
        for (VertexId v = 0; v < random.vertices; ++v) {
            for (const auto& [source, target] : want)
                if (source == v) entries.push_back(static_cast<std::int32_t>(target));
            offsets.push_back(static_cast<std::int32_t>(entries.size()));
        }
        EXPECT_EQ(edges({{"edge_index", index.str()}}, random.vertices), want) << seed;
        EXPECT_EQ(
            edges({{"adj_indptr", npy(offsets)}, {"adj_indices", npy(entries)}}, random.vertices),
            want)
            << seed;
        EXPECT_EQ(edges({{"indptr", npy(offsets)}, {"indices", npy(entries)}}, {}), want) << seed;
        Pairs twice = want;
        twice.insert(twice.end(), want.begin(), want.end());
        std::ranges::sort(twice);
        EXPECT_EQ(edges({{"edge_index", index.str()},
                         {"train_src", npy(ends_of<std::int32_t>(random, true))},
                         {"train_dst", npy(ends_of<std::int32_t>(random, false))}},
                        random.vertices),
                  twice)
            << seed;
    }
}

TEST_F(NpzParts, TheNumberOfVerticesIsTheLargestIdAndOne) {
    const auto vertices = [&](const std::vector<ZipEntry>& entries) {
        return graph::read_npz_edges(archive(entries), std::nullopt)->vertices();
    };
    EXPECT_EQ(vertices({{"src", npy<std::int32_t>({0, 8})}, {"dst", npy<std::int32_t>({3, 1})}}),
              9U);
    EXPECT_EQ(vertices({{"src", npy<std::int32_t>({})}, {"dst", npy<std::int32_t>({})}}), 0U);
    EXPECT_EQ(vertices({{"indptr", npy<std::int32_t>({0, 1, 1, 1})},
                        {"indices", npy<std::int32_t>({1})}}),
              3U)
        << "rows without entries count";
    EXPECT_EQ(
        vertices({{"indptr", npy<std::int32_t>({0, 1})}, {"indices", npy<std::int32_t>({6})}}), 7U);
}

TEST_F(NpzParts, IdsOf33BitsAreGivenWide) {
    const VertexId large = VertexId{1} << 32;
    const auto source = graph::read_npz_edges(
        archive({{"src", npy<std::uint64_t>({0, large})}, {"dst", npy<std::uint64_t>({large, 7})}}),
        std::nullopt);
    EXPECT_EQ(source->vertices(), large + 1);
    EXPECT_EQ(pairs_of(*source), (Pairs{{0, large}, {large, 7}}));
}

TEST_F(NpzParts, EdgesThatDisagree) {
    const auto ints = [](const std::vector<std::int32_t>& values, std::size_t columns = 0) {
        return npy(values, columns);
    };
    EXPECT_EQ(edges_refused({{"x", ints({1})}}), "the archive has no edges @");
    EXPECT_EQ(edges_refused({{"src", ints({1})}}), "array 'src' has no partner 'dst' @");
    EXPECT_EQ(edges_refused({{"a_dst", ints({1})}}), "array 'a_dst' has no partner 'a_src' @");
    EXPECT_EQ(edges_refused({{"src", ints({0, 1})}, {"dst", ints({1, 2, 0})}}),
              "the array has 3 ids, 'src' has 2 @, array 'dst'");
    EXPECT_EQ(edges_refused({{"src", ints({0, 1}, 1)}, {"dst", ints({1, 2})}}),
              "the array is int32 (2, 1) where one dimension is expected @, array 'src'");
    EXPECT_EQ(edges_refused({{"edge_index", ints({0, 1, 2, 0, 1, 2}, 2)}}),
              "the array is int32 (3, 2) where 2 rows are expected @, array 'edge_index'");
    EXPECT_EQ(edges_refused({{"edge_index", ints({0, 1, 2, 3}, 2)}}),
              "id 3 is out of range 0..2 @, array 'edge_index', position 3");
    EXPECT_EQ(edges_refused({{"src", ints({0})}, {"dst", ints({0})}}, 0),
              "id 0 in a graph without vertices @, array 'src', position 0");
    EXPECT_EQ(edges_refused({{"src", ints({0, -7})}, {"dst", ints({0, 1})}}, std::nullopt),
              "id -7 is negative @, array 'src', position 1");
    EXPECT_EQ(edges_refused({{"src", npy<std::uint64_t>({~std::uint64_t{0}})}, {"dst", ints({0})}},
                            std::nullopt),
              "id 18446744073709551615 is too large @, array 'src', position 0");
}

TEST_F(NpzParts, RowsOfEdgesThatAreWrong) {
    const auto refused = [&](std::vector<std::int32_t> offsets, std::vector<std::int32_t> entries) {
        return edges_refused({{"adj_indptr", npy(offsets)}, {"adj_indices", npy(entries)}});
    };
    EXPECT_EQ(refused({1, 2}, {0, 1}),
              "the first offset is not 0 @, array 'adj_indptr', position 0");
    EXPECT_EQ(refused({}, {}), "the first offset is not 0 @, array 'adj_indptr', position 0");
    EXPECT_EQ(refused({0, 2, 1, 2}, {0, 1}),
              "the offsets descend @, array 'adj_indptr', position 2");
    EXPECT_EQ(refused({0, 1, 9}, {0, 1}),
              "offset 9 is beyond the 2 entries @, array 'adj_indptr', position 2");
    EXPECT_EQ(refused({0, 1}, {0, 1}),
              "the last offset is 1, there are 2 entries @, array 'adj_indptr', position 1");
    EXPECT_EQ(refused({0, 1, 1, 1, 1}, {0}),
              "there are 5 offsets for 3 vertices @, array 'adj_indptr'");
    EXPECT_EQ(refused({0, 1}, {3}), "id 3 is out of range 0..2 @, array 'adj_indices', position 0");
}

TEST_F(NpzParts, SplitsByEveryNameAndAsMasks) {
    using graph::Role;
    const std::vector<const char*> ends{"", "_idx", "_index", "_mask"};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<Role> want(1 + random() % 40);
        for (Role& role : want)
            role = static_cast<Role>(random() % 4);
        std::vector<ZipEntry> entries;
        const std::array<std::string, 3> stems{"train", seed % 2 == 0 ? "val" : "valid", "test"};
        for (std::size_t set = 0; set < 3; ++set) {
            const std::string end = ends[random() % 4];
            std::vector<std::int32_t> ids;
            std::vector<std::uint8_t> mask(want.size());
            for (std::size_t v = 0; v < want.size(); ++v) {
                if (want[v] != static_cast<Role>(set + 1)) continue;
                ids.push_back(static_cast<std::int32_t>(v));
                mask[v] = 1;
            }
            std::ranges::shuffle(ids, random);
            const NpyBytes bools{"|b1", fmt::format("({},)", mask.size()), raw(mask)};
            const bool as_mask = end == "_mask" || random() % 4 == 0;  // bool tells it as well
            entries.push_back({stems[set] + end, as_mask ? bools.str() : npy(ids)});
        }
        EXPECT_EQ(roles(entries, want.size()), want) << seed;
    }
    EXPECT_EQ(roles({{"x", npy<float>({1})}}, 1), std::nullopt);
    EXPECT_EQ(
        roles({{"test", npy<std::int32_t>({1})}, {"test_mask", npy<std::uint8_t>({1, 0})}}, 2),
        (std::vector<Role>{Role::none, Role::test}))
        << "the plain name comes first";
    EXPECT_EQ(roles({{"train", npy<std::int32_t>({1, 1})}}, 2),
              (std::vector<Role>{Role::none, Role::train}))
        << "twice in one set is once";
}

TEST_F(NpzParts, SplitsThatAreRefused) {
    using Int = std::int32_t;
    EXPECT_EQ(split_refused({{"train", npy<Int>({0, 1})}, {"val", npy<Int>({2, 0})}}),
              "vertex 0 is in two sets of the split @, array 'val', position 1");
    EXPECT_EQ(split_refused({{"train_mask", npy<Int>({0, 1, 2})}}),
              "2 is neither 0 nor 1 @, array 'train_mask', position 2");
    EXPECT_EQ(split_refused({{"train_mask", npy<Int>({0, 1, 1}, 1)}}),
              "the mask is int32 (3, 1) for 3 vertices @, array 'train_mask'");
    EXPECT_EQ(split_refused({{"test_idx", npy<Int>({2, -1})}}),
              "id -1 is out of range 0..2 @, array 'test_idx', position 1");
    EXPECT_EQ(split_refused({{"test", npy<float>({2})}}),
              "the array is float32 (1) where whole numbers are expected @, array 'test'");
}

TEST_F(NpzParts, WhichFeaturesAreTaken) {
    const auto taken = [&](const std::vector<ZipEntry>& entries) {
        const auto source = features(entries, 2);
        return source ? rows_as_floats(*source) : std::vector<float>{};
    };
    using testing::ElementsAre;
    const ZipEntry bytes{"x_int8", npy<std::int8_t>({1, -2, 3, 4}, 2)};
    EXPECT_THAT(taken({{"feat", npy<float>({1, 2}, 1)}, {"x", npy<float>({3, 4}, 1)}}),
                ElementsAre(3, 4));
    EXPECT_THAT(taken({{"node_feat", npy<float>({1, 2}, 1)}, bytes}), ElementsAre(1, 2));
    EXPECT_THAT(taken({bytes}), ElementsAre(1, -2, 3, 4)) << "scales of 1";
    EXPECT_THAT(taken({bytes, {"x_scale", npy<float>({0.5F, 2})}}), ElementsAre(0.5F, -4, 1.5F, 8));
    EXPECT_THAT(taken({{"attr_shape", npy<std::int32_t>({2, 2})},
                       {"attr_indptr", npy<std::int32_t>({0, 1, 2})},
                       {"attr_indices", npy<std::int32_t>({1, 0})},
                       {"attr_data", npy<float>({5, 6})}}),
                ElementsAre(0, 5, 6, 0));
    EXPECT_THAT(taken({{"y", npy<float>({1, 2})}}), ElementsAre());
}

TEST_F(NpzParts, FeaturesThatAreRefused) {
    using Int = std::int32_t;
    EXPECT_EQ(features_refused({{"x_int8", npy<float>({1, 2, 3}, 1)}}),
              "the array is float32 (3, 1) where int8 is expected @, array 'x_int8'");
    const auto sparse = [](const std::vector<Int>& shape, const std::vector<float>& values) {
        return std::vector<ZipEntry>{{"attr_shape", npy(shape)},
                                     {"attr_indptr", npy<Int>({0, 1, 2, 2})},
                                     {"attr_indices", npy<Int>({1, 0})},
                                     {"attr_data", npy(values)}};
    };
    EXPECT_EQ(rows_as_floats(*features(sparse({3, 2}, {1, 2}), 3)),
              (std::vector<float>{0, 1, 2, 0, 0, 0}));
    EXPECT_EQ(features_refused(sparse({3}, {1, 2})),
              "a shape is two numbers @, array 'attr_shape'");
    EXPECT_EQ(features_refused(sparse({3, -2}, {1, 2})),
              "a shape is two numbers @, array 'attr_shape'");
    EXPECT_EQ(features_refused(sparse({4, 2}, {1, 2})),
              "there are 4 rows of features for 3 vertices @, array 'attr_shape'");
    EXPECT_EQ(features_refused(sparse({3, 1}, {1, 2})),
              "id 1 is out of range 0..0 @, array 'attr_indices', position 0");
    EXPECT_EQ(features_refused(sparse({3, 2}, {1})),
              "there are 1 values for 2 entries @, array 'attr_data'");
    EXPECT_EQ(features_refused({{"feat_indptr", npy<Int>({0})}}),
              "array 'feat_shape' is missing @");
}

TEST(VertexCount, NeedsEvidenceOnlyWhereItIsLarge) {
    const VertexId fine = VertexId{1} << 22;
    EXPECT_NO_THROW(graph::check_vertex_count(fine, 0, "here"));
    EXPECT_NO_THROW(graph::check_vertex_count(fine + 1, fine / 64, "here"));
    const Refusal refusal =
        refusal_of([&] { graph::check_vertex_count(fine + 1, fine / 64 - 1, "here"); });
    EXPECT_EQ(refusal.problem, "4194305 vertices cannot be meant in an input of this size");
    EXPECT_EQ(refusal.where, "here");
}

}  // namespace
}  // namespace rudder::test
