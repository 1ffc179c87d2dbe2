#include "links.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

#include "owners.hpp"
#include "part_exchange.hpp"

namespace rudder::sample {

namespace {

constexpr std::size_t rows_per_chunk = 1024;

/// Words of 32 bits below this are a share of all.
std::uint32_t words_below(double share) noexcept {
    return static_cast<std::uint32_t>(std::llround(std::min(share, 1.0) * 0x1.fffffffep31));
}

/// Ids that the data set had, by global id, on every host.
std::shared_ptr<std::span<VertexId>> gather_original_ids(const comm::Communicator& comm,
                                                         const partition::PartitionBook& book,
                                                         std::span<const partition::Part> own,
                                                         const PartOwners& owners) {
    auto ids = comm.share<VertexId>(book.vertices());
    for (const partition::Part& part : own) {
        std::ranges::copy(part.original_ids(),
                          ids->begin() + static_cast<std::ptrdiff_t>(part.range().begin));
    }
    exchange_parts(comm, book, owners, [&](PartId p) {
        return ids->subspan(book.range(p).begin, book.range(p).size());
    });
    return ids;
}

/// What one row is to be read for.
struct Entry {
    VertexId neighbour;  ///< global
    graph::Role role;
    bool first;  ///< not the same as the one before
    bool here;   ///< the link's source is the row's vertex
};

/// Walks the rows of a part, twice where needed: to count, and to fill.
class LinkRows {
public:
    LinkRows(const partition::Part& part, std::span<const VertexId> originals,
             const LinkDraws& draws, const std::optional<LinkTypes>& types)
        : part_(part),
          originals_(originals),
          draws_(draws),
          roles_(part.edge_data().roles),
          of_(part.edge_data().type),
          types_(types) {
        RUDDER_CHECK(types_.has_value() == part.info().types.present());
    }

    [[nodiscard]] const partition::Part& part() const noexcept { return part_; }
    /// The types of all entries, in a graph of several.
    [[nodiscard]] std::span<const std::uint8_t> types() const noexcept { return of_; }

    /// Calls `link` with the number, among the part's, of every entry that is one, and what it is;
    /// `other` with that of each other: self loops, and edges of other types.
    template <class OnLink, class OnOther>
    void walk(LocalId v, OnLink&& link, OnOther&& other) const {
        const VertexId global = part_.range().begin + v;
        const VertexId original = originals_[global];
        const std::span<const LocalId> row = part_.row(v);
        const EdgeIndex base = part_.offsets()[v];
        std::size_t end = 0;
        for (std::size_t e = 0; e < row.size(); e = end) {
            end = e + 1;
            while (end < row.size() && row[end] == row[e] && same_type(base + e, base + end))
                ++end;  // the same pair again
            const VertexId u = part_.global(row[e]);
            const Way way = u == global ? Way::none : way_of(base + e);
            if (way == Way::none) {
                for (std::size_t i = e; i < end; ++i)
                    other(base + i);
                continue;
            }
            // Entry u of row v is an edge u -> v, or one that goes back from u to v.
            const bool back = way == Way::back;
            LinkDraws::Link drawn =
                back ? draws_.of(original, originals_[u]) : draws_.of(originals_[u], original);
            if (!roles_.empty()) drawn.role = role_of(base + e, end - e);
            for (std::size_t i = e; i < end; ++i)
                link(base + i, Entry{u, drawn.role, i == e, back || drawn.reversed});
        }
    }

    /// Entries of a row that were for training, and whose pair is held back.
    [[nodiscard]] EdgeIndex withheld(LocalId v) const {
        EdgeIndex count = 0;
        if (roles_.empty()) return count;
        walk(
            v,
            [&](EdgeIndex e, const Entry& entry) {
                count += roles_[e] == graph::Role::train && !passes(entry.role);
            },
            [](EdgeIndex) {});
        return count;
    }
    /// Whether messages pass along an edge of this role.
    [[nodiscard]] static bool passes(graph::Role role) noexcept {
        return role == graph::Role::train || role == graph::Role::none;
    }

private:
    /// How an entry is a link: not, as the edge itself, or as the one that goes back.
    enum class Way : std::uint8_t { none, forth, back };
    [[nodiscard]] Way way_of(EdgeIndex e) const noexcept {
        if (!types_ || of_[e] == types_->type) return Way::forth;
        return types_->reverse == of_[e] ? Way::back : Way::none;
    }
    [[nodiscard]] bool same_type(EdgeIndex a, EdgeIndex b) const noexcept {
        return of_.empty() || of_[a] == of_[b];
    }
    /// The role of a pair that several entries are.
    [[nodiscard]] graph::Role role_of(EdgeIndex first, std::size_t count) const noexcept {
        graph::Role role = graph::Role::none;
        for (EdgeIndex e = first; e < first + count; ++e)
            role = std::max(role, roles_[e]);
        return role;
    }

