// Links: each edge once, with one role, whatever parts and ranks; and the pairs drawn beside them.
#include "sample/links.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "sample/bed.hpp"
#include "sample/suite.hpp"

namespace rudder::test {
namespace {

using graph::Role;
using sample::LinkDraws;
using Pair = std::pair<VertexId, VertexId>;

constexpr std::array<Role, 3> roles{Role::train, Role::valid, Role::test};

TEST(LinkDraws, GiveSharesAndOneSource) {
    const LinkDraws draws({.valid = 0.2, .test = 0.1}, true, 7);
    std::map<Role, int> counts;
    int from_first = 0;
    for (VertexId a = 0; a < 200; ++a) {
        for (VertexId b = a + 1; b < 200; ++b) {
            const auto one = draws.of(a, b);
            const auto other = draws.of(b, a);
            ASSERT_EQ(one.role, other.role);
            ASSERT_NE(one.reversed, other.reversed) << "one source, from either side";
            ++counts[one.role];
            from_first += one.reversed ? 0 : 1;
        }
    }
    constexpr double pairs = 200 * 199 / 2.0;
    EXPECT_NEAR(counts[Role::valid] / pairs, 0.2, 0.01);
    EXPECT_NEAR(counts[Role::test] / pairs, 0.1, 0.01);
    EXPECT_NEAR(from_first / pairs, 0.5, 0.02);
}

TEST(LinkDraws, DirectedLinksKeepTheirOrder) {
    const LinkDraws draws({.valid = 0.3, .test = 0.3}, false, 7);
    int differ = 0;
    for (VertexId a = 0; a < 100; ++a) {
        for (VertexId b = a + 1; b < 100; ++b) {
            EXPECT_FALSE(draws.of(a, b).reversed);
            EXPECT_FALSE(draws.of(b, a).reversed);
            differ += draws.of(a, b).role != draws.of(b, a).role ? 1 : 0;
        }
    }
    EXPECT_GT(differ, 2000) << "an edge back has a role of its own";
}

TEST(LinkDraws, NothingOrAllMayBeKeptBack) {
    const LinkDraws all({.valid = 0, .test = 0}, true, 1);
    const LinkDraws none({.valid = 0.5, .test = 0.5}, true, 1);
    for (VertexId v = 1; v < 1000; ++v) {
        EXPECT_EQ(all.of(0, v).role, Role::train);
        EXPECT_NE(none.of(0, v).role, Role::train);
    }
}

/// All links of all ranks in original ids, and every row that is left, in global ones.
struct Divided {
    std::map<Role, std::multiset<Pair>> links;
    std::map<VertexId, std::vector<VertexId>> rows;
    std::size_t withheld = 0;
};

/// By global id.
std::map<VertexId, VertexId> original_ids(const Bed& bed) {
    std::map<VertexId, VertexId> ids;
    for (const partition::Part& part : bed.data().all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v)
            ids[part.global(v)] = part.original_ids()[v];
    }
    return ids;
}

Divided divide(const Bed& bed, int ranks, bool symmetric) {
    Divided all;
    std::mutex mutex;
    const auto originals = original_ids(bed);
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const auto own = own_parts(comm, bed.data());
        const LinkDraws draws({.valid = 0.2, .test = 0.2}, symmetric, 5);
        sample::OwnLinks divided =
            sample::divide_links(comm, bed.data().book(), own, draws, symmetric);
        const std::lock_guard lock(mutex);
        all.withheld += divided.withheld;
        for (std::size_t i = 0; i < own.size(); ++i) {
            for (const Role role : roles) {
                const sample::LinkList& list = divided.links[i].of(role);
                ASSERT_EQ(list.sources.size(), list.targets.size());
                Pair before{0, 0};
                for (std::size_t l = 0; l < list.size(); ++l) {
                    const Pair next{list.sources[l], list.targets[l]};
                    EXPECT_TRUE(l == 0 || before < next) << "ascending, each once";
                    before = next;
                    ASSERT_LT(list.sources[l], own[i].own());
                    all.links[role].insert({originals.at(own[i].global(list.sources[l])),
                                            originals.at(list.targets[l])});
                }
            }
            const sample::MessageRows& left = divided.messages[i];
            for (LocalId v = 0; v < own[i].own(); ++v) {
                auto& row = all.rows[own[i].global(v)];
                for (EdgeIndex e = left.offsets[v]; e < left.offsets[v + std::size_t{1}]; ++e)
                    row.push_back(own[i].global(left.neighbours[e]));
            }
        }
    });
    return all;
}

