// Links: the pairs of vertices that are joined, each once, with its role, where its source lies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/partition/part.hpp"

#include "given_pairs.hpp"
#include "message_rows.hpp"

namespace rudder::sample {

/// Shares of the links that are kept for validation and test; the rest are trained on.
struct LinkShares {
    double valid = 0.1;
    double test = 0.1;
};

/// What is drawn for a link, keyed by its two vertices (as the data set numbers them, so that parts
/// do not matter) and the seed: its role, and in a symmetric graph, where an edge is one link,
/// which of the two is its source. There both orders give the same link.
class LinkDraws {
public:
    LinkDraws(const LinkShares& shares, bool symmetric, std::uint64_t seed) noexcept;

    struct Link {
        graph::Role role;
        bool reversed;  ///< the source is the second; never in a directed graph
    };
    [[nodiscard]] Link of(VertexId first, VertexId second) const noexcept {
        const bool swapped = symmetric_ && second < first;
        const auto words = swapped ? stream_.block(second, first) : stream_.block(first, second);
        const graph::Role role = words[0] < test_    ? graph::Role::test
                                 : words[0] < valid_ ? graph::Role::valid
                                                     : graph::Role::train;
        return {role, symmetric_ && swapped != ((words[1] & 1U) != 0)};
    }

private:
    RandomStream stream_;
    bool symmetric_;
    std::uint32_t test_;   ///< words below it
    std::uint32_t valid_;  ///< words below it that are not below the other
};

/// Links of one role whose sources one part owns, in ascending order of source, then target.
struct LinkList {
    RawVector<LocalId> sources;   ///< own vertices of the part
    RawVector<VertexId> targets;  ///< global ids
    /// Of edges with targets of their own: the entry of the part's rows that each is. Else empty.
    RawVector<EdgeIndex> entries;

    [[nodiscard]] std::size_t size() const noexcept { return sources.size(); }
};

/// All links of a part.
struct PartLinks {
    LinkList train;
    LinkList valid;
    LinkList test;
    /// Of directed graphs whose edges have a split: those without a role, which pass messages only.
    LinkList none;

    [[nodiscard]] LinkList& of(graph::Role role) noexcept {
        return role == graph::Role::train   ? train
               : role == graph::Role::valid ? valid
               : role == graph::Role::test  ? test
                                            : none;
    }
    [[nodiscard]] const LinkList& of(graph::Role role) const noexcept {
        return const_cast<PartLinks&>(*this).of(role);  // NOLINT(*-const-cast): it changes nothing
    }
};

/// The links of all own parts, and what is left of their rows.
struct OwnLinks {
    std::vector<PartLinks> links;       ///< by own part
    std::vector<MessageRows> messages;  ///< by own part
    /// Entries of this rank's rows that were to be trained on, and are not: the data set has the
    /// same pair for validation or test, too.
    EdgeIndex withheld = 0;
};

/// Collective: divides the edges of the whole graph, as the data set's split of edges says (what
/// has no role there only passes messages), else by draws. In a directed graph a link u -> v stands
/// in the row of v; it is told to the owner of u. Edges that stand there several times are one
/// link; of several roles test counts before validation, and that before training. In a graph of
/// several types `types` says which edges are links, and `symmetric` whether one stands in the rows
/// of both its vertices under the same type; all other edges pass messages.
[[nodiscard]] OwnLinks divide_links(const comm::Communicator& comm,
                                    const partition::PartitionBook& book,
                                    std::span<const partition::Part> own, const LinkDraws& draws,
                                    bool symmetric, const std::optional<LinkTypes>& types = {});

/// Collective: the entries of own rows that have targets of their own, by role: the data set's, or
/// drawn as those of links are. `sources` are the vertices whose rows they stand in, so that a part
/// has its own; of a symmetric graph, where an edge stands in two rows, one of them is drawn. The
/// entries of one pair are edges of their own.
[[nodiscard]] std::vector<PartLinks> labelled_edges(const comm::Communicator& comm,
                                                    const partition::PartitionBook& book,
                                                    std::span<const partition::Part> own,
                                                    const LinkDraws& draws, bool symmetric);

/// Where the targets of pairs that are not joined come from.
enum class Negatives : std::uint8_t { uniform, degree, batch, given };

/// Vertices by their share of all arcs: what `degree` draws from.
class DegreeTable {
public:
    explicit DegreeTable(std::span<const std::uint32_t> degrees);
    [[nodiscard]] std::uint64_t arcs() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
    /// The vertex whose arcs the arc is of; arc < arcs().
    [[nodiscard]] VertexId vertex_of(std::uint64_t arc) const noexcept;

private:
    std::vector<std::uint64_t> ends_;  ///< by vertex: its arcs and those of all before
};

/// Stretches of vertices that are counted one after the other: all of a graph, or those of one
/// type, by ascending id.
class VertexStretches {
public:
    /// All, of which there are so many.
    explicit VertexStretches(VertexId vertices) : stretches_{{0, vertices, 0}}, count_(vertices) {}
    /// Those of a type.
    VertexStretches(const partition::PartitionBook& book, const partition::TypeBook& types,
                    std::size_t type);

    struct Stretch {
        VertexId begin;
        VertexId end;
        VertexId number;  ///< of the first
    };
    [[nodiscard]] std::span<const Stretch> all() const noexcept { return stretches_; }
    [[nodiscard]] VertexId count() const noexcept { return count_; }
    /// The vertex of a number below `count()`.
    [[nodiscard]] VertexId at(VertexId number) const noexcept {
        const auto after = std::ranges::upper_bound(stretches_, number, {}, &Stretch::number);
        const Stretch& of = *(after - 1);
        return of.begin + (number - of.number);
    }

private:
    std::vector<Stretch> stretches_;  ///< none is empty, but of an empty graph
    VertexId count_ = 0;
};

/// Pairs that are asked for together: a link, and others that have its source.
struct PairOptions {
    Negatives negatives = Negatives::uniform;
    std::uint32_t count = 1;                 ///< others per link
    VertexId vertices = 0;                   ///< of the whole graph
    const VertexStretches* among = nullptr;  ///< drawn from; null: all
    const DegreeTable* degrees = nullptr;    ///< of `degree`
    const GivenPairs* pairs = nullptr;       ///< of `given`: of all sources of links of this rank
};

/// Of each link: its source, its target, and the targets of `count` pairs that are drawn beside it,
/// from the stream of `key`, which is that of one batch (its layer the part): count + 2 ids per
/// link, as NeighbourSampler::sample_links takes them. In a batch of one link `batch` draws
/// uniformly, and so does `given` for a source that no pair is given for. Others may happen to be
/// joined: nobody looks.
void lay_out_pairs(const StreamKey& key, const PairOptions& options,
                   std::span<const VertexId> sources, std::span<const VertexId> targets,
                   RawVector<VertexId>& out);

}  // namespace rudder::sample
