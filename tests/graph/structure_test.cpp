// Counts, symmetry, splits and array folders against slow versions and to the letter.
#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json.hpp"
#include "graph/io/npy.hpp"
#include "rudder/graph/array_folder.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/targets.hpp"

#include "support/random_graph.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

graph::BuiltTopology built(const RandomEdges& random, const graph::BuildOptions& options) {
    return graph::build_topology(
        graph::EdgeSpan(random.vertices, std::span<const graph::Edge>(random.edges)), options);
}

TEST(TopologyCounts, AreThoseOfASlowCount) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(seed);
        const RandomEdges random = random_edges(seed, 40);
        for (const bool symmetrise : {false, true}) {
            const auto made =
                built(random,
                      {.symmetrise = symmetrise, .keep_self_loops = true, .keep_duplicates = true});
            const auto rows = rows_of(made.topology.view());
            graph::TopologyCounts slow;
            std::map<std::pair<VertexId, VertexId>, int> entries;
            for (VertexId v = 0; v < rows.size(); ++v) {
                for (const VertexId u : rows[v]) {
                    slow.self_loops += u == v ? 1U : 0U;
                    slow.duplicates += entries[{u, v}]++ > 0 ? 1U : 0U;
                }
            }
            const auto fast = graph::count_irregular(made.topology.view());
            EXPECT_EQ(fast.self_loops, slow.self_loops);
            EXPECT_EQ(fast.duplicates, slow.duplicates);
            EXPECT_EQ(made.kept.self_loops, slow.self_loops);
            EXPECT_EQ(made.kept.duplicates, slow.duplicates);
            const bool both_ways = std::ranges::all_of(entries, [&](const auto& entry) {
                const auto back = entries.find({entry.first.second, entry.first.first});
                return back != entries.end() && back->second == entry.second;
            });
            EXPECT_EQ(graph::is_symmetric(made.topology.view()), both_ways);
        }
    }
}

TEST(Topology, SymmetrisedIsBuiltFromScratch) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const RandomEdges random = random_edges(seed, 40);
        const auto stored = built(random, {.symmetrise = false,
                                           .keep_self_loops = seed % 2 == 0,
                                           .keep_duplicates = seed % 3 == 0});
        const graph::Topology made = graph::symmetrised(stored.topology.view());
        EXPECT_EQ(rows_of(made.view()), naive_rows(random, {})) << seed;
        EXPECT_TRUE(graph::is_symmetric(made.view()));
        // Twice is as once.
        EXPECT_EQ(rows_of(graph::symmetrised(made.view()).view()), rows_of(made.view()));
    }
}

TEST(Topology, WhatIsDroppedAndKeptAddsUp) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const RandomEdges random = random_edges(seed, 20);
        const auto lean = built(random, {.symmetrise = false});
        EXPECT_EQ(lean.topology.edges() + lean.dropped.self_loops + lean.dropped.duplicates,
                  random.edges.size());
        EXPECT_EQ(lean.kept.self_loops + lean.kept.duplicates, 0U);
        const auto all =
            built(random, {.symmetrise = false, .keep_self_loops = true, .keep_duplicates = true});
        EXPECT_EQ(all.topology.edges(), random.edges.size());
        EXPECT_EQ(all.dropped.self_loops + all.dropped.duplicates, 0U);
    }
}

TEST(SplitRule, IsReadFromText) {
    const auto shares = std::get<graph::SplitFractions>(graph::parse_split("60/20/20"));
    EXPECT_DOUBLE_EQ(shares.train, 0.6);
    EXPECT_DOUBLE_EQ(shares.valid, 0.2);
    EXPECT_DOUBLE_EQ(shares.test, 0.2);
    const auto counts = std::get<graph::SplitPerClass>(graph::parse_split("per-class:20/500/1000"));
    EXPECT_EQ(counts.train, 20U);
    EXPECT_EQ(counts.valid, 500U);
    EXPECT_EQ(counts.test, 1000U);
    for (const std::string text :
         {"", "60/20", "60/20/20/0", "60/20/21", "-1/50/50", "a/b/c", "per-class:1/2",
          "per-class:1/2/x", "per-class:-1/2/3", "per-class:1.5/2/3", "nan/1/1"}) {
        const Refusal refusal = refusal_of([&] { (void)graph::parse_split(text); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.problem, "invalid split: '" + text + "'");
        EXPECT_EQ(refusal.where, "--split");
    }
}

TEST(SplitRule, SharesAreExactAndByTheSeed) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        const VertexId n = 1 + random() % 300;
        const double train = static_cast<double>(random() % 50) / 100;
        const double valid = static_cast<double>(random() % 50) / 100;
        const graph::SplitFractions rule{train, valid, 1 - train - valid};
        const auto roles = graph::make_split(n, {}, {}, rule, seed);
        const auto counts = graph::count_split(roles.span());
        EXPECT_EQ(counts.train + counts.valid + counts.test, n) << "everybody has a role";
        EXPECT_NEAR(static_cast<double>(counts.train), train * static_cast<double>(n), 0.5001);
        EXPECT_NEAR(static_cast<double>(counts.train + counts.valid),
                    (train + valid) * static_cast<double>(n), 0.5001);
        const auto again = graph::make_split(n, {}, {}, rule, seed);
        EXPECT_TRUE(std::ranges::equal(roles.span(), again.span()));
    }
    const auto one = graph::make_split(200, {}, {}, graph::SplitFractions{0.5, 0.2, 0.3}, 1);
    const auto two = graph::make_split(200, {}, {}, graph::SplitFractions{0.5, 0.2, 0.3}, 2);
    EXPECT_FALSE(std::ranges::equal(one.span(), two.span()));
}

