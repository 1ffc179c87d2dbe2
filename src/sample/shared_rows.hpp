// Draws the neighbours of many vertices by the numbers that all of them share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "carried_rows.hpp"
#include "draw_rows.hpp"
#include "hub_draws.hpp"
#include "neighbour_source.hpp"
#include "shared_numbers.hpp"

namespace rudder::sample {

/// What shared draws keep from one to the next.
struct SharedMemory {
    HubDraws hubs;
    Candidates candidates;
    RawVector<std::uint32_t> row;  ///< of ids that lie elsewhere in another form
    std::vector<std::pair<std::uint32_t, EdgeIndex>> sorted;
};

/// One request on one kind of rows (see RowDrawer), in stretches of vertices: the rows of a stretch
/// are looked up and the first lines of them asked for; then the stretch before is drawn.
template <class Rows, class Id>
class SharedDrawer {
public:
    SharedDrawer(const Rows& rows, const DrawRequest& request, RawVector<std::uint32_t>& offsets,
                 RawVector<Id>& ids, SharedMemory& memory)
        : rows_(rows),
          request_(request),
          offsets_(offsets),
          ids_(ids),
          memory_(memory),
          numbers_(request.key, request.redraw) {
        memory_.hubs.keep_for(request.key, numbers_.redraw());
    }

    void draw() {
        const std::size_t vertices = request_.vertices.size();
        offsets_.resize(vertices + 1);
        offsets_[0] = 0;
        Stretch now;
        Stretch before;
        for (std::size_t next = 0; next < vertices; next = before.end) {
            look_up(now, next);
            draw(before);
            std::swap(now, before);
        }
        draw(before);
        ids_.resize(offsets_[vertices]);
    }

private:
    using Row = decltype(std::declval<const Rows&>().row(VertexId{}));

    static constexpr std::size_t longest = 24;
    static constexpr std::size_t line = 64;
    /// Lines of a row that are asked for; those behind are followed by the hardware itself.
    static constexpr std::size_t lines_ahead = 8;
    /// Candidates beyond those wanted, in standard deviations.
    static constexpr double margin = 2;

    struct Stretch {
        std::size_t begin = 0;  ///< of the request's vertices
        std::size_t end = 0;
        std::array<Row, longest> rows;
        std::array<HubLayer*, longest> hubs;  ///< null: not known, or not a hub
    };

    void look_up(Stretch& stretch, std::size_t first) {
        const std::span<const VertexId> vertices = request_.vertices;
        const std::size_t last = vertices.size() - 1;
        stretch.begin = first;
        stretch.end = std::min(vertices.size(), first + longest);
        EdgeIndex sum = offsets_[first];
        for (std::size_t i = first; i < stretch.end; ++i) {
            rows_.prefetch_row(vertices[std::min(i + place_distance, last)]);
            const Row row = rows_.row(vertices[i]);
            sum += draw_count(row.degree, request_.fanout, false);
            if (sum > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
            offsets_[i + 1] = static_cast<std::uint32_t>(sum);
            stretch.rows[i - first] = row;
            if constexpr (sizeof(Id) == sizeof(std::uint32_t)) {
                stretch.hubs[i - first] = find_hub(vertices[i], row.degree);
                if (stretch.hubs[i - first] != nullptr) continue;
            }
            constexpr std::size_t per_line = line / Row::entry_bytes;
            const EdgeIndex end = std::min<EdgeIndex>(row.degree, lines_ahead * per_line);
            for (EdgeIndex e = 0; e < end; e += per_line)
                __builtin_prefetch(row.entry(e));
            if (end != 0) __builtin_prefetch(row.entry(end - 1));
        }
    }

    void draw(const Stretch& stretch) {
        const std::size_t needed = offsets_[stretch.end];
        if (ids_.size() < needed)
            ids_.resize(std::max({needed, ids_.size() + ids_.size() / 2, std::size_t{1024}}));
        for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
            const Row& row = stretch.rows[i - stretch.begin];
            const std::span<Id> to(ids_.data() + offsets_[i], offsets_[i + 1] - offsets_[i]);
            if (to.size() == row.degree) {
                for (std::size_t j = 0; j < to.size(); ++j)
                    to[j] = static_cast<Id>(row[j]);
            } else if constexpr (sizeof(Id) == sizeof(std::uint32_t)) {
                draw_narrow(request_.vertices[i], row, stretch.hubs[i - stretch.begin], to);
            } else {
                draw_sorted(row, to);
            }
        }
    }