    const partition::Part& part_;
    std::span<const VertexId> originals_;
    const LinkDraws& draws_;
    std::span<const graph::Role> roles_;  ///< of entries; empty: they are drawn
    std::span<const std::uint8_t> of_;    ///< their types; empty: there is one
    std::optional<LinkTypes> types_;
};

/// What chunks of rows have of something, and where each chunk's begins.
class ChunkStarts {
public:
    explicit ChunkStarts(std::size_t rows) : starts_(chunk_count(rows, rows_per_chunk) + 1, 0) {}
    std::uint64_t& count(std::size_t chunk) noexcept { return starts_[chunk + 1]; }
    [[nodiscard]] std::uint64_t start(std::size_t chunk) const noexcept { return starts_[chunk]; }
    std::uint64_t finish() noexcept {
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        return starts_.back();
    }

private:
    std::vector<std::uint64_t> starts_;
};

MessageRows message_rows(const LinkRows& rows) {
    const auto own = static_cast<std::size_t>(rows.part().own());
    MessageRows out{Array<EdgeIndex>::uninitialised(own + 1), {}};
    out.offsets[0] = 0;
    parallel_chunks(own, rows_per_chunk, [&](const Chunk& chunk) {
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            EdgeIndex left = 0;
            rows.walk(
                static_cast<LocalId>(v),
                [&](EdgeIndex, const Entry& e) { left += LinkRows::passes(e.role); },
                [&](EdgeIndex) { ++left; });
            out.offsets[v + 1] = left;
        }
    });
    std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
    out.neighbours = Array<LocalId>::uninitialised(out.offsets[own]);
    const std::span<const LocalId> neighbours = rows.part().neighbours();
    const std::span<const std::uint8_t> types = rows.types();
    if (!types.empty()) out.types = Array<std::uint8_t>::uninitialised(out.offsets[own]);
    parallel_chunks(own, rows_per_chunk, [&](const Chunk& chunk) {
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            EdgeIndex to = out.offsets[v];
            const auto keep = [&](EdgeIndex e) {
                out.neighbours[to] = neighbours[e];
                if (!types.empty()) out.types[to] = types[e];
                ++to;
            };
            rows.walk(
                static_cast<LocalId>(v),
                [&](EdgeIndex e, const Entry& entry) {
                    if (LinkRows::passes(entry.role)) keep(e);
                },
                keep);
        }
    });
    return out;
}

/// Where the row of a link's source has it: in a symmetric graph entry u of row v is the link v ->
/// u where v was drawn as its source.
PartLinks links_of_rows(const LinkRows& rows) {
    const auto own = static_cast<std::size_t>(rows.part().own());
    PartLinks out;
    for (const graph::Role role : {graph::Role::train, graph::Role::valid, graph::Role::test}) {
        LinkList& list = out.of(role);
        const auto walk = [&](const Chunk& chunk, auto&& take) {
            for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
                rows.walk(
                    static_cast<LocalId>(v),
                    [&](EdgeIndex, const Entry& e) {
                        if (e.first && e.here && e.role == role)
                            take(static_cast<LocalId>(v), e.neighbour);
                    },
                    [](EdgeIndex) {});
            }
        };
        ChunkStarts starts(own);
        parallel_chunks(own, rows_per_chunk, [&](const Chunk& chunk) {
            std::uint64_t count = 0;
            walk(chunk, [&](LocalId, VertexId) { ++count; });
            starts.count(chunk.index) = count;
        });
        const std::uint64_t all = starts.finish();
        list.sources.resize(all);
        list.targets.resize(all);
        parallel_chunks(own, rows_per_chunk, [&](const Chunk& chunk) {
            std::uint64_t at = starts.start(chunk.index);
            walk(chunk, [&](LocalId source, VertexId target) {
                list.sources[at] = source;
                list.targets[at++] = target;
            });
        });
    }
    return out;
}