TEST(SplitRule, PerClassTakesTheSameOfEachAndNoneUnlabelled) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::int32_t> classes(200);
        for (auto& label : classes)
            label = static_cast<std::int32_t>(random() % 5) - 1;  // -1: no label
        graph::TargetInfo info{.kind = graph::TargetKind::classes, .count = 4};
        const graph::TargetView view{classes, {}, {}};
        const auto roles =
            graph::make_split(200, info, view, graph::SplitPerClass{7, 30, 10'000}, seed);
        std::map<std::int32_t, VertexId> trained;
        for (VertexId v = 0; v < 200; ++v) {
            if (classes[v] < 0) {
                EXPECT_EQ(roles[v], graph::Role::none);
            } else {
                EXPECT_NE(roles[v], graph::Role::none) << "there is room in test for all";
            }
            if (roles[v] == graph::Role::train) ++trained[classes[v]];
        }
        for (std::int32_t label = 0; label < 4; ++label) {
            const auto there = static_cast<VertexId>(std::ranges::count(classes, label));
            EXPECT_EQ(trained[label], std::min<VertexId>(7, there));
        }
        EXPECT_EQ(graph::count_split(roles.span()).valid, 30U);
    }
    const Refusal refusal = refusal_of([] {
        (void)graph::make_split(3, {}, {}, graph::SplitPerClass{1, 1, 1}, 0);
    });
    EXPECT_EQ(refusal.problem, "a split per class needs one class per vertex");
}

/// Folders of two small arrays.
class ArrayFolderOf : public testing::Test {
protected:
    void SetUp() override {
        graph::ArrayFolderWriter writer(temp_.path());
        const std::vector<std::uint32_t> ids{1, 2, 3, 4};
        writer.write<std::uint32_t>("ids", ids);
        auto stream = writer.stream("rows", ElementType::f32, {2, 3});
        for (const float value : {0.F, 1.F, 2.F, 3.F, 4.F, 5.F})
            stream.append(std::span<const float>(&value, 1));
        stream.finish();
        writer.finish({{"format", "rudder test"}, {"version", 3}});
    }
    [[nodiscard]] graph::ArrayFolder open() const { return {temp_.path(), "rudder test", 3}; }
    void edit(const std::function<void(Json&)>& change) {
        Json manifest = read_json(temp_ / "manifest.json");
        change(manifest);
        std::ofstream(temp_ / "manifest.json") << manifest.dump();
    }
    TempDir temp_;
};

