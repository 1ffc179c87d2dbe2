#include "given_negatives.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "graph/tables/cells.hpp"
#include "graph/tables/id_map.hpp"
#include "graph/tables/labels.hpp"
#include "graph/tables/table_source.hpp"
#include "partition/original_ids.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"

namespace rudder::train {

namespace {

using graph::Role;

/// A pair on its way to the owner of its source.
struct SentPair {
    VertexId source;
    VertexId target;
    std::uint64_t role;  ///< none: for links of all roles

    friend bool operator==(const SentPair&, const SentPair&) = default;
    friend bool operator<(const SentPair& a, const SentPair& b) noexcept {
        if (a.role != b.role) return a.role < b.role;
        return a.source != b.source ? a.source < b.source : a.target < b.target;
    }
};

/// From the user's ids to global ones.
class GlobalIds {
public:
    explicit GlobalIds(const partition::PartitionedDataset& data)
        : ids_(partition::original_vertex_ids(data)), globals_(data.info().vertices) {
        for (const partition::Part& part : data.all_parts()) {
            for (LocalId v = 0; v < part.own(); ++v)
                globals_[part.original_ids()[v]] = part.range().begin + v;
        }
        if (ids_.kind()) map_ = std::make_unique<graph::IdMap>(ids_);
    }

    /// The vertex of each cell of a column; graph::no_vertex where there is none.
    void find(const graph::TableBatch& batch, std::size_t column,
              std::vector<VertexId>& found) const {
        const graph::TableColumn& cells = batch.columns[column];
        found.resize(batch.rows);
        const graph::CellReader reader(batch, column);
        const bool numbers = cells.kind == graph::CellKind::integer;
        if (!numbers && cells.kind != graph::CellKind::text) {
            if (batch.rows == 0) return;
            throw reader.fault(0, fmt::format("invalid id: '{}'", reader.shown(0)),
                               "give ids as text or whole numbers");
        }
        if (map_ != nullptr) {
            numbers ? map_->find(cells.integers, found) : map_->find(cells.texts, found);
        } else {
            for (std::size_t r = 0; r < batch.rows; ++r)
                found[r] = by_number(cells, r);
        }
        for (std::size_t r = 0; r < batch.rows; ++r) {
            if (cells.is_missing(r))
                throw reader.fault(r, "a pair lacks a vertex", "give every row both ids");
            if (found[r] == graph::no_vertex) {
                throw reader.fault(r, fmt::format("unknown vertex '{}'", reader.shown(r)),
                                   "give pairs of vertices of this data set");
            }
            found[r] = globals_[found[r]];
        }
    }

private:
    /// Where the user calls vertices by their numbers.
    [[nodiscard]] VertexId by_number(const graph::TableColumn& cells, std::size_t row) const {
        if (cells.is_missing(row)) return graph::no_vertex;
        const auto number = cells.kind == graph::CellKind::integer
                                ? std::optional(cells.integers[row])
                                : graph::plain_integer(cells.texts[row]);
        const bool known =
            number && *number >= 0 && static_cast<std::uint64_t>(*number) < globals_.size();
        return known ? static_cast<VertexId>(*number) : graph::no_vertex;
    }

    graph::VertexIds ids_;
    std::vector<VertexId> globals_;  ///< by original id
    std::unique_ptr<graph::IdMap> map_;
};

/// Receives the batches of a table of pairs.
class PairReader final : public graph::TableVisitor {
public:
    PairReader(const GlobalIds& ids, bool split, bool both_ways)
        : ids_(ids), split_(split), both_ways_(both_ways) {}

    void begin(std::size_t slots) override {
        slots_.resize(std::max(slots_.size(), slots));
        for (Slot& slot : slots_)
            slot.pairs.clear();
    }
    void batch(std::size_t at, const graph::TableBatch& batch) override {
        Slot& slot = slots_[at];
        ids_.find(batch, 0, slot.sources);
        ids_.find(batch, 1, slot.targets);
        for (std::size_t r = 0; r < batch.rows; ++r) {
            if (slot.sources[r] == slot.targets[r]) {
                throw graph::CellReader(batch, 1).fault(r, "a pair is a vertex with itself",
                                                        "give pairs of different vertices");
            }
            std::uint64_t role = 0;
            if (split_) {
                graph::CellReader reader(batch, 2);
                role = static_cast<std::uint64_t>(graph::role_of(reader, r));
            }
            slot.pairs.push_back({slot.sources[r], slot.targets[r], role});
            if (both_ways_) slot.pairs.push_back({slot.targets[r], slot.sources[r], role});
        }
    }
    void end() override {
        for (const Slot& slot : slots_)
            pairs.insert(pairs.end(), slot.pairs.begin(), slot.pairs.end());
    }