/// A link on its way to its source's owner.
struct SentLink {
    VertexId source;
    VertexId target;
    std::uint64_t role;
};

/// Of a directed graph: every link goes to the rank that owns its source.
std::vector<PartLinks> exchange_links(const comm::Communicator& comm,
                                      const partition::PartitionBook& book,
                                      const PartOwners& owners, std::span<const LinkRows> parts) {
    comm::PerRank<SentLink> out(static_cast<std::size_t>(comm.size()));
    for (const LinkRows& rows : parts) {
        const VertexId first = rows.part().range().begin;
        for (std::size_t v = 0; v < rows.part().own(); ++v) {
            rows.walk(
                static_cast<LocalId>(v),
                [&](EdgeIndex, const Entry& e) {
                    if (!e.first) return;
                    const int owner = owners.rank(book.owner(e.neighbour));
                    out[static_cast<std::size_t>(owner)].push_back(
                        {e.neighbour, first + v, static_cast<std::uint64_t>(e.role)});
                },
                [](EdgeIndex) {});
        }
    }
    std::vector<SentLink> all;
    for (auto& theirs : comm.all_to_all(out, comm::Kind::topology))
        all.insert(all.end(), theirs.begin(), theirs.end());
    std::ranges::sort(all, [](const SentLink& a, const SentLink& b) {
        return a.source != b.source ? a.source < b.source : a.target < b.target;
    });
    std::vector<PartLinks> links;
    auto next = all.begin();
    for (const LinkRows& rows : parts) {
        const partition::PartitionBook::Range range = rows.part().range();
        PartLinks& of = links.emplace_back();
        for (; next != all.end() && range.contains(next->source); ++next) {
            LinkList& list = of.of(static_cast<graph::Role>(next->role));
            list.sources.push_back(static_cast<LocalId>(next->source - range.begin));
            list.targets.push_back(next->target);
        }
    }
    RUDDER_CHECK(next == all.end());
    return links;
}

}  // namespace

LinkDraws::LinkDraws(const LinkShares& shares, bool symmetric, std::uint64_t seed) noexcept
    : stream_({.purpose = Purpose::split, .seed = seed, .layer = 1}),
      symmetric_(symmetric),
      test_(words_below(shares.test)),
      valid_(words_below(shares.test + shares.valid)) {}

OwnLinks divide_links(const comm::Communicator& comm, const partition::PartitionBook& book,
                      std::span<const partition::Part> own, const LinkDraws& draws, bool symmetric,
                      const std::optional<LinkTypes>& types) {
    const PartOwners owners(comm, book, own);
    const auto originals = gather_original_ids(comm, book, own, owners);
    std::vector<LinkRows> parts;
    for (const partition::Part& part : own)
        parts.emplace_back(part, *originals, draws, types);
    OwnLinks out;
    for (const LinkRows& rows : parts) {
        out.messages.push_back(message_rows(rows));
        for (LocalId v = 0; v < rows.part().own(); ++v)
            out.withheld += rows.withheld(v);
    }
    if (symmetric || (types && types->reverse)) {
        for (const LinkRows& rows : parts)
            out.links.push_back(links_of_rows(rows));
    } else {
        out.links = exchange_links(comm, book, owners, parts);
    }
    comm.barrier();  // nobody reads the window any more
    return out;
}

namespace {

/// Calls `take` with the position in the part's rows, the role and the neighbour of each entry of
/// row v that is to be learned from, or scored.
template <class Take>
void each_labelled(const partition::Part& part, std::span<const VertexId> originals,
                   const LinkDraws& draws, bool symmetric, LocalId v, Take&& take) {
    const graph::EdgeData data = part.edge_data();
    const VertexId global = part.range().begin + v;
    for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + std::size_t{1}]; ++e) {
        if (!graph::is_labelled(part.info().edge_targets, data.targets, e)) continue;
        const VertexId u = part.global(part.neighbours()[e]);
        const LinkDraws::Link drawn = draws.of(originals[u], originals[global]);
        if (symmetric && u != global && !drawn.reversed) continue;  // the other row has it
        const graph::Role role = data.roles.empty() ? drawn.role : data.roles[e];
        if (role != graph::Role::none) take(e, role, u);
    }
}