TEST_F(ArrayFolderOf, ReadsWhatWasWritten) {
    const auto folder = open();
    EXPECT_TRUE(graph::ArrayFolder::is(temp_.path(), "rudder test"));
    EXPECT_FALSE(graph::ArrayFolder::is(temp_.path(), "rudder other"));
    EXPECT_FALSE(graph::ArrayFolder::is(temp_ / "absent", "rudder test"));
    EXPECT_THAT(folder.map<std::uint32_t>("ids", {4}).span(), testing::ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(folder.map<float>("rows", {2, 3}).span(), testing::ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_TRUE(folder.has("ids"));
    EXPECT_FALSE(folder.has("no"));
    EXPECT_EQ(folder.arrays().at("rows").bytes(), 24U);
    EXPECT_NO_THROW(folder.verify_checksums());
}

TEST_F(ArrayFolderOf, RefusesOtherShapesAndTypes) {
    const auto folder = open();
    EXPECT_EQ(refusal_of([&] { (void)folder.map<std::uint32_t>("ids", {5}); }).kind,
              ErrorKind::input);
    EXPECT_EQ(refusal_of([&] {
                  (void)folder.map<std::uint32_t>("rows", {2, 3});
              }).kind,
              ErrorKind::input);
    EXPECT_EQ(refusal_of([&] {
                  (void)folder.map<float>("absent", {2, 3});
              }).kind,
              ErrorKind::input);
}

TEST_F(ArrayFolderOf, RefusesManifestsToTheLetter) {
    const auto problem = [&](const std::function<void(Json&)>& change) {
        const Json good = read_json(temp_ / "manifest.json");
        edit(change);
        const Refusal refusal = refusal_of([&] { (void)open(); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        std::ofstream(temp_ / "manifest.json") << good.dump();
        return refusal.problem;
    };
    EXPECT_EQ(problem([](Json& m) { m["format"] = "rudder other"; }),
              "this is a 'rudder other', not a 'rudder test'");
    for (const char* name : {"", "..", "a/b", "/etc/passwd"})
        EXPECT_EQ(problem([&](Json& m) { m["arrays"]["ids"]["file"] = name; }),
                  fmt::format("invalid file name: '{}'", name));
    EXPECT_EQ(problem([](Json& m) { m["arrays"]["ids"]["type"] = "int7"; }), "unknown type 'int7'");
    EXPECT_NE(problem([](Json& m) { m["arrays"]["ids"]["shape"] = Json::array({5}); }), "");
    EXPECT_NE(problem([](Json& m) { m["version"] = 4; }), "") << "of a newer program";
    std::filesystem::remove(temp_ / "manifest.json");
    const Refusal missing = refusal_of([&] { (void)open(); });
    EXPECT_EQ(missing.problem, "not a Rudder test (manifest.json missing)");
    EXPECT_EQ(missing.where, temp_.path().string());
}

TEST_F(ArrayFolderOf, EveryChangedByteIsFound) {
    for (const char* name : {"ids.bin", "rows.bin"}) {
        const auto file = temp_ / name;
        for (std::uintmax_t at = 0; at < std::filesystem::file_size(file); ++at) {
            std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
            stream.seekg(static_cast<std::streamoff>(at));
            const int byte = stream.get();
            stream.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte ^ 0x40));
            stream.close();
            EXPECT_THROW(open().verify_checksums(), Error) << name << at;
            std::fstream back(file, std::ios::binary | std::ios::in | std::ios::out);
            back.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte));
        }
    }
    EXPECT_NO_THROW(open().verify_checksums());
}

TEST(NpyHeader, IsReadAsItIsWritten) {
    std::mt19937_64 random(6);
    constexpr std::array types{ElementType::f32, ElementType::f16, ElementType::i8, ElementType::u8,
                               ElementType::f64, ElementType::i64, ElementType::u32};
    for (int round = 0; round < 200; ++round) {
        graph::NpyHeader header;
        header.type = types[random() % types.size()];
        for (std::uint64_t d = random() % 4; d > 0; --d)
            header.shape.push_back(random() % 1000);
        const std::string bytes = graph::make_npy_header(header);
        EXPECT_EQ(bytes.size() % 64, 0U);
        EXPECT_EQ(bytes.substr(0, 6), "\x93NUMPY");
        const graph::NpyHeader read = graph::parse_npy_header(bytes.substr(10), "here");
        EXPECT_EQ(read.type, header.type);
        EXPECT_EQ(read.shape, header.shape);
        EXPECT_EQ(read.bytes(), header.bytes());
    }
}

TEST(NpyHeader, HostileLiteralsAreRefusedWithAPlace) {
    std::mt19937_64 random(7);
    graph::NpyHeader header;
    header.type = ElementType::f32;
    header.shape = {12, 3};
    const std::string good = graph::make_npy_header(header).substr(10);
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string bad = good;
        for (std::uint64_t change = 1 + random() % 3; change > 0; --change) {
            const std::size_t at = random() % bad.size();
            if (random() % 3 == 0) {
                bad.erase(at, 1 + random() % 4);
            } else {
                bad[at] = static_cast<char>(random());
            }
            if (bad.empty()) break;
        }
        try {
            const auto read = graph::parse_npy_header(bad, "archive, array 'x'");
            (void)read.describe();
        } catch (const Error& error) {
            ++refused;
            EXPECT_EQ(error.kind(), ErrorKind::input);
            EXPECT_THAT(error.where(), testing::HasSubstr("archive, array 'x'"));
            EXPECT_FALSE(error.remedy().empty());
        }
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace rudder::test