TEST(Links, EveryEdgeIsOneLinkOfOnePart) {
    const Bed bed;
    const auto parts = bed.data().all_parts();
    const auto originals = original_ids(bed);
    for (const bool symmetric : {true, false}) {
        const Divided divided = divide(bed, 1, symmetric);
        std::multiset<Pair> links;
        std::size_t kept_back = 0;
        for (const auto& [role, list] : divided.links) {
            for (const auto& [a, b] : list)
                links.insert(symmetric ? Pair{std::min(a, b), std::max(a, b)} : Pair{a, b});
            if (role != Role::train) kept_back += list.size();
        }
        std::set<Pair> edges;
        for (const partition::Part& part : parts) {
            for (LocalId v = 0; v < part.own(); ++v) {
                for (const LocalId u : part.row(v)) {
                    if (u == v) continue;
                    const VertexId a = originals.at(part.global(u));
                    const VertexId b = part.original_ids()[v];
                    edges.insert(symmetric ? Pair{std::min(a, b), std::max(a, b)} : Pair{a, b});
                }
            }
        }
        const std::set<Pair> distinct(links.begin(), links.end());
        EXPECT_EQ(distinct.size(), links.size()) << "each once";
        EXPECT_EQ(distinct, edges);
        EXPECT_NEAR(static_cast<double>(kept_back) / static_cast<double>(links.size()), 0.4, 0.04);
    }
}

TEST(Links, RanksAndPartsDoNotMatter) {
    const Bed four;
    const Bed two({.parts = 2});
    for (const bool symmetric : {true, false}) {
        const Divided one = divide(four, 1, symmetric);
        EXPECT_EQ(one.links, divide(four, 2, symmetric).links);
        EXPECT_EQ(one.rows, divide(four, 4, symmetric).rows);
        EXPECT_EQ(one.links, divide(four, 4, symmetric).links);
        EXPECT_EQ(one.links, divide(two, 2, symmetric).links) << "keyed by the data set's ids";
    }
}

TEST(Links, MessagesPassAlongTrainingLinksAlone) {
    const Bed bed;
    const auto rows = global_rows(bed.data());
    const Divided divided = divide(bed, 2, true);
    const auto originals = original_ids(bed);
    std::set<Pair> trained;
    for (const auto& [a, b] : divided.links.at(Role::train))
        trained.insert({std::min(a, b), std::max(a, b)});
    for (VertexId v = 0; v < rows.size(); ++v) {
        std::vector<VertexId> expected;
        for (const VertexId u : rows[v]) {
            const VertexId a = originals.at(u);
            const VertexId b = originals.at(v);
            if (u == v || trained.contains({std::min(a, b), std::max(a, b)})) expected.push_back(u);
        }
        ASSERT_EQ(divided.rows.at(v), expected) << v;
    }
}

/// The entries of a bed whose edges have roles, by pair in original ids.
struct PairEntries {
    Role role = Role::none;  ///< of the pair
    std::size_t trained = 0;
};

std::map<Pair, PairEntries> pairs_of(const Bed& bed, bool symmetric) {
    const auto originals = original_ids(bed);
    std::map<Pair, PairEntries> pairs;
    for (const partition::Part& part : bed.data().all_parts()) {
        const auto given = part.edge_data().roles;
        for (LocalId v = 0; v < part.own(); ++v) {
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + std::size_t{1}]; ++e) {
                const LocalId u = part.neighbours()[e];
                if (u == v) continue;
                const VertexId a = originals.at(part.global(u));
                const VertexId b = part.original_ids()[v];
                PairEntries& pair =
                    pairs[symmetric ? Pair{std::min(a, b), std::max(a, b)} : Pair{a, b}];
                pair.role = std::max(pair.role, given[e]);
                pair.trained += given[e] == Role::train ? 1U : 0U;
            }
        }
    }
    return pairs;
}