PartLinks labelled_of(const partition::Part& part, std::span<const VertexId> originals,
                      const LinkDraws& draws, bool symmetric) {
    PartLinks out;
    const auto own = static_cast<std::size_t>(part.own());
    for (const graph::Role role : {graph::Role::train, graph::Role::valid, graph::Role::test}) {
        LinkList& list = out.of(role);
        const auto walk = [&](const Chunk& chunk, auto&& take) {
            for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
                const auto local = static_cast<LocalId>(v);
                each_labelled(part, originals, draws, symmetric, local,
                              [&](EdgeIndex e, graph::Role of, VertexId u) {
                                  if (of == role) take(local, e, u);
                              });
            }
        };
        ChunkStarts starts(own);
        parallel_chunks(own, rows_per_chunk, [&](const Chunk& chunk) {
            std::uint64_t count = 0;
            walk(chunk, [&](LocalId, EdgeIndex, VertexId) { ++count; });
            starts.count(chunk.index) = count;
        });
        const std::uint64_t all = starts.finish();
        list.sources.resize(all);
        list.targets.resize(all);
        list.entries.resize(all);
        parallel_chunks(own, rows_per_chunk, [&](const Chunk& chunk) {
            std::uint64_t at = starts.start(chunk.index);
            walk(chunk, [&](LocalId v, EdgeIndex e, VertexId u) {
                list.sources[at] = v;
                list.targets[at] = u;
                list.entries[at++] = e;
            });
        });
    }
    return out;
}

}  // namespace

std::vector<PartLinks> labelled_edges(const comm::Communicator& comm,
                                      const partition::PartitionBook& book,
                                      std::span<const partition::Part> own, const LinkDraws& draws,
                                      bool symmetric) {
    const PartOwners owners(comm, book, own);
    const auto originals = gather_original_ids(comm, book, own, owners);
    std::vector<PartLinks> links;
    for (const partition::Part& part : own)
        links.push_back(labelled_of(part, *originals, draws, symmetric));
    comm.barrier();  // nobody reads the window any more
    return links;
}

VertexStretches::VertexStretches(const partition::PartitionBook& book,
                                 const partition::TypeBook& types, std::size_t type) {
    for (PartId p = 0; p < book.parts(); ++p) {
        const partition::PartitionBook::Range range = types.range(p, type);
        if (range.size() == 0) continue;
        stretches_.push_back({range.begin, range.end, count_});
        count_ += range.size();
    }
}

DegreeTable::DegreeTable(std::span<const std::uint32_t> degrees)
    : ends_(degrees.begin(), degrees.end()) {
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
}

VertexId DegreeTable::vertex_of(std::uint64_t arc) const noexcept {
    return static_cast<VertexId>(std::ranges::upper_bound(ends_, arc) - ends_.begin());
}

void lay_out_pairs(const StreamKey& key, const PairOptions& options,
                   std::span<const VertexId> sources, std::span<const VertexId> targets,
                   RawVector<VertexId>& out) {
    RUDDER_CHECK(sources.size() == targets.size());
    const std::size_t links = sources.size();
    const std::size_t each = std::size_t{options.count} + 2;
    const RandomStream stream(key);
    out.resize(links * each);
    const bool in_batch = options.negatives == Negatives::batch && links > 1;
    const bool by_degree = options.negatives == Negatives::degree;
    RUDDER_CHECK(options.negatives != Negatives::given || options.pairs != nullptr);
    RUDDER_CHECK(!by_degree || (options.degrees != nullptr && options.degrees->arcs() > 0));
    for (std::size_t i = 0; i < links; ++i) {
        VertexId* to = out.data() + i * each;
        *to++ = sources[i];
        *to++ = targets[i];
        Draws draws(stream, i);
        std::span<const VertexId> given;
        if (options.negatives == Negatives::given) given = options.pairs->of(sources[i]);
        for (std::uint32_t j = 0; j < options.count; ++j) {
            if (in_batch) {
                *to++ = targets[(i + 1 + draws.below(links - 1)) % links];
            } else if (!given.empty()) {
                *to++ = given[draws.below(given.size())];
            } else if (by_degree) {
                *to++ = options.degrees->vertex_of(draws.below(options.degrees->arcs()));
            } else if (options.among != nullptr) {
                *to++ = options.among->at(draws.below(options.among->count()));
            } else {
                *to++ = draws.below(options.vertices);
            }
        }
    }
}

}  // namespace rudder::sample
