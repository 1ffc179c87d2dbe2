#include "packed_ids.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace rudder {

namespace {

/// Values that are packed by one unrolled body, into as many whole words as a value has bits.
constexpr std::size_t group = 32;
/// Wider differences are rare and take the slow way.
constexpr unsigned widest_group = 32;
constexpr unsigned signed_block = 0x80;
constexpr unsigned id_bits = 64;

using Block = std::array<std::uint64_t, packed_block>;

constexpr std::size_t bytes_of(std::size_t count, unsigned width) noexcept {
    return (count * width + 7) / 8;
}

// ---- groups of 32 values ------------------------------------------------------------------------

/// Value I of a group goes to bit I x W; all shifts are known when this is compiled.
template <unsigned W, std::size_t I>
[[gnu::always_inline]] inline void put_value(const std::uint64_t* from, std::uint32_t* words) {
    if constexpr (W > 0) {
        constexpr std::size_t bit = I * W;
        constexpr std::size_t word = bit / 32;
        constexpr unsigned shift = bit % 32;
        const auto value = static_cast<std::uint32_t>(from[I]);
        words[word] = shift == 0 ? value : words[word] | (value << shift);
        if constexpr (shift + W > 32) words[word + 1] = value >> (32 - shift);
    }
}
template <unsigned W, std::size_t I>
[[gnu::always_inline]] inline void take_value(const std::uint32_t* words, std::uint64_t* to) {
    if constexpr (W == 0) {
        to[I] = 0;
    } else {
        constexpr std::size_t bit = I * W;
        constexpr std::size_t word = bit / 32;
        constexpr unsigned shift = bit % 32;
        constexpr std::uint32_t mask = W == 32 ? ~0U : (1U << W) - 1;
        std::uint32_t value = words[word] >> shift;
        if constexpr (shift + W > 32) value |= words[word + 1] << (32 - shift);
        to[I] = value & mask;
    }
}

template <unsigned W>
void pack_group(const std::uint64_t* from, std::byte* to) {
    std::array<std::uint32_t, W + 1> words;  // NOLINT(*-member-init): all but the last are written
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (put_value<W, I>(from, words.data()), ...);
    }
    (std::make_index_sequence<group>());
    std::memcpy(to, words.data(), W * sizeof(std::uint32_t));
}
template <unsigned W>
void unpack_group(const std::byte* from, std::uint64_t* to) {
    std::array<std::uint32_t, W + 1> words;  // NOLINT(*-member-init): all that is read is written
    std::memcpy(words.data(), from, W * sizeof(std::uint32_t));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (take_value<W, I>(words.data(), to), ...);
    }
    (std::make_index_sequence<group>());
}

using PackGroup = void (*)(const std::uint64_t*, std::byte*);
using UnpackGroup = void (*)(const std::byte*, std::uint64_t*);

constexpr auto packers = []<std::size_t... W>(std::index_sequence<W...>) {
    return std::array<PackGroup, sizeof...(W)>{pack_group<W>...};
}
(std::make_index_sequence<widest_group + 1>());
constexpr auto unpackers = []<std::size_t... W>(std::index_sequence<W...>) {
    return std::array<UnpackGroup, sizeof...(W)>{unpack_group<W>...};
}
(std::make_index_sequence<widest_group + 1>());

// ---- any number of values -----------------------------------------------------------------------

void put_bits(std::byte* bytes, std::size_t bit, unsigned width, std::uint64_t value) {
    for (unsigned done = 0; done < width;) {
        const auto shift = static_cast<unsigned>((bit + done) % 8);
        std::byte& byte = bytes[(bit + done) / 8];
        const auto part = static_cast<std::byte>((value >> done) << shift);
        byte = shift == 0 ? part : byte | part;
        done += 8 - shift;
    }
}

std::uint64_t take_bits(const std::byte* bytes, std::size_t bit, unsigned width) {
    std::uint64_t value = 0;
    for (unsigned done = 0; done < width;) {
        const auto shift = static_cast<unsigned>((bit + done) % 8);
        const auto part = std::to_integer<std::uint64_t>(bytes[(bit + done) / 8]) >> shift;
        value |= part << done;
        done += 8 - shift;
    }
    return width < id_bits ? value & ((std::uint64_t{1} << width) - 1) : value;
}

void pack_values(const std::uint64_t* from, std::size_t count, unsigned width, std::byte* to) {
    std::size_t at = 0;
    if (width <= widest_group) {
        for (; at + group <= count; at += group)
            packers[width](from + at, to + at * width / 8);
    }
    for (; at < count; ++at)
        put_bits(to, at * width, width, from[at]);
}