TEST(Links, KeepTheRolesThatTheDataSetGivesThem) {
    const Bed bed({.edge_targets = true});
    for (const bool symmetric : {true, false}) {
        const auto pairs = pairs_of(bed, symmetric);
        std::map<Role, std::multiset<Pair>> expected;
        std::size_t withheld = 0;
        for (const auto& [pair, entries] : pairs) {
            if (!symmetric || entries.role != Role::none) expected[entries.role].insert(pair);
            if (entries.role > Role::train) withheld += entries.trained;
        }
        EXPECT_GT(withheld, 10U) << "some pairs are in both";
        for (const int ranks : {1, 4}) {
            Divided divided = divide(bed, ranks, symmetric);
            std::map<Role, std::multiset<Pair>> links;
            for (const auto& [role, list] : divided.links) {
                for (const auto& [a, b] : list)
                    links[role].insert(symmetric ? Pair{std::min(a, b), std::max(a, b)}
                                                 : Pair{a, b});
            }
            for (const Role role : roles)
                EXPECT_EQ(links[role], expected[role]) << static_cast<int>(role);
            EXPECT_EQ(divided.withheld, withheld);
        }
        // Messages pass along what is trained on, and along what has no role.
        const auto originals = original_ids(bed);
        const auto rows = global_rows(bed.data());
        const Divided divided = divide(bed, 2, symmetric);
        for (VertexId v = 0; v < rows.size(); ++v) {
            std::vector<VertexId> left;
            for (const VertexId u : rows[v]) {
                const VertexId a = originals.at(u);
                const VertexId b = originals.at(v);
                const bool loop = u == v;
                const Pair pair = symmetric ? Pair{std::min(a, b), std::max(a, b)} : Pair{a, b};
                if (loop || pairs.at(pair).role <= Role::train) left.push_back(u);
            }
            ASSERT_EQ(divided.rows.at(v), left) << v;
        }
    }
}

TEST(LabelledEdges, AreThereOnceEachWithTheirOwnEntry) {
    const Bed bed({.edge_targets = true});
    const auto originals = original_ids(bed);
    for (const bool symmetric : {true, false}) {
        std::map<Role, std::multiset<std::pair<Pair, std::int32_t>>> expected;
        for (const partition::Part& part : bed.data().all_parts()) {
            const graph::EdgeData data = part.edge_data();
            for (LocalId v = 0; v < part.own(); ++v) {
                for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + std::size_t{1}]; ++e) {
                    const VertexId a = originals.at(part.global(part.neighbours()[e]));
                    const VertexId b = part.original_ids()[v];
                    if (symmetric && a > b) continue;
                    if (data.targets.classes[e] == graph::no_label) continue;
                    expected[data.roles[e]].insert({{a, b}, data.targets.classes[e]});
                }
            }
        }
        expected.erase(Role::none);
        for (const int ranks : {1, 2, 4}) {
            std::map<Role, std::multiset<std::pair<Pair, std::int32_t>>> found;
            std::mutex mutex;
            comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
            cluster.run([&](const comm::Communicator& comm) {
                const auto own = own_parts(comm, bed.data());
                const auto edges = sample::labelled_edges(comm, bed.data().book(), own,
                                                          LinkDraws({}, symmetric, 5), symmetric);
                const std::lock_guard lock(mutex);
                for (std::size_t p = 0; p < own.size(); ++p) {
                    for (const Role role : roles) {
                        const sample::LinkList& list = edges[p].of(role);
                        ASSERT_EQ(list.entries.size(), list.size());
                        for (std::size_t i = 0; i < list.size(); ++i) {
                            const EdgeIndex e = list.entries[i];
                            EXPECT_EQ(own[p].global(own[p].neighbours()[e]), list.targets[i]);
                            EXPECT_GE(e, own[p].offsets()[list.sources[i]]);
                            EXPECT_LT(e, own[p].offsets()[list.sources[i] + std::size_t{1}]);
                            VertexId a = originals.at(list.targets[i]);
                            VertexId b = own[p].original_ids()[list.sources[i]];
                            if (symmetric && a > b) std::swap(a, b);
                            found[role].insert({{a, b}, own[p].edge_data().targets.classes[e]});
                        }
                    }
                }
            });
            EXPECT_EQ(found, expected) << ranks;
        }
    }
}

