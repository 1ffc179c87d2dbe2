#include "hub_draws.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rudder::sample {

namespace {

/// Candidates beyond those wanted, in standard deviations: few enough to be fast, so many that
/// hardly ever too few are left.
constexpr double hub_margin = 5;

/// Room is made for so many, of which few stay.
constexpr std::size_t looked_at_once = 1024;

constexpr std::uint32_t largest_number = std::numeric_limits<std::uint32_t>::max();

/// Phases that redraw on the way from one step to another, of either order: `length` from `first`
/// on, round about.
struct PhaseRange {
    std::uint32_t first;
    std::uint32_t length;

    PhaseRange(std::uint64_t from, std::uint64_t to, std::uint32_t redraw)
        : first(static_cast<std::uint32_t>((redraw - std::max(from, to) % redraw) % redraw)),
          length(static_cast<std::uint32_t>(
              std::min<std::uint64_t>(std::max(from, to) - std::min(from, to), redraw))) {}
};

/// Room for `wanted` and what is usually found beyond.
std::uint32_t room_for(std::size_t wanted) noexcept {
    const auto count = static_cast<double>(wanted);
    return static_cast<std::uint32_t>(count + 3 * hub_margin * std::sqrt(count) + 32) / 16 * 16;
}

/// Where an id belongs among those that are there.
void insert(HubLayer& hub, std::uint32_t id, std::uint32_t number) noexcept {
    std::uint32_t* ids = hub.ids();
    std::uint32_t* numbers = hub.numbers();
    std::size_t at = hub.count;
    for (; at > 0 && ids[at - 1] > id; --at) {
        ids[at] = ids[at - 1];
        numbers[at] = numbers[at - 1];
    }
    ids[at] = id;
    numbers[at] = number;
    ++hub.count;
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

template <class Value>
void HubDraws::Table<Value>::add(std::uint64_t key, Value value) {
    if ((used_ + 1) * 2 > places_.size()) {
        std::vector<Place> before(std::max<std::size_t>(64, places_.size() * 2));
        std::swap(before, places_);
        for (const Place& old : before)
            if (old.value != Value{}) places_[place(old.key)] = old;
    }
    places_[place(key)] = {key, value};
    ++used_;
}

std::byte* HubDraws::take(std::uint64_t bytes) {
    constexpr std::uint64_t piece = std::uint64_t{1} << 14;  // 1 MiB
    const std::uint64_t lines = (bytes + sizeof(Line) - 1) / sizeof(Line);
    if (bytes_ + lines * sizeof(Line) > max_bytes_) return nullptr;
    if (lines > left_) {
        left_ = std::max(lines, piece);
        memory_.emplace_back(left_);
    }
    bytes_ += lines * sizeof(Line);
    Line* at = memory_.back().data() + (memory_.back().size() - left_);
    left_ -= lines;
    return at->bytes;
}

std::uint32_t* HubDraws::neighbours(std::uint32_t vertex, std::span<const std::uint32_t> row,
                                    const SharedNumbers& numbers) {
    if (std::uint32_t* known = hubs_.find(vertex); known != nullptr) return known;
    if (row.size() > largest_number) return nullptr;
    auto* starts =
        reinterpret_cast<std::uint32_t*>(take((row.size() + redraw_ + 2) * sizeof(std::uint32_t)));
    if (starts == nullptr) return nullptr;
    std::uint32_t* ids = starts + redraw_ + 2;
    std::fill(starts, ids, 0U);
    for (const std::uint32_t id : row)
        ++starts[std::size_t{numbers.phase(id)} + 2];
    for (std::size_t p = 2; p < std::size_t{redraw_} + 2; ++p)
        starts[p] += starts[p - 1];
    for (const std::uint32_t id : row)
        ids[starts[std::size_t{numbers.phase(id)} + 1]++] = id;
    hubs_.add(vertex, starts);
    return starts;
}

HubLayer* HubDraws::add(std::uint32_t vertex, std::uint32_t layer,
                        std::span<const std::uint32_t> row, const SharedNumbers& numbers,
                        std::size_t wanted) {
    const std::uint32_t* starts = neighbours(vertex, row, numbers);
    if (starts == nullptr) return nullptr;
    const std::uint32_t room = room_for(wanted);
    std::byte* memory = take(sizeof(HubLayer) + 2 * sizeof(std::uint32_t) * room);
    if (memory == nullptr) return nullptr;
    auto* hub = new (memory) HubLayer{.neighbours = starts + redraw_ + 2,
                                      .starts = starts,
                                      .step = 0,
                                      .wanted = 0,
                                      .limit = 0,
                                      .count = 0,
                                      .room = room};
    layers_.add(std::uint64_t{layer} << 32 | vertex, hub);
    return hub;
}

/// Looks at the neighbours of phases [begin, end).
void HubDraws::collect(const HubLayer& hub, DrawCode code, const SharedNumbers& numbers,
                       std::uint32_t begin, std::uint32_t end, Candidates& found) const {
    for (std::size_t at = hub.starts[begin]; at < hub.starts[end]; at += looked_at_once) {
        const std::size_t size = std::min(looked_at_once, hub.starts[end] - at);
        found.collect(code, numbers, {hub.neighbours + at, size}, hub.limit);
    }
}

/// Looks at all neighbours; further as long as too few are found.
bool HubDraws::fill(HubLayer& hub, DrawCode code, const SharedNumbers& numbers,
                    Candidates& found) const {
    for (;;) {
        found.count = 0;
        collect(hub, code, numbers, 0, redraw_, found);
        if (found.count >= hub.wanted) break;
        hub.limit = hub.limit > largest_number / 2 ? largest_number : hub.limit * 2;
    }
    hub.count = 0;
    if (found.count > hub.room) return false;
    for (std::size_t i = 0; i < found.count; ++i)
        insert(hub, found.ids[i], found.numbers[i]);
    return true;
}

bool HubDraws::bring(HubLayer& hub, DrawCode code, const SharedNumbers& numbers, std::uint64_t step,
                     std::size_t wanted, Candidates& found) const {
    const PhaseRange range(hub.step, step, redraw_);
    const bool known = hub.wanted == wanted && range.length < redraw_;
    if (hub.wanted != wanted) hub.limit = candidate_limit(wanted, hub.starts[redraw_], hub_margin);
    hub.wanted = static_cast<std::uint32_t>(wanted);
    hub.step = step;
    bool fits = true;
    if (known && range.length > 0) {
        hub.count = static_cast<std::uint32_t>(
            numbers.drop(code, range.first, range.length, hub.ids(), hub.numbers(), hub.count));
        const std::uint32_t end = range.first + range.length;
        found.count = 0;
        collect(hub, code, numbers, range.first, std::min(end, redraw_), found);
        if (end > redraw_) collect(hub, code, numbers, 0, end - redraw_, found);
        fits = hub.count + found.count <= hub.room;
        for (std::size_t i = 0; fits && i < found.count; ++i)
            insert(hub, found.ids[i], found.numbers[i]);
    }
    if (!known || !fits || hub.count < wanted) fits = fill(hub, code, numbers, found);
    if (!fits) hub.wanted = 0;  // nothing is known: too many have small numbers
    return fits;
}

void HubDraws::keep_for(const StreamKey& key, std::uint32_t redraw) {
    if (redraw_ == redraw && seed_ == key.seed && purpose_ == key.purpose) return;
    hubs_.clear();
    layers_.clear();
    memory_.clear();
    left_ = 0;
    bytes_ = 0;
    redraw_ = redraw;
    seed_ = key.seed;
    purpose_ = key.purpose;
}

}  // namespace rudder::sample
