#include "hub_draws.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rudder::sample {

namespace {

/// Candidates beyond those wanted, in standard deviations: few enough to be fast, so many that
/// hardly ever too few are left.
constexpr double hub_margin = 6;

/// Room is made for so many, of which few stay.
constexpr std::size_t looked_at_once = 1024;

constexpr std::uint32_t largest_number = std::numeric_limits<std::uint32_t>::max();

/// Phases that redraw on the way from one step to another, of either order: `length` from `first`
/// on, round about.
struct PhaseRange {
    std::uint32_t first;
    std::uint32_t length;
    std::uint32_t redraw;

    PhaseRange(std::uint64_t from, std::uint64_t to, std::uint32_t of)
        : first(static_cast<std::uint32_t>((of - std::max(from, to) % of) % of)),
          length(static_cast<std::uint32_t>(
              std::min<std::uint64_t>(std::max(from, to) - std::min(from, to), of))),
          redraw(of) {}

    [[nodiscard]] bool has(std::uint32_t phase) const noexcept {
        const std::uint32_t behind = phase >= first ? phase - first : phase + redraw - first;
        return behind < length;
    }
};

/// Looks at the neighbours of phases [begin, end).
void collect_phases(const HubDraws::Hub& hub, DrawCode code, const SharedNumbers& numbers,
                    std::uint32_t begin, std::uint32_t end, HubDraws::Hub::Layer& layer) {
    Candidates& kept = layer.candidates;
    for (std::size_t at = hub.starts[begin]; at < hub.starts[end]; at += looked_at_once) {
        const std::size_t size = std::min(looked_at_once, hub.starts[end] - at);
        kept.collect(code, numbers, {hub.ids.data() + at, size}, layer.limit);
    }
}

void drop_phases(const PhaseRange& range, const SharedNumbers& numbers, Candidates& kept) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept.count; ++i) {
        const std::uint32_t id = kept.ids[i];
        kept.ids[left] = id;
        kept.numbers[left] = kept.numbers[i];
        left += range.has(numbers.phase(id)) ? 0U : 1U;
    }
    kept.count = left;
}

}  // namespace

void Candidates::collect(DrawCode code, const SharedNumbers& shared,
                         std::span<const std::uint32_t> of, std::uint32_t limit) {
    constexpr std::size_t beyond = 16;  // what is written behind the last
    const std::size_t needed = count + of.size() + beyond;
    if (ids.size() < needed) {
        ids.resize(needed + needed / 2);
        numbers.resize(needed + needed / 2);
    }
    count += shared.collect(code, of.data(), of.size(), limit, ids.data() + count,
                            numbers.data() + count);
}

std::uint32_t candidate_limit(std::size_t wanted, EdgeIndex degree, double more) noexcept {
    const auto count = static_cast<double>(wanted);
    const double share = (count + more * std::sqrt(count) + 4) / static_cast<double>(degree);
    return share >= 1 ? largest_number : static_cast<std::uint32_t>(share * 0x1p32);
}

std::size_t HubDraws::place(VertexId vertex) const noexcept {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = (vertex * 0x9E3779B97F4A7C15U) >> 32 & mask;
    while (table_[at] != 0 && hubs_[table_[at] - 1]->vertex != vertex)
        at = (at + 1) & mask;
    return at;
}

HubDraws::Hub* HubDraws::find(VertexId vertex) noexcept {
    if (table_.empty()) return nullptr;
    const std::uint32_t found = table_[place(vertex)];
    return found == 0 ? nullptr : hubs_[found - 1].get();
}

void HubDraws::grow() {
    if ((hubs_.size() + 1) * 2 <= table_.size()) return;
    table_.assign(std::max<std::size_t>(64, table_.size() * 2), 0);
    for (std::size_t i = 0; i < hubs_.size(); ++i)
        table_[place(hubs_[i]->vertex)] = static_cast<std::uint32_t>(i + 1);
}

HubDraws::Hub* HubDraws::add(VertexId vertex, std::span<const std::uint32_t> row,
                             const SharedNumbers& numbers) {
    const std::uint64_t bytes =
        row.size_bytes() + (std::uint64_t{redraw_} + 2) * sizeof(std::uint32_t) + sizeof(Hub);
    if (bytes_ + bytes > max_bytes_ || row.size() > largest_number) return nullptr;
    auto hub = std::make_unique<Hub>();
    hub->vertex = vertex;
    hub->starts.assign(std::size_t{redraw_} + 2, 0);
    for (const std::uint32_t id : row)
        ++hub->starts[std::size_t{numbers.phase(id)} + 2];
    for (std::size_t p = 2; p < hub->starts.size(); ++p)
        hub->starts[p] += hub->starts[p - 1];
    hub->ids.resize(row.size());
    for (const std::uint32_t id : row)
        hub->ids[hub->starts[std::size_t{numbers.phase(id)} + 1]++] = id;
    hub->starts.pop_back();
    bytes_ += bytes;
    grow();
    hubs_.push_back(std::move(hub));
    table_[place(vertex)] = static_cast<std::uint32_t>(hubs_.size());
    return hubs_.back().get();
}

const Candidates& HubDraws::candidates(Hub& hub, DrawCode code, const SharedNumbers& numbers,
                                       const StreamKey& key, std::size_t wanted) {
    if (hub.layers.size() <= key.layer) hub.layers.resize(std::size_t{key.layer} + 1);
    Hub::Layer& layer = hub.layers[key.layer];
    const PhaseRange range(layer.step, key.step, redraw_);
    const bool known = layer.wanted == wanted && range.length < redraw_;
    if (layer.wanted != wanted) layer.limit = candidate_limit(wanted, hub.ids.size(), hub_margin);
    layer.wanted = wanted;
    layer.step = key.step;
    if (known) {
        drop_phases(range, numbers, layer.candidates);
        const std::uint32_t end = range.first + range.length;
        collect_phases(hub, code, numbers, range.first, std::min(end, redraw_), layer);
        if (end > redraw_) collect_phases(hub, code, numbers, 0, end - redraw_, layer);
    } else {
        layer.candidates.count = 0;
        collect_phases(hub, code, numbers, 0, redraw_, layer);
    }
    while (layer.candidates.count < wanted) {  // too few: look further
        layer.limit = layer.limit > largest_number / 2 ? largest_number : layer.limit * 2;
        layer.candidates.count = 0;
        collect_phases(hub, code, numbers, 0, redraw_, layer);
    }
    return layer.candidates;
}

void HubDraws::keep_for(const StreamKey& key, std::uint32_t redraw) {
    if (redraw_ == redraw && seed_ == key.seed && purpose_ == key.purpose) return;
    hubs_.clear();
    table_.clear();
    bytes_ = 0;
    redraw_ = redraw;
    seed_ = key.seed;
    purpose_ = key.purpose;
}

}  // namespace rudder::sample