TEST(Pairs, ThatAreGivenComeFromTheirSourcesList) {
    sample::GivenPairs given;
    given.first = 5;
    for (const std::uint64_t offset : {0U, 2U, 2U, 3U})
        given.offsets.push_back(offset);
    for (const VertexId target : {1U, 8U, 3U})
        given.targets.push_back(target);
    const std::vector<VertexId> sources{5, 6, 7};
    RawVector<VertexId> laid;
    sample::lay_out_pairs(
        {.purpose = Purpose::test, .seed = 2},
        {.negatives = sample::Negatives::given, .count = 60, .vertices = 11, .pairs = &given},
        sources, sources, laid);
    const auto met = [&](std::size_t link) {
        return std::set<VertexId>(laid.begin() + static_cast<std::ptrdiff_t>(link * 62 + 2),
                                  laid.begin() + static_cast<std::ptrdiff_t>((link + 1) * 62));
    };
    EXPECT_EQ(met(0), (std::set<VertexId>{1, 8}));
    EXPECT_EQ(met(1).size(), 11U) << "none is given: drawn among all";
    EXPECT_EQ(met(2), (std::set<VertexId>{3}));
}

TEST(Pairs, HaveTheirLinkFirstAndOthersBesideIt) {
    const std::vector<VertexId> sources{5, 9, 5, 7};
    const std::vector<VertexId> targets{1, 2, 3, 4};
    const StreamKey key{.purpose = Purpose::test, .seed = 3, .epoch = 1, .step = 8, .layer = 2};
    RawVector<VertexId> laid;
    for (const auto kind : {sample::Negatives::uniform, sample::Negatives::batch}) {
        sample::lay_out_pairs(key, {.negatives = kind, .count = 50, .vertices = 11}, sources,
                              targets, laid);
        ASSERT_EQ(laid.size(), 4U * 52);
        std::set<VertexId> met;
        for (std::size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(laid[i * 52], sources[i]);
            EXPECT_EQ(laid[i * 52 + 1], targets[i]);
            for (std::size_t j = 2; j < 52; ++j) {
                const VertexId other = laid[i * 52 + j];
                EXPECT_LT(other, 11U);
                met.insert(other);
                if (kind == sample::Negatives::batch) {
                    EXPECT_NE(other, targets[i]) << "of another link of the batch";
                }
            }
        }
        EXPECT_EQ(met.size(), kind == sample::Negatives::batch ? 4U : 11U);
    }
    RawVector<VertexId> again;
    sample::lay_out_pairs(key, {.negatives = sample::Negatives::batch, .count = 50, .vertices = 11},
                          sources, targets, again);
    EXPECT_EQ(laid, again);
    StreamKey other = key;
    other.layer = 3;
    sample::lay_out_pairs(other,
                          {.negatives = sample::Negatives::batch, .count = 50, .vertices = 11},
                          sources, targets, again);
    EXPECT_NE(laid, again) << "another part draws its own";
}

TEST(Pairs, OthersByDegreeFollowTheArcs) {
    const sample::DegreeTable table(std::vector<std::uint32_t>{0, 3, 0, 1, 6});
    EXPECT_EQ(table.arcs(), 10U);
    EXPECT_EQ(table.vertex_of(0), 1U);
    EXPECT_EQ(table.vertex_of(2), 1U);
    EXPECT_EQ(table.vertex_of(3), 3U);
    EXPECT_EQ(table.vertex_of(4), 4U);
    EXPECT_EQ(table.vertex_of(9), 4U);
    RawVector<VertexId> laid;
    const std::vector<VertexId> one{0};
    sample::lay_out_pairs(
        {.purpose = Purpose::test, .seed = 1},
        {.negatives = sample::Negatives::degree, .count = 10000, .vertices = 5, .degrees = &table},
        one, one, laid);
    std::map<VertexId, int> counts;
    for (std::size_t j = 2; j < laid.size(); ++j)
        ++counts[laid[j]];
    EXPECT_EQ(counts.size(), 3U);
    EXPECT_NEAR(counts[1], 3000, 200);
    EXPECT_NEAR(counts[4], 6000, 200);
}

}  // namespace
}  // namespace rudder::test
