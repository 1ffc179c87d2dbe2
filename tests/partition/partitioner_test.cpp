#include "partition/partitioner.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/interrupt.hpp"
#include "partition/child_process.hpp"
#include "partition/loads.hpp"
#include "partition/metis_partitioner.hpp"
#include "partition/permutation.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "fixture.hpp"
#include "support/random_graph.hpp"

namespace rudder {
namespace {

using test::cliques;
using test::make_graph;
using test::naive_cut;
using test::scattered;
using test::TestGraph;

ErrorKind kind_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        EXPECT_FALSE(error.remedy().empty());
        return error.kind();
    }
    ADD_FAILURE() << "no error";
    return ErrorKind::failed;
}

void expect_valid(const TestGraph& graph, const partition::PartitionOptions& options,
                  const partition::Assignment& assignment) {
    ASSERT_EQ(assignment.parts.size(), graph.topology.vertices());
    const std::set<PartId> used(assignment.parts.begin(), assignment.parts.end());
    EXPECT_EQ(used.size(), options.parts) << options.method;
    EXPECT_LT(*used.rbegin(), options.parts);
}

/// Whether every limit holds that was asked for.
bool balanced(const TestGraph& graph, const partition::PartitionOptions& options,
              const partition::Assignment& assignment) {
    partition::Loads loads(graph.input(), options);
    loads.count(graph.input(), assignment.parts.span());
    for (PartId p = 0; p < options.parts; ++p) {
        if (loads.over(p)) return false;
    }
    return true;
}

class EveryMethod : public testing::TestWithParam<std::string_view> {
protected:
    [[nodiscard]] static partition::PartitionOptions options(PartId parts) {
        partition::PartitionOptions options;
        options.parts = parts;
        options.method = GetParam();
        return options;
    }
};
INSTANTIATE_TEST_SUITE_P(, EveryMethod, testing::Values("metis", "ldg", "fennel", "random", "hash"),
                         [](const auto& method) { return std::string(method.param); });

TEST_P(EveryMethod, DividesRandomGraphs) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto random = test::random_edges(seed, 80);
        const TestGraph graph = make_graph(random.vertices, random.edges, seed % 4);
        auto asked =
            options(static_cast<PartId>(1 + seed % std::min<VertexId>(9, random.vertices)));
        asked.seed = seed;
        asked.passes = static_cast<std::uint32_t>(1 + seed % 3);
        asked.order =
            seed % 2 == 0 ? partition::StreamOrder::random : partition::StreamOrder::natural;
        const partition::Assignment assignment = partition::assign_parts(graph.input(), asked);
        expect_valid(graph, asked, assignment);
        // What is not balanced is said.
        if (asked.method != "hash" && asked.method != "random" && assignment.warnings.empty()) {
            EXPECT_TRUE(balanced(graph, asked, assignment)) << asked.method << seed;
        }
    }
}

TEST_P(EveryMethod, IsTheSameForAnyNumberOfThreads) {
    const TestGraph graph = scattered(5, 3000, 8);
    for (const std::uint32_t passes : {1U, 3U}) {
        auto asked = options(4);
        asked.passes = passes;
        std::vector<std::vector<PartId>> results;
        for (const int threads : {1, 2, 5}) {
            set_thread_count(threads);
            const partition::Assignment made = partition::assign_parts(graph.input(), asked);
            results.emplace_back(made.parts.begin(), made.parts.end());
        }
        set_thread_count(0);
        EXPECT_EQ(results[0], results[1]);
        EXPECT_EQ(results[0], results[2]);
    }
}

TEST_P(EveryMethod, AsManyPartsAsVertices) {
    for (const VertexId n : {1U, 2U, 3U, 7U, 20U}) {
        const TestGraph graph = scattered(n, n, 4);
        const auto asked = options(static_cast<PartId>(n));
        expect_valid(graph, asked, partition::assign_parts(graph.input(), asked));
    }
}

TEST_P(EveryMethod, GraphsWithLittleInThem) {
    std::vector<graph::Edge> star;
    for (VertexId v = 1; v < 100; ++v)
        star.push_back({0, v});
    for (const VertexId train_every : {VertexId{0}, VertexId{2}}) {
        const std::vector<TestGraph> graphs = [&] {
            std::vector<TestGraph> made;
            made.push_back(make_graph(50, {}, train_every));
            made.push_back(make_graph(100, star, train_every));
            made.push_back(make_graph(100, {{3, 4}}, train_every));
            return made;
        }();
        for (const TestGraph& graph : graphs) {
            for (const PartId parts : {2U, 4U, 7U}) {
                const auto asked = options(parts);
                expect_valid(graph, asked, partition::assign_parts(graph.input(), asked));
            }
        }
    }
}