    std::vector<SentPair> pairs;

private:
    struct Slot {
        std::vector<VertexId> sources;
        std::vector<VertexId> targets;
        std::vector<SentPair> pairs;
    };
    const GlobalIds& ids_;
    bool split_;
    bool both_ways_;
    std::vector<Slot> slots_;
};

std::vector<SentPair> read_pairs(const partition::PartitionedDataset& data,
                                 const std::filesystem::path& file) {
    const graph::Table table({file});
    const bool split = table.has("split");
    std::vector<std::string> columns{"source", "target"};
    if (split) columns.emplace_back("split");
    const GlobalIds ids(data);
    PairReader reader(ids, split, data.info().symmetric);
    table.walk(columns, reader);
    if (!reader.pairs.empty()) return std::move(reader.pairs);
    throw input_error("the table has no pair", file.string(), "give a row for each pair");
}

/// Pairs of one role, sorted, as lists.
sample::GivenPairs lists_of(std::span<const SentPair> pairs,
                            const partition::PartitionBook::Range& range) {
    sample::GivenPairs lists;
    lists.first = range.begin;
    lists.offsets.resize(range.size() + 1);
    std::ranges::fill(lists.offsets, 0U);
    lists.targets.resize(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        ++lists.offsets[pairs[i].source - range.begin + 1];
        lists.targets[i] = pairs[i].target;
    }
    for (std::size_t v = 1; v < lists.offsets.size(); ++v)
        lists.offsets[v] += lists.offsets[v - 1];
    return lists;
}

}  // namespace

sample::GivenNegatives read_given_negatives(const comm::Communicator& comm,
                                            const partition::PartitionedDataset& data,
                                            std::span<const partition::Part> own,
                                            const std::filesystem::path& file) {
    std::vector<SentPair> read;
    comm::do_together(comm, [&] {
        if (comm.rank() == 0) read = read_pairs(data, file);
    });
    const auto ranks = static_cast<std::size_t>(comm.size());
    const partition::PartitionBook::Range range{own.front().range().begin, own.back().range().end};
    const auto first = comm.all_gather(std::span<const VertexId>(&range.begin, 1));
    comm::PerRank<SentPair> out(ranks);
    for (const SentPair& pair : read) {
        const auto after = std::ranges::upper_bound(first, pair.source, {},
                                                    [](const auto& of) { return of.front(); });
        out[static_cast<std::size_t>(after - first.begin()) - 1].push_back(pair);
    }
    read = {};
    std::vector<SentPair> mine;
    for (auto& theirs : comm.all_to_all(out, comm::Kind::topology))
        mine.insert(mine.end(), theirs.begin(), theirs.end());
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    const bool by_role = comm.all_max(!mine.empty() && mine.back().role != 0 ? 1 : 0) != 0;
    sample::GivenNegatives given;
    given.one_for_all = !by_role;
    if (!by_role) {
        given.train = lists_of(mine, range);
        return given;
    }
    // Those without a role are for all.
    const auto lists = [&](Role role) {
        std::vector<SentPair> of_role;
        for (const SentPair& pair : mine) {
            if (pair.role == 0 || pair.role == static_cast<std::uint64_t>(role))
                of_role.push_back({pair.source, pair.target, 0});
        }
        std::sort(of_role.begin(), of_role.end());
        of_role.erase(std::unique(of_role.begin(), of_role.end()), of_role.end());
        return lists_of(of_role, range);
    };
    given.train = lists(Role::train);
    given.valid = lists(Role::valid);
    given.test = lists(Role::test);
    return given;
}

std::uint64_t links_without(const comm::Communicator& comm, std::span<const partition::Part> own,
                            std::span<const sample::PartLinks> links,
                            const sample::GivenNegatives& given, graph::Role role) {
    std::uint64_t mine = 0;
    for (std::size_t p = 0; p < own.size(); ++p) {
        for (const LocalId source : links[p].of(role).sources)
            mine += given.of(role).of(own[p].range().begin + source).empty() ? 1U : 0U;
    }
    std::uint64_t all = 0;
    for (const auto& theirs : comm.all_gather(std::span<const std::uint64_t>(&mine, 1)))
        all += theirs.front();
    return all;
}

}  // namespace rudder::train
