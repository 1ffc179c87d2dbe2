// The streaming engine against the same rules written down slowly: no tree, no ring, no running
// sums.
#include "partition/streaming.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/random_graph.hpp"

namespace rudder {
namespace {

using partition::balance_kinds;
using partition::Loads;
using partition::MinTree;
using partition::StreamState;
using partition::Weights;
using test::TestGraph;

/// LDG's score, spelt for both sides: neighbours times the room that is left.
struct RoomScore {
    static constexpr bool restart = true;
    static double of(double neighbours, double fullness) {
        return neighbours * (1 - fullness / 1.5);
    }
    double operator()(double neighbours, PartId p, const Loads& loads,
                      const StreamState& state) const {
        return of(neighbours, loads.fullness(p, state.per_placed));
    }
};

/// Fennel's kind: neighbours less a price that grows with each pass.
struct PriceScore {
    static constexpr bool restart = false;
    static double of(double neighbours, double fullness, std::uint32_t pass) {
        return neighbours - std::ldexp(1.25, static_cast<int>(pass)) * std::sqrt(fullness);
    }
    double operator()(double neighbours, PartId p, const Loads& loads,
                      const StreamState& state) const {
        return of(neighbours, loads.fullness(p), state.pass);
    }
};

/// Everything is counted afresh for each vertex.
template <class Score>
class SlowStream {
public:
    SlowStream(const TestGraph& graph, const partition::PartitionOptions& options)
        : input_(graph.input()),
          options_(options),
          rows_(test::rows_of(graph.topology.view())),
          limits_(input_, options),
          part_(rows_.size(), options.parts),
          counted_(rows_.size(), false) {
        for (VertexId v = 0; v < rows_.size(); ++v) {
            const Weights w = partition::weights_of(input_, v);
            for (std::size_t c = 0; c < balance_kinds; ++c)
                totals_[c] += w[c];
        }
    }

    std::vector<PartId> run() {
        const RandomStream stream({.purpose = Purpose::partition, .seed = options_.seed});
        const partition::Permutation shuffled(rows_.size(), stream);
        const EdgeIndex hub = 4 * (input_.graph.edges() / rows_.size() + 1);
        for (pass_ = 0; pass_ < options_.passes; ++pass_) {
            if (Score::restart) counted_.assign(rows_.size(), false);
            std::vector<VertexId> late;
            for (VertexId i = 0; i < rows_.size(); ++i) {
                const VertexId v =
                    options_.order == partition::StreamOrder::random ? shuffled(i) : i;
                bool known = false;
                for (const VertexId u : rows_[v])
                    known = known || part_[u] != options_.parts;
                if (pass_ == 0 && !known && rows_[v].size() < hub) {
                    late.push_back(v);
                } else {
                    place(v);
                }
            }
            for (const VertexId v : late)
                place(v);
        }
        return part_;
    }

private:
    void place(VertexId v) {
        counted_[v] = false;
        std::vector<Weights> loads(options_.parts);
        Weights placed{};
        for (VertexId u = 0; u < rows_.size(); ++u) {
            if (!counted_[u]) continue;
            const Weights w = partition::weights_of(input_, u);
            for (std::size_t c = 0; c < balance_kinds; ++c) {
                loads[part_[u]][c] += w[c];
                placed[c] += w[c];
            }
        }
        part_[v] = choose(v, loads, placed);
        counted_[v] = true;
    }

    [[nodiscard]] double fullness(const Weights& load, const Weights* placed) const {
        double most = 0;
        for (std::size_t c = 0; c < balance_kinds; ++c) {
            if (!limits_.active(c)) continue;
            double factor =
                1 / (static_cast<double>(totals_[c]) / static_cast<double>(options_.parts));
            if (placed != nullptr) {
                const double share =
                    static_cast<double>((*placed)[c]) / static_cast<double>(totals_[c]);
                factor /= std::max(share, 1.0 / 16);
            }
            most = std::max(most, static_cast<double>(load[c]) * factor);
        }
        return most;
    }

    [[nodiscard]] PartId choose(VertexId v, const std::vector<Weights>& loads,
                                const Weights& placed) const {
        std::vector<double> near(options_.parts, 0);
        for (const VertexId u : rows_[v]) {
            if (part_[u] != options_.parts) near[part_[u]] += 1;
        }
        PartId emptiest = 0;
        for (PartId p = 1; p < options_.parts; ++p) {
            if (fullness(loads[p], nullptr) < fullness(loads[emptiest], nullptr)) emptiest = p;
        }
        std::set<PartId> candidates{emptiest};
        for (PartId p = 0; p < options_.parts; ++p) {
            if (near[p] > 0) candidates.insert(p);
        }
        PartId best = best_of(candidates, v, near, loads, placed);
        if (best != options_.parts) return best;
        for (PartId p = 0; p < options_.parts; ++p)
            candidates.insert(p);
        best = best_of(candidates, v, near, loads, placed);
        return best != options_.parts ? best : emptiest;
    }

    [[nodiscard]] PartId best_of(const std::set<PartId>& candidates, VertexId v,
                                 const std::vector<double>& near, const std::vector<Weights>& loads,
                                 const Weights& placed) const {
        const Weights w = partition::weights_of(input_, v);
        PartId best = options_.parts;
        std::pair<double, double> best_rank;
        for (const PartId p : candidates) {
            bool fits = true;
            for (std::size_t c = 0; c < balance_kinds; ++c)
                fits = fits && (w[c] == 0 || loads[p][c] + w[c] <= limits_.limit(c));
            if (!fits) continue;
            double score = 0;
            if constexpr (Score::restart) {
                score = Score::of(near[p], fullness(loads[p], &placed));
            } else {
                score = Score::of(near[p], fullness(loads[p], nullptr), pass_);
            }
            const std::pair rank{score, -fullness(loads[p], nullptr)};
            if (best == options_.parts || rank > best_rank) {
                best = p;
                best_rank = rank;
            }
        }
        return best;
    }

