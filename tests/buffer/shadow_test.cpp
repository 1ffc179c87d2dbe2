// Shadow buffers, row numbers and inclusion probabilities.
#include <cmath>
#include <unordered_map>

#include <gtest/gtest.h>

#include "buffer/inclusion.hpp"
#include "buffer/shadow_buffer.hpp"
#include "buffer/trace_window.hpp"
#include "rudder/buffer/replay.hpp"
#include "rudder/core/parallel.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

Rows shadowed(const buffer::HostTrace& trace, const std::string& policy, buffer::SlotId capacity,
              const buffer::ShadowOptions& options) {
    const auto feed = std::make_shared<buffer::ShadowFeed>(trace.facts(), options);
    buffer::ShadowBuffer shadow(buffer::PolicySpec::parse(policy), feed, capacity, capacity);
    buffer::TraceWindow steps(trace);
    std::uint64_t published = 0;
    for (std::uint64_t step = 0; step < trace.steps(); ++step) {
        for (; published < trace.steps() && published - step <= shadow.horizon(); ++published)
            feed->publish(published, steps.step(published));
        shadow.advance();
        feed->forget(step + 1);
    }
    return shadow.estimated();
}

TEST(Shadows, OfAllRowsEqualTheReplay) {
    const auto trace = random_trace(4).host();
    for (const char* policy : {"lru", "static-degree", "scored,every:4", "window:8", "optimal"}) {
        const Rows expected = buffer::replay_host(*trace, buffer::PolicySpec::parse(policy), 9);
        EXPECT_EQ(shadowed(*trace, policy, 9, {1, 0}), expected) << policy;
    }
}

TEST(Shadows, OfASampleComeNearOnAGoldenTrace) {
    const buffer::Trace golden =
        buffer::read_trace(std::string(RUDDER_SOURCE_DIR) + "/tests/data/golden/npm_1000.npz");
    const buffer::HostTrace& trace = *golden[0];
    for (const char* policy : {"none", "static-degree", "lru", "scored", "window:16"}) {
        for (const double fraction : {0.05, 0.25}) {
            const auto capacity =
                static_cast<buffer::SlotId>(fraction * static_cast<double>(trace.halo()));
            const Rows all =
                buffer::replay_host(trace, buffer::PolicySpec::parse(policy), capacity);
            const Rows guess = shadowed(trace, policy, capacity, {16, 0});
            EXPECT_EQ(guess.needed, all.needed);
            const auto real = static_cast<double>(all.fetched());
            EXPECT_NEAR(static_cast<double>(guess.fetched()) / real, 1, 0.05)
                << policy << ' ' << fraction;
        }
    }
}

TEST(RowNumbers, AreTheSameInBothTables) {
    const RandomStream stream({Purpose::test, 9});
    Draws draws(stream, 0);
    const std::vector<VertexId> halo{3, 8, 70000, 900000};
    buffer::RowNumbering direct(1000000, halo);
    buffer::RowNumbering hashed(1000000, halo, 0);
    std::unordered_map<VertexId, buffer::RowKey> expected;
    for (const VertexId v : halo)
        expected.emplace(v, static_cast<buffer::RowKey>(expected.size()));
    for (int round = 0; round < 50; ++round) {
        std::vector<VertexId> ids(draws.below(500));
        for (VertexId& id : ids)
            id = draws.below(1000000) >> draws.below(10);
        std::vector<buffer::RowKey> a(ids.size());
        std::vector<buffer::RowKey> b(ids.size());
        hashed.find(ids, b);
        for (std::size_t i = 0; i < ids.size(); ++i)
            EXPECT_EQ(b[i] == buffer::no_row, !expected.contains(ids[i]));
        direct.number(ids, a);
        hashed.number(ids, b);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto at =
                expected.emplace(ids[i], static_cast<buffer::RowKey>(expected.size())).first;
            ASSERT_EQ(a[i], at->second);
            ASSERT_EQ(b[i], at->second);
            EXPECT_EQ(direct.vertex(a[i]), ids[i]);
        }
    }
    EXPECT_EQ(direct.halo(), 4U);
    EXPECT_EQ(direct.size(), expected.size());
    std::vector<buffer::RowKey> row(1);
    EXPECT_THROW(direct.number(std::vector<VertexId>{1000000}, row), InternalError);
}

TEST(RowNumbers, FoundOnSeveralThreadsAreTheSame) {
    const RandomStream stream({Purpose::test, 10});
    Draws draws(stream, 0);
    constexpr VertexId universe = 300000;
    for (const VertexId limit : {universe, VertexId{0}}) {  // both tables
        buffer::RowNumbering together(universe, {}, limit);
        buffer::RowNumbering plain(universe, {});
        for (int round = 0; round < 5; ++round) {
            std::vector<VertexId> ids(100000);
            for (VertexId& id : ids)
                id = draws.below(universe);
            std::vector<buffer::RowKey> expected(ids.size());
            std::vector<buffer::RowKey> rows(ids.size());
            plain.number(ids, expected);
            parallel_chunks(ids.size(), 5000, [&](const Chunk& chunk) {
                const std::size_t count = chunk.end - chunk.begin;
                together.find(std::span(ids).subspan(chunk.begin, count),
                              std::span(rows).subspan(chunk.begin, count));
            });
            together.add_missing(ids, rows);
            ASSERT_EQ(rows, expected);
        }
    }
}