    [[nodiscard]] bool is_hub(EdgeIndex degree) const noexcept {
        return degree >= HubDraws::least_degree && numbers_.redraw() >= HubDraws::least_redraw &&
               degree > static_cast<EdgeIndex>(request_.fanout);
    }

    /// A hub that is known already, asked for in time.
    HubLayer* find_hub(VertexId vertex, EdgeIndex degree) const noexcept {
        if (!is_hub(degree)) return nullptr;
        HubLayer* hub = memory_.hubs.find(static_cast<std::uint32_t>(vertex), request_.key.layer);
        constexpr std::size_t lines = 8;
        for (std::size_t i = 0; hub != nullptr && i < lines; ++i)
            __builtin_prefetch(reinterpret_cast<const std::byte*>(hub) + i * line);
        return hub;
    }

    void draw_narrow(VertexId vertex, const Row& row, HubLayer* hub, std::span<std::uint32_t> to) {
        if (row.degree <= SharedNumbers::most_few) {
            if (!numbers_.keep_few(code_, whole(row).data(), row.degree, to.size(), to.data()))
                draw_sorted(row, to);
            return;
        }
        if (hub == nullptr && is_hub(row.degree)) {
            const auto id = static_cast<std::uint32_t>(vertex);
            hub = memory_.hubs.find(id, request_.key.layer);
            if (hub == nullptr)
                hub = memory_.hubs.add(id, request_.key.layer, whole(row), numbers_, to.size());
        }
        if (hub != nullptr && memory_.hubs.bring(*hub, code_, numbers_, request_.key.step,
                                                 to.size(), memory_.candidates)) {
            keep(hub->ids(), hub->numbers(), hub->count, row, to);
            return;
        }
        Candidates& few = memory_.candidates;
        const std::span<const std::uint32_t> ids = whole(row);
        std::uint32_t limit = candidate_limit(to.size(), row.degree, margin);
        for (few.count = 0; few.count < to.size();) {
            few.count = 0;
            few.collect(code_, numbers_, ids, limit);
            limit = limit > std::numeric_limits<std::uint32_t>::max() / 2
                        ? std::numeric_limits<std::uint32_t>::max()
                        : limit * 2;
        }
        keep(few.ids.data(), few.numbers.data(), few.count, row, to);
    }

    /// Those with the smallest numbers, in order.
    void keep(const std::uint32_t* ids, const std::uint32_t* numbers, std::size_t count,
              const Row& row, std::span<std::uint32_t> to) {
        if (count == to.size()) {
            std::copy_n(ids, count, to.begin());
        } else if (!keep_smallest(code_, ids, numbers, count, to.size(), to.data())) {
            draw_sorted(row, to);
        }
    }

    /// The rule in its own words: for ties, and for ids of 64 bits.
    void draw_sorted(const Row& row, std::span<Id> to) {
        auto& sorted = memory_.sorted;
        sorted.clear();
        for (EdgeIndex e = 0; e < row.degree; ++e)
            sorted.emplace_back(numbers_.number(row[e]), e);
        std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(to.size()));
        sorted.resize(to.size());
        std::ranges::sort(sorted, {}, &std::pair<std::uint32_t, EdgeIndex>::second);
        for (std::size_t j = 0; j < to.size(); ++j)
            to[j] = static_cast<Id>(row[sorted[j].second]);
    }

    /// The row's ids, where they lie or copied.
    [[nodiscard]] std::span<const std::uint32_t> whole(const Row& row) {
        if constexpr (requires { row.ids; }) {
            return {row.ids, row.degree};
        } else {
            memory_.row.resize(row.degree);
            for (EdgeIndex e = 0; e < row.degree; ++e)
                memory_.row[e] = static_cast<std::uint32_t>(row[e]);
            return memory_.row;
        }
    }

    const Rows& rows_;
    const DrawRequest& request_;
    RawVector<std::uint32_t>& offsets_;
    RawVector<Id>& ids_;
    SharedMemory& memory_;
    SharedNumbers numbers_;
    DrawCode code_ = best_draw_code();
};

/// Draws from rows as they are, in whatever way the request says.
template <class Id, class Rows>
void draw_whole(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out) {
    if constexpr (requires { rows.carried(VertexId{}); }) {
        if (request.carried()) return CarriedDrawer<Rows, Id>(rows, request, out).draw();
    }
    if (request.sampler == Sampler::plain || request.fanout < 0)
        return draw_rows<Id>(rows, request, out);
    if (out.memory == nullptr) out.memory = std::make_shared<SharedMemory>();
    SharedDrawer<Rows, Id>(rows, request, out.offsets, out.template ids<Id>(), *out.memory).draw();
}

}  // namespace rudder::sample