TEST_P(EveryMethod, RefusesMorePartsThanVertices) {
    const TestGraph graph = make_graph(3, {{0, 1}});
    EXPECT_EQ(kind_of([&] { (void)partition::assign_parts(graph.input(), options(4)); }),
              ErrorKind::usage);
    EXPECT_EQ(kind_of([&] { (void)partition::assign_parts(graph.input(), options(0)); }),
              ErrorKind::usage);
}

class GraphMethod : public EveryMethod {};
INSTANTIATE_TEST_SUITE_P(, GraphMethod, testing::Values("metis", "ldg", "fennel"),
                         [](const auto& method) { return std::string(method.param); });

TEST_P(GraphMethod, TwoCliquesAreCutBetween) {
    const TestGraph graph = cliques(2, 30);
    auto asked = options(2);
    asked.passes = 5;
    asked.balance = partition::BalanceSet{true, false, false};
    const partition::Assignment assignment = partition::assign_parts(graph.input(), asked);
    EXPECT_DOUBLE_EQ(naive_cut(graph.topology.view(), assignment.parts.span()),
                     2.0 / static_cast<double>(graph.topology.edges()));
}

TEST_P(GraphMethod, BalancesWhatItIsAsked) {
    const TestGraph graph = scattered(11, 4000, 10);
    for (const char* balance : {"vertices", "vertices,train", "vertices,train,edges", "edges"}) {
        for (const PartId parts : {2U, 4U, 16U}) {
            auto asked = options(parts);
            asked.balance = partition::parse_balance(balance);
            const partition::Assignment assignment = partition::assign_parts(graph.input(), asked);
            EXPECT_TRUE(assignment.warnings.empty()) << balance << parts;
            EXPECT_TRUE(balanced(graph, asked, assignment)) << balance << parts;
            EXPECT_LT(naive_cut(graph.topology.view(), assignment.parts.span()), 1 - 1.0 / parts);
        }
    }
}

TEST_P(GraphMethod, SaysWhenOneVertexMakesBalanceImpossible) {
    std::vector<graph::Edge> star;
    for (VertexId v = 1; v < 400; ++v)
        star.push_back({0, v});
    const TestGraph graph = make_graph(400, star);
    auto asked = options(4);
    asked.balance = partition::parse_balance("vertices,edges");
    const partition::Assignment assignment = partition::assign_parts(graph.input(), asked);
    ASSERT_EQ(assignment.warnings.size(), 1U);
    EXPECT_THAT(assignment.warnings[0], testing::HasSubstr("vertex 0 alone"));
    asked.balance = partition::parse_balance("vertices");
    EXPECT_TRUE(partition::assign_parts(graph.input(), asked).warnings.empty());
}

TEST(Partitioner, RandomIsExactlyBalanced) {
    const TestGraph graph = scattered(3, 1001, 5);
    partition::PartitionOptions options;
    options.parts = 7;
    options.method = "random";
    const partition::Assignment first = partition::assign_parts(graph.input(), options);
    partition::Loads loads(graph.input(), options);
    loads.count(graph.input(), first.parts.span());
    for (PartId p = 0; p < 7; ++p) {
        EXPECT_EQ(loads[p][0], 143U);
        EXPECT_NEAR(static_cast<double>(loads[p][1]), 334.0 / 7, 1);
    }
    options.seed = 1;
    const partition::Assignment second = partition::assign_parts(graph.input(), options);
    EXPECT_FALSE(std::ranges::equal(first.parts.span(), second.parts.span()));
}

TEST(Partitioner, UnknownNamesListTheKnown) {
    try {
        (void)partition::partitioner("metiss");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.remedy(), testing::HasSubstr("'metis'"));
        EXPECT_THAT(error.remedy(), testing::HasSubstr("metis, ldg, fennel, random, hash"));
    }
    EXPECT_EQ(kind_of([] { (void)partition::parse_balance("vertices,edge"); }), ErrorKind::usage);
    EXPECT_EQ(kind_of([] { (void)partition::parse_stream_order("sorted"); }), ErrorKind::usage);
    EXPECT_EQ(to_string(partition::parse_balance("edges,vertices")), "vertices,edges");
    EXPECT_EQ(partition::partitioner("ldg"), partition::assign_ldg);
}