    partition::PartitionInput input_;
    partition::PartitionOptions options_;
    std::vector<std::vector<VertexId>> rows_;
    Loads limits_;
    std::vector<PartId> part_;
    std::vector<bool> counted_;
    Weights totals_{};
    std::uint32_t pass_ = 0;
};

template <class Score>
void expect_as_slow(std::uint64_t seeds) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE(seed);
        const auto random = test::random_edges(seed, 60);
        const TestGraph graph = test::make_graph(random.vertices, random.edges, seed % 4);
        partition::PartitionOptions options;
        options.parts = static_cast<PartId>(1 + seed % std::min<VertexId>(7, random.vertices));
        options.method = "ldg";
        options.passes = static_cast<std::uint32_t>(1 + seed % 4);
        options.seed = seed;
        options.slack = seed % 5 == 0 ? 0 : 0.3;
        options.order =
            seed % 2 == 0 ? partition::StreamOrder::random : partition::StreamOrder::natural;
        if (seed % 3 == 0) options.balance = partition::parse_balance("vertices,train,edges");
        const auto fast =
            partition::stream_parts(graph.input(), options, Score{}, Progress::none());
        EXPECT_EQ(std::vector<PartId>(fast.begin(), fast.end()),
                  SlowStream<Score>(graph, options).run());
    }
}

TEST(Streaming, CountsAfreshAsTheSlowOneDoes) {
    expect_as_slow<RoomScore>(120);
}

TEST(Streaming, TakesVerticesOutAsTheSlowOneDoes) {
    expect_as_slow<PriceScore>(120);
}

TEST(Streaming, KnownAnswers) {
    // A path 0-1-2-3 and two parts of two: in natural order 0 waits, as all do: nothing is placed
    // yet; then 0 goes to part 0, 1 follows it, part 0 is full, and the rest goes to part 1.
    const TestGraph path = test::make_graph(4, {{0, 1}, {1, 2}, {2, 3}}, 0);
    partition::PartitionOptions options;
    options.parts = 2;
    options.slack = 0;
    options.balance = partition::parse_balance("vertices");
    options.order = partition::StreamOrder::natural;
    const auto parts =
        partition::stream_parts(path.input(), options, PriceScore{}, Progress::none());
    EXPECT_THAT(std::vector<PartId>(parts.begin(), parts.end()), testing::ElementsAre(0, 0, 1, 1));
    // A single part takes everything.
    options.parts = 1;
    const auto one = partition::stream_parts(path.input(), options, RoomScore{}, Progress::none());
    EXPECT_THAT(std::vector<PartId>(one.begin(), one.end()), testing::ElementsAre(0, 0, 0, 0));
}

TEST(Streaming, PlacesEveryVertexWhereNothingFits) {
    // Edges cannot be balanced around a hub; every vertex must go somewhere all the same.
    std::vector<graph::Edge> star;
    for (VertexId v = 1; v < 40; ++v)
        star.push_back({0, v});
    const TestGraph graph = test::make_graph(40, star, 1);
    partition::PartitionOptions options;
    options.parts = 5;
    options.slack = 0;
    options.balance = partition::parse_balance("vertices,train,edges");
    for (const auto order : {partition::StreamOrder::random, partition::StreamOrder::natural}) {
        options.order = order;
        const auto fast =
            partition::stream_parts(graph.input(), options, RoomScore{}, Progress::none());
        EXPECT_EQ(std::vector<PartId>(fast.begin(), fast.end()),
                  SlowStream<RoomScore>(graph, options).run());
        EXPECT_LT(std::ranges::max(fast.span()), 5U);
    }
}

TEST(MinTree, IsTheSmallestWhateverChanges) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 5});
    for (const PartId leaves : {1U, 2U, 3U, 4U, 5U, 8U, 9U, 31U, 64U, 100U}) {
        MinTree tree(leaves);
        std::vector<double> values(leaves, 0.0);
        EXPECT_EQ(tree.least(), 0U);
        Draws draws(stream, leaves);
        for (int change = 0; change < 300; ++change) {
            const auto leaf = static_cast<PartId>(draws.below(leaves));
            // Few values, so that there are ties: the lowest leaf wins.
            values[leaf] = static_cast<double>(draws.below(6));
            tree.set(leaf, values[leaf]);
            const auto least = std::ranges::min_element(values) - values.begin();
            ASSERT_EQ(tree.least(), static_cast<PartId>(least)) << leaves << " " << change;
            ASSERT_EQ(tree[leaf], values[leaf]);
        }
    }
}

TEST(StreamPermutation, DependsOnTheSeedAndSpreads) {
    const auto order = [](std::uint64_t seed) {
        const RandomStream stream({.purpose = Purpose::partition, .seed = seed});
        const partition::Permutation shuffled(500, stream);
        std::vector<std::uint64_t> all;
        for (std::uint64_t i = 0; i < 500; ++i)
            all.push_back(shuffled(i));
        return all;
    };
    EXPECT_EQ(order(1), order(1));
    EXPECT_NE(order(1), order(2));
    // Neighbours of the natural order are not neighbours: the mean distance of two random numbers
    // below n is n / 3.
    double distance = 0;
    const auto shuffled = order(3);
    for (std::size_t i = 1; i < shuffled.size(); ++i)
        distance +=
            std::abs(static_cast<double>(shuffled[i]) - static_cast<double>(shuffled[i - 1]));
    EXPECT_NEAR(distance / 499, 500.0 / 3, 20);
}

}  // namespace
}  // namespace rudder
