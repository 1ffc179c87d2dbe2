// Rows of edges that carry something: entries are placed with the number of their edge, sorted, and
// what they carry is gathered by that number.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "edge_placer.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t payload_rows_per_chunk = 1 << 13;

template <class Id, class Number>
class PayloadBuilder {
public:
    PayloadBuilder(const NumberedEdges& source, const EdgePayload& payload,
                   const BuildOptions& options, Progress& progress)
        : source_(source),
          payload_(payload),
          options_(options),
          progress_(progress),
          merging_(!options.keep_duplicates && !payload.time && !payload.rows) {
        RUDDER_CHECK(!payload.weight || payload.weight->size() == source.edges());
        RUDDER_CHECK(!payload.time || payload.time->size() == source.edges());
    }

    BuiltTopology build() {
        placed_ = place_edges<Entry>(source_, options_, progress_);
        sort_rows();
        if (merging_ && duplicates_ != 0) {
            accumulate_counts(distinct_.span());
        } else {
            distinct_ = Array<EdgeIndex>::copy_of(placed_.offsets.span());
        }
        gather();
        const EdgeIndex duplicates = duplicates_;
        built_.dropped = {options_.keep_self_loops ? 0 : placed_.loops, merging_ ? duplicates : 0};
        built_.kept = {kept_loops_.load(), merging_ ? 0 : duplicates};
        built_.topology = Topology(std::move(distinct_), IdArray(std::move(ids_)));
        return std::move(built_);
    }

private:
    using Entry = NumberedEntry<Id, Number>;

    /// The type of an entry of row v.
    [[nodiscard]] std::uint8_t type_of(const Entry& entry, VertexId v) const noexcept {
        const auto after = std::ranges::upper_bound(payload_.types, EdgeIndex{entry.number}, {},
                                                    &EdgesOfType::first);
        const EdgesOfType& edges = *(after - 1);
        return v >= edges.targets_begin && v < edges.targets_end ? edges.type : edges.reverse;
    }
    [[nodiscard]] bool same(const Entry& a, const Entry& b, VertexId v) const noexcept {
        return a.id == b.id && (payload_.types.empty() || type_of(a, v) == type_of(b, v));
    }

    [[nodiscard]] bool before(const Entry& a, const Entry& b, VertexId v) const noexcept {
        if (a.id != b.id) return a.id < b.id;
        if (!payload_.types.empty()) {
            const std::uint8_t type_a = type_of(a, v);
            const std::uint8_t type_b = type_of(b, v);
            if (type_a != type_b) return type_a < type_b;
        }
        if (payload_.time) {
            const auto& time = *payload_.time;
            if (time[a.number] != time[b.number]) return time[a.number] < time[b.number];
        }
        return a.number < b.number;
    }

    [[nodiscard]] std::span<Entry> row(VertexId v) {
        return placed_.entries.span().subspan(placed_.offsets[v],
                                              placed_.offsets[v + 1] - placed_.offsets[v]);
    }

    void sort_rows() {
        const VertexId vertices = source_.vertices();
        distinct_ = Array<EdgeIndex>::zeroed(vertices + 1);
        progress_.phase("sorting rows", vertices);
        parallel_chunks(vertices, payload_rows_per_chunk, [&](const Chunk& chunk) {
            EdgeIndex loops = 0;
            EdgeIndex duplicates = 0;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                const auto entries = row(v);
                std::ranges::sort(
                    entries, [this, v](const Entry& a, const Entry& b) { return before(a, b, v); });
                EdgeIndex repeated = 0;
                for (std::size_t i = 0; i < entries.size(); ++i) {
                    const bool again = i > 0 && same(entries[i], entries[i - 1], v);
                    if (again) ++repeated;
                    if (entries[i].id == v && !(again && merging_)) ++loops;
                }
                distinct_[v + 1] = entries.size() - repeated;
                duplicates += repeated;
            }
            kept_loops_ += loops;
            duplicates_ += duplicates;
            progress_.advance(chunk.end - chunk.begin);
        });
    }

    /// Writes the entries and what they carry, one for each run of equal ids where duplicates are
    /// added up.
    void gather() {
        const EdgeIndex edges = distinct_[source_.vertices()];
        ids_ = Array<Id>::uninitialised(edges);
        if (payload_.weight) built_.weight = Array<float>::uninitialised(edges);
        if (payload_.time) built_.time = Array<std::int64_t>::uninitialised(edges);
        if (payload_.rows) built_.origin = Array<EdgeIndex>::uninitialised(edges);
        if (!payload_.types.empty()) built_.type = Array<std::uint8_t>::uninitialised(edges);
        progress_.phase("gathering what edges carry", source_.vertices());
        parallel_chunks(source_.vertices(), payload_rows_per_chunk, [&](const Chunk& chunk) {
            for (VertexId v = chunk.begin; v < chunk.end; ++v)
                gather_row(v);
            progress_.advance(chunk.end - chunk.begin);
        });
    }

    void gather_row(VertexId v) {
        const auto entries = row(v);
        EdgeIndex at = distinct_[v];
        for (std::size_t i = 0; i < entries.size();) {
            std::size_t end = i + 1;
            while (merging_ && end < entries.size() && same(entries[end], entries[i], v))
                ++end;
            ids_[at] = entries[i].id;
            if (payload_.weight) (*built_.weight)[at] = sum(entries.subspan(i, end - i), v);
            if (payload_.time) (*built_.time)[at] = (*payload_.time)[entries[i].number];
            if (payload_.rows) (*built_.origin)[at] = entries[i].number;
            if (built_.type) (*built_.type)[at] = type_of(entries[i], v);
            ++at;
            i = end;
        }
    }

    [[nodiscard]] float sum(std::span<const Entry> run, VertexId target) const {
        double total = 0;
        for (const Entry& entry : run)
            total += static_cast<double>((*payload_.weight)[entry.number]);
        const auto rounded = static_cast<float>(total);
        if (std::isfinite(rounded)) return rounded;
        throw input_error(
            fmt::format("the weights of the edges {} -> {} add up to more than float32 holds",
                        run.front().id, target),
            "the edges", "scale the weights, or keep duplicates");
    }

    const NumberedEdges& source_;
    EdgePayload payload_;
    const BuildOptions& options_;
    Progress& progress_;
    bool merging_;
    PlacedEdges<Entry> placed_;
    Array<EdgeIndex> distinct_;
    Array<Id> ids_;
    BuiltTopology built_;
    std::atomic<EdgeIndex> kept_loops_{0};
    std::atomic<EdgeIndex> duplicates_{0};
};

}  // namespace

BuiltTopology build_topology(const NumberedEdges& source, const EdgePayload& payload,
                             const BuildOptions& options, Progress& progress) {
    if (!payload.weight && !payload.time && !payload.rows && payload.types.empty())
        return build_topology(source, options, progress);
    if (IdArray::needs_wide(source.vertices())) {
        return PayloadBuilder<std::uint64_t, std::uint64_t>(source, payload, options, progress)
            .build();
    }
    if (source.edges() <= std::numeric_limits<std::uint32_t>::max()) {
        return PayloadBuilder<std::uint32_t, std::uint32_t>(source, payload, options, progress)
            .build();
    }
    return PayloadBuilder<std::uint32_t, std::uint64_t>(source, payload, options, progress).build();
}

}  // namespace rudder::graph