TEST(Metis, SaysWhatIsTooLargeBeforeItStarts) {
    constexpr std::uint64_t plenty = std::uint64_t{1} << 50;
    constexpr EdgeIndex most = (EdgeIndex{1} << 31) - 1;
    EXPECT_FALSE(partition::metis_refusal(1000, most, 1, plenty));
    EXPECT_TRUE(partition::metis_refusal(1000, most + 1, 1, plenty));
    EXPECT_TRUE(partition::metis_refusal(most, 1000, 1, plenty));
    EXPECT_TRUE(partition::metis_refusal(VertexId{1} << 40, EdgeIndex{1} << 45, 3, plenty));
    const std::uint64_t needed = partition::metis_bytes(1'000'000, 30'000'000, 1);
    EXPECT_GT(needed, 2'000'000'000U);
    EXPECT_FALSE(partition::metis_refusal(1'000'000, 30'000'000, 1, needed));
    const auto refusal = partition::metis_refusal(1'000'000, 30'000'000, 1, needed - 1);
    ASSERT_TRUE(refusal);
    EXPECT_THAT(*refusal, testing::HasSubstr("30,000,000 arcs"));
}

TEST(ChildProcess, SurvivesWhateverHappensThere) {
    const Region shared = Region::allocate_shared(64);
    partition::run_in_child("a child", "nothing", [&] {
        shared.data()[0] = std::byte{7};
        return 0;
    });
    EXPECT_EQ(shared.data()[0], std::byte{7});
    const auto fails = [](auto work) {
        return kind_of([&] { partition::run_in_child("a child", "--method ldg", work); });
    };
    EXPECT_EQ(fails([] { return 3; }), ErrorKind::failed);
    EXPECT_EQ(fails([]() -> int { std::abort(); }), ErrorKind::failed);
    EXPECT_EQ(fails([]() -> int { std::exit(9); }), ErrorKind::failed);
    EXPECT_EQ(fails([]() -> int { throw 1; }), ErrorKind::failed);
}

TEST(ChildProcess, EndsOnAnInterrupt) {
    set_interrupted(true);
    EXPECT_EQ(kind_of([] { partition::run_in_child("a child", "x", [] { return 0; }); }),
              ErrorKind::interrupted);
    set_interrupted(false);
}

TEST(ChildProcess, EndsWithItsParent) {
    const Region shared = Region::allocate_shared(64);
    auto* const child = reinterpret_cast<std::atomic<pid_t>*>(shared.data());
    const pid_t parent = ::fork();
    if (parent == 0) {
        partition::run_in_child("a child", "nothing", [&] {
            child->store(::getpid());
            ::sleep(60);
            return 0;
        });
        ::_exit(0);
    }
    for (int i = 0; i < 2000 && child->load() == 0; ++i)
        ::usleep(1000);
    ASSERT_GT(child->load(), 0);
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    // Whoever inherits it may leave it as a zombie.
    const auto lives = [&] {
        std::ifstream in("/proc/" + std::to_string(child->load()) + "/stat");
        std::string number;
        std::string name;
        std::string state;
        return static_cast<bool>(in >> number >> name >> state) && state != "Z";
    };
    for (int i = 0; i < 2000 && lives(); ++i)
        ::usleep(1000);
    EXPECT_FALSE(lives());
}

TEST(Permutation, IsOneForEverySize) {
    const RandomStream stream({.purpose = Purpose::test});
    for (const std::uint64_t count : {1U, 2U, 3U, 4U, 5U, 17U, 64U, 65U, 1000U}) {
        const partition::Permutation order(count, stream);
        std::set<std::uint64_t> seen;
        for (std::uint64_t i = 0; i < count; ++i) {
            EXPECT_LT(order(i), count);
            seen.insert(order(i));
        }
        EXPECT_EQ(seen.size(), count);
    }
    const std::uint64_t huge = std::uint64_t{1} << 40;
    EXPECT_LT(partition::Permutation(huge, stream)(huge - 1), huge);
}

}  // namespace
}  // namespace rudder