TEST(RowNumbers, OfAnEmptyUniverse) {
    const buffer::RowNumbering none(0, {});
    EXPECT_EQ(none.size(), 0U);
    buffer::RowNumbering huge(VertexId{1} << 60, {});
    std::vector<buffer::RowKey> row(1);
    huge.number(std::vector<VertexId>{(VertexId{1} << 60) - 1}, row);
    EXPECT_EQ(row[0], 0U);
}

/// A path 0 - 1 - 2 and a star around 3 with 4 leaves.
graph::Topology path_and_star() {
    const std::vector<EdgeIndex> offsets{0, 1, 3, 4, 8, 9, 10, 11, 12};
    const std::vector<std::uint32_t> neighbours{1, 0, 2, 1, 4, 5, 6, 7, 3, 3, 3, 3};
    return {Array<EdgeIndex>::copy_of(offsets), IdArray(Array<std::uint32_t>::copy_of(neighbours))};
}

TEST(Inclusion, OfGraphsThatCanBeWorkedOut) {
    const graph::Topology graph = path_and_star();
    const std::vector<double> seeds{0.5, 0, 0, 1, 0, 0, 0, 0};
    const std::vector<std::int32_t> one{2};
    const auto p = buffer::inclusion_probabilities(graph.view(), seeds, one);
    EXPECT_DOUBLE_EQ(p[0], 0.5);
    EXPECT_DOUBLE_EQ(p[1], 0.5);
    EXPECT_DOUBLE_EQ(p[2], 0);
    EXPECT_DOUBLE_EQ(p[3], 1);
    EXPECT_DOUBLE_EQ(p[4], 0.5);  // two of four leaves
    const std::vector<std::int32_t> all{-1, -1};
    const auto q = buffer::inclusion_probabilities(graph.view(), seeds, all);
    EXPECT_DOUBLE_EQ(q[2], 0.5);
    EXPECT_DOUBLE_EQ(q[4], 1);
    const std::vector<std::vector<double>> parts{p, p};
    const std::vector<VertexId> halo{1, 4};
    EXPECT_DOUBLE_EQ(buffer::halo_inclusion(halo, parts)[0], 0.75);
    EXPECT_DOUBLE_EQ(buffer::presampled_inclusion(std::vector<std::uint32_t>{3}, 4)[0], 0.75);
}

TEST(Inclusion, RanksAsSamplingDoes) {
    // Batches drawn from a random graph: the analytic ranking must find the often needed vertices.
    const RandomStream stream({Purpose::test, 21});
    Draws draws(stream, 0);
    constexpr std::size_t n = 300;
    std::vector<std::vector<std::uint32_t>> rows(n);
    for (int e = 0; e < 1500; ++e) {
        const double u = draws.uniform();
        const auto a = static_cast<std::uint32_t>(u * u * n);
        const auto b = static_cast<std::uint32_t>(draws.below(n));
        rows[a].push_back(b);
        rows[b].push_back(a);
    }
    std::vector<EdgeIndex> offsets{0};
    std::vector<std::uint32_t> flat;
    for (auto& row : rows) {
        std::sort(row.begin(), row.end());
        flat.insert(flat.end(), row.begin(), row.end());
        offsets.push_back(flat.size());
    }
    const graph::Topology graph(Array<EdgeIndex>::copy_of(offsets),
                                IdArray(Array<std::uint32_t>::copy_of(flat)));
    std::vector<double> seeds(n, 0);
    for (std::size_t v = 0; v < 60; ++v)
        seeds[v] = 5.0 / 60;
    const std::vector<std::int32_t> fanout{2, 2};
    const auto p = buffer::inclusion_probabilities(graph.view(), seeds, fanout);
    std::vector<std::uint32_t> counts(n, 0);
    constexpr int batches = 4000;
    for (int t = 0; t < batches; ++t) {
        std::vector<bool> in(n, false);
        std::vector<std::uint32_t> all;
        while (all.size() < 5) {
            const auto v = static_cast<std::uint32_t>(draws.below(60));
            if (!in[v]) all.push_back(v);
            in[v] = true;
        }
        for (int layer = 0; layer < 2; ++layer) {
            const std::size_t size = all.size();
            for (std::size_t i = 0; i < size; ++i) {
                auto row = rows[all[i]];
                for (std::size_t k = 0; k < 2 && k < row.size(); ++k) {
                    std::swap(row[k], row[k + draws.below(row.size() - k)]);
                    if (!in[row[k]]) all.push_back(row[k]);
                    in[row[k]] = true;
                }
            }
        }
        for (const std::uint32_t v : all)
            ++counts[v];
    }
    const auto seen = buffer::presampled_inclusion(counts, batches);
    double error = 0;
    for (std::size_t v = 0; v < n; ++v) {
        EXPECT_NEAR(p[v], seen[v], 0.15) << v;  // edges are not quite independent
        error += std::abs(p[v] - seen[v]) / n;
    }
    EXPECT_LT(error, 0.02);
}

}  // namespace
}  // namespace rudder::test
