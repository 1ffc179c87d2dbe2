// A slot holds 24 bits of the hash and 40 of the vertex. Inserting takes an empty slot in one
// atomic step; of equal ids the earlier vertex stays, so that which is called the duplicate does
// not depend on who came first.
#include "id_map.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr unsigned vertex_bits = 40;
constexpr std::uint64_t vertex_mask = (std::uint64_t{1} << vertex_bits) - 1;
constexpr std::uint64_t empty_slot = ~std::uint64_t{0};
constexpr std::size_t inserted_per_chunk = 1 << 14;
constexpr std::size_t asked_at_once = 32;

std::uint64_t id_hash(std::string_view text) noexcept {
    return hash_bytes(std::as_bytes(std::span(text)));
}

std::uint64_t id_hash(std::int64_t number) noexcept {
    auto x = static_cast<std::uint64_t>(number) + 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

std::uint64_t slot_of(std::uint64_t hash, VertexId v) noexcept {
    return (hash & ~vertex_mask) | v;
}

bool same_tag(std::uint64_t slot, std::uint64_t hash) noexcept {
    return (slot ^ hash) >> vertex_bits == 0;
}

bool is_id(const VertexIds& ids, VertexId v, std::string_view key) noexcept {
    return ids.text(v) == key;
}

bool is_id(const VertexIds& ids, VertexId v, std::int64_t key) noexcept {
    return ids.numbers()[v] == key;
}

void prefetch_id(const VertexIds& ids, VertexId v, std::string_view /*key*/) noexcept {
    __builtin_prefetch(ids.offsets().data() + v);
}

void prefetch_id(const VertexIds& ids, VertexId v, std::int64_t /*key*/) noexcept {
    __builtin_prefetch(ids.numbers().data() + v);
}

void prefetch_text(const VertexIds& ids, VertexId v, std::string_view /*key*/) noexcept {
    __builtin_prefetch(ids.bytes() + ids.offsets()[v]);
}

void prefetch_text(const VertexIds& /*ids*/, VertexId /*v*/, std::int64_t /*key*/) noexcept {}

}  // namespace

std::optional<std::int64_t> plain_integer(std::string_view text) noexcept {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (text.empty() || code != std::errc{} || stop != end) return std::nullopt;
    const std::string_view digits = text.substr(text.front() == '-' ? 1 : 0);
    const bool needless = digits.size() > 1 ? digits.front() == '0' : text == "-0";
    if (needless) return std::nullopt;
    return value;
}

IdMap::IdMap(const VertexIds& ids) : ids_(ids) {
    RUDDER_CHECK(ids.kind().has_value() && ids.size() < vertex_mask);
    const std::uint64_t slots = std::bit_ceil(2 * std::max<std::uint64_t>(ids.size(), 1));
    mask_ = slots - 1;
    slots_ = Array<std::uint64_t>::uninitialised(slots);
    parallel_chunks(slots, inserted_per_chunk, [&](const Chunk& chunk) {
        std::fill(slots_.begin() + chunk.begin, slots_.begin() + chunk.end, empty_slot);
    });
    parallel_chunks(ids.size(), inserted_per_chunk, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v)
            insert(v);
    });
    if (later_ == no_vertex) return;
    VertexId first = 0;
    while (!equal(first, later_))
        ++first;
    duplicate_ = Duplicate{first, later_};
}

std::uint64_t IdMap::hash_of(VertexId v) const noexcept {
    return *ids_.kind() == IdKind::text ? id_hash(ids_.text(v)) : id_hash(ids_.numbers()[v]);
}

bool IdMap::equal(VertexId a, VertexId b) const noexcept {
    return *ids_.kind() == IdKind::text ? ids_.text(a) == ids_.text(b)
                                        : ids_.numbers()[a] == ids_.numbers()[b];
}

void IdMap::insert(VertexId v) {
    const std::uint64_t hash = hash_of(v);
    for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
        std::atomic_ref slot(slots_[at]);
        std::uint64_t there = slot.load(std::memory_order_relaxed);
        if (there == empty_slot &&
            slot.compare_exchange_strong(there, slot_of(hash, v), std::memory_order_relaxed)) {
            return;
        }
        while (same_tag(there, hash) && equal(there & vertex_mask, v)) {
            const VertexId other = there & vertex_mask;
            if (other > v &&
                !slot.compare_exchange_weak(there, slot_of(hash, v), std::memory_order_relaxed)) {
                continue;
            }
            std::atomic_ref later(later_);
            std::uint64_t known = later.load(std::memory_order_relaxed);
            while (std::max(other, v) < known &&
                   !later.compare_exchange_weak(known, std::max(other, v),
                                                std::memory_order_relaxed)) {
            }
            return;
        }
    }
}

template <class Key>
VertexId IdMap::probe(const Key& key, std::uint64_t hash) const noexcept {
    for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
        const std::uint64_t slot = slots_[at];
        if (slot == empty_slot) return no_vertex;
        if (same_tag(slot, hash) && is_id(ids_, slot & vertex_mask, key)) return slot & vertex_mask;
    }
}

template <class Key>
void IdMap::find_some(std::span<const Key> keys, std::span<VertexId> found) const {
    std::array<std::uint64_t, asked_at_once> hashes{};
    for (std::size_t begin = 0; begin < keys.size(); begin += asked_at_once) {
        const std::size_t count = std::min(asked_at_once, keys.size() - begin);
        const auto some = keys.subspan(begin, count);
        for (std::size_t i = 0; i < count; ++i) {
            hashes[i] = id_hash(some[i]);
            __builtin_prefetch(slots_.data() + (hashes[i] & mask_));
        }
        // What is fetched is where the id probably is; what is found is looked for afterwards.
        const auto ahead = [&](auto&& prefetch) {
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t slot = slots_[hashes[i] & mask_];
                if (slot != empty_slot && same_tag(slot, hashes[i]))
                    prefetch(ids_, slot & vertex_mask, some[i]);
            }
        };
        ahead([](const auto&... all) { prefetch_id(all...); });
        ahead([](const auto&... all) { prefetch_text(all...); });
        for (std::size_t i = 0; i < count; ++i)
            found[begin + i] = probe(some[i], hashes[i]);
    }
}

void IdMap::find(std::span<const std::string_view> texts, std::span<VertexId> found) const {
    if (*ids_.kind() == IdKind::text) return find_some(texts, found);
    std::vector<std::int64_t> numbers(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i)
        numbers[i] = plain_integer(texts[i]).value_or(0);
    find_some(std::span<const std::int64_t>(numbers), found);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (numbers[i] == 0 && texts[i] != "0") found[i] = no_vertex;
    }
}

void IdMap::find(std::span<const std::int64_t> numbers, std::span<VertexId> found) const {
    if (*ids_.kind() == IdKind::integer) return find_some(numbers, found);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        found[i] = find(numbers[i]);
}

VertexId IdMap::find(std::string_view text) const {
    VertexId found = no_vertex;
    find(std::span(&text, 1), std::span(&found, 1));
    return found;
}

VertexId IdMap::find(std::int64_t number) const {
    if (*ids_.kind() == IdKind::integer) return probe(number, id_hash(number));
    std::array<char, 24> digits{};
    const auto [end, code] = std::to_chars(digits.begin(), digits.end(), number);
    const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    return probe(text, id_hash(text));
}

}  // namespace rudder::graph