void unpack_values(const std::byte* from, std::size_t count, unsigned width, std::uint64_t* to) {
    std::size_t at = 0;
    if (width <= widest_group) {
        for (; at + group <= count; at += group)
            unpackers[width](from + at * width / 8, to + at);
    }
    for (; at < count; ++at)
        to[at] = take_bits(from, at * width, width);
}

// ---- the head -----------------------------------------------------------------------------------

void append_number(RawVector<std::byte>& bytes, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        bytes.push_back(static_cast<std::byte>(value | 0x80));
    bytes.push_back(static_cast<std::byte>(value));
}

/// Takes a number from the front; false if there is none.
bool take_number(std::span<const std::byte>& bytes, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < id_bits; shift += 7) {
        if (bytes.empty()) return false;
        const auto byte = std::to_integer<std::uint64_t>(bytes.front());
        bytes = bytes.subspan(1);
        if (shift == 63 && byte > 1) return false;  // bits that no number has
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

// ---- blocks -------------------------------------------------------------------------------------

constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
    return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t code) noexcept {
    return (code >> 1) ^ (0 - (code & 1));
}

/// The ids behind ids[0], as differences from the one before; whether they ascend.
struct Differences {
    std::uint64_t bits;  ///< of all of them, together
    bool ascending;
};
Differences differences(const VertexId* ids, std::size_t count, Block& out) {
    std::uint64_t bits = 0;
    std::uint64_t falls = 0;
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = ids[i + 1] - ids[i] - 1;
        bits |= out[i];
        falls |= static_cast<std::uint64_t>(ids[i + 1] <= ids[i]);
    }
    return {bits, falls == 0};
}

void pack_block(const VertexId* ids, std::size_t count, RawVector<std::byte>& bytes) {
    Block block;  // NOLINT(*-member-init): written as far as it is read
    Differences all = differences(ids, count, block);
    unsigned mark = 0;
    if (!all.ascending) {
        mark = signed_block;
        all.bits = 0;
        for (std::size_t i = 0; i < count; ++i) {
            block[i] = zigzag(block[i] + 1);
            all.bits |= block[i];
        }
    }
    const auto width = static_cast<unsigned>(std::bit_width(all.bits));
    const std::size_t start = bytes.size();
    bytes.resize(start + 1 + bytes_of(count, width));
    bytes[start] = static_cast<std::byte>(width | mark);
    pack_values(block.data(), count, width, bytes.data() + start + 1);
}

/// Writes the ids behind `last` of one block to `out`; false if one of them is not below `limit`.
bool add_up(const Block& block, std::size_t count, bool ascending, std::uint64_t last,
            std::uint64_t limit, std::uint64_t* out) {
    std::uint64_t beyond = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t next = last + (ascending ? block[i] + 1 : unzigzag(block[i]));
        // Ids of 64 bits would come round to small ones again.
        beyond |= static_cast<std::uint64_t>(next >= limit) |
                  static_cast<std::uint64_t>(ascending && next <= last);
        out[i] = next;
        last = next;
    }
    return beyond == 0;
}

}  // namespace

void pack_ids(std::span<const VertexId> ids, VertexId begin, RawVector<std::byte>& bytes) {
    append_number(bytes, ids.size());
    if (ids.empty()) return;
    append_number(bytes, ids[0] - begin);
    for (std::size_t at = 1; at < ids.size(); at += packed_block)
        pack_block(ids.data() + at - 1, std::min(packed_block, ids.size() - at), bytes);
}

bool unpack_ids(std::span<const std::byte> bytes, VertexId begin, VertexId limit,
                RawVector<VertexId>& ids) {
    std::uint64_t count = 0;
    if (!take_number(bytes, count)) return false;
    if (count == 0) {
        ids.clear();
        return bytes.empty();
    }
    std::uint64_t last = 0;
    if (!take_number(bytes, last) || last >= limit) return false;
    // Every block has a byte at least: the list is no longer than what came can hold.
    if (count > 1 && (count - 2) / packed_block >= bytes.size()) return false;
    ids.resize(count);
    ids[0] = last;
    Block block;  // NOLINT(*-member-init): written as far as it is read
    for (std::size_t at = 1; at < count; at += packed_block) {
        const std::size_t some = std::min<std::size_t>(packed_block, count - at);
        if (bytes.empty()) return false;
        const auto head = std::to_integer<unsigned>(bytes.front());
        const unsigned width = head & ~signed_block;
        bytes = bytes.subspan(1);
        if (width > id_bits || bytes_of(some, width) > bytes.size()) return false;
        unpack_values(bytes.data(), some, width, block.data());
        bytes = bytes.subspan(bytes_of(some, width));
        if (!add_up(block, some, head < signed_block, last, limit, ids.data() + at)) return false;
        last = ids[at + some - 1];
    }
    if (begin != 0) {
        for (VertexId& id : ids)
            id += begin;
    }
    return bytes.empty();
}

}  // namespace rudder
