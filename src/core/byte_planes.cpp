#include "byte_planes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#include <zstd.h>

#include "rudder/core/check.hpp"

namespace rudder {

namespace {

constexpr std::size_t size_bytes = 4;
constexpr std::size_t planes_head = 1 + size_bytes;
/// The fastest that also counts how often bytes occur, which is what shortens exponents.
constexpr int zstd_level = 1;

enum PlaneForm : std::uint8_t { stored = 0, compressed = 1 };

/// What a thread keeps for it.
struct PlaneTools {
    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> compress{ZSTD_createCCtx()};
    std::unique_ptr<ZSTD_DCtx, Free> decompress{ZSTD_createDCtx()};
    RawVector<std::byte> plane;
};
PlaneTools& plane_tools() {
    thread_local PlaneTools tools;
    return tools;
}

std::size_t plane_length(std::size_t bytes, std::size_t width, std::size_t plane) {
    return bytes <= plane ? 0 : (bytes - plane + width - 1) / width;
}

/// Calls `f` with the width as a constant where there is a loop for it, so that it becomes vectors.
template <class F>
void with_element_width(std::size_t width, F&& f) {
    switch (width) {
        case 2:
            return f(std::integral_constant<std::size_t, 2>());
        case 4:
            return f(std::integral_constant<std::size_t, 4>());
        default:
            return f(width);
    }
}

void gather_plane(const std::byte* from, std::size_t count, std::size_t width, std::byte* plane) {
    with_element_width(width, [&](auto w) {
        for (std::size_t i = 0; i < count; ++i)
            plane[i] = from[i * w];
    });
}
void scatter_plane(const std::byte* plane, std::size_t count, std::size_t width, std::byte* to) {
    with_element_width(width, [&](auto w) {
        for (std::size_t i = 0; i < count; ++i)
            to[i * w] = plane[i];
    });
}

void put_size(std::byte* to, std::size_t size) {
    for (std::size_t i = 0; i < size_bytes; ++i)
        to[i] = static_cast<std::byte>(size >> (8 * i));
}
std::size_t get_size(const std::byte* from) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < size_bytes; ++i)
        size |= std::to_integer<std::size_t>(from[i]) << (8 * i);
    return size;
}

/// Appends it compressed; false, with nothing appended, if that is hardly shorter.
bool append_compressed(std::span<const std::byte> plane, RawVector<std::byte>& coded) {
    constexpr std::size_t least = 64;
    if (plane.size() < least) return false;
    const std::size_t start = coded.size();
    const std::size_t room = plane.size() - plane.size() / 16 - size_bytes;
    coded.resize(start + 1 + size_bytes + room);
    const std::size_t size =
        ZSTD_compressCCtx(plane_tools().compress.get(), coded.data() + start + 1 + size_bytes, room,
                          plane.data(), plane.size(), zstd_level);
    if (ZSTD_isError(size) != 0) {  // no room for it
        coded.resize(start);
        return false;
    }
    coded[start] = static_cast<std::byte>(compressed);
    put_size(coded.data() + start + 1, size);
    coded.resize(start + 1 + size_bytes + size);
    return true;
}

/// Takes a plane of `plane.size()` bytes from the front; false if there is none.
bool take_plane(std::span<const std::byte>& coded, std::span<std::byte> plane) {
    if (coded.empty()) return false;
    const auto form = std::to_integer<std::uint8_t>(coded.front());
    coded = coded.subspan(1);
    if (form == stored) {
        if (coded.size() < plane.size()) return false;
        if (!plane.empty()) std::memcpy(plane.data(), coded.data(), plane.size());
        coded = coded.subspan(plane.size());
        return true;
    }
    if (form != compressed || coded.size() < size_bytes) return false;
    const std::size_t size = get_size(coded.data());
    coded = coded.subspan(size_bytes);
    if (size > coded.size()) return false;
    const std::size_t got = ZSTD_decompressDCtx(plane_tools().decompress.get(), plane.data(),
                                                plane.size(), coded.data(), size);
    coded = coded.subspan(size);
    return ZSTD_isError(got) == 0 && got == plane.size();
}

}  // namespace

std::uint32_t encode_planes(std::span<const std::byte> plain, std::size_t width,
                            std::uint32_t tried, RawVector<std::byte>& coded) {
    RUDDER_CHECK(width >= 1 && width <= most_planes);
    RUDDER_CHECK(plain.size() <= std::numeric_limits<std::uint32_t>::max());
    const std::size_t start = coded.size();
    coded.resize(start + planes_head);
    coded[start] = static_cast<std::byte>(width);
    put_size(coded.data() + start + 1, plain.size());
    std::uint32_t shrunk = 0;
    RawVector<std::byte>& memory = plane_tools().plane;
    for (std::size_t p = 0; p < width; ++p) {
        const std::size_t length = plane_length(plain.size(), width, p);
        std::span<const std::byte> plane = plain;
        if (width > 1) {
            memory.resize(length);
            gather_plane(plain.data() + p, length, width, memory.data());
            plane = memory;
        }
        if ((tried >> p & 1U) != 0 && append_compressed(plane, coded)) {
            shrunk |= 1U << p;
            continue;
        }
        coded.push_back(static_cast<std::byte>(stored));
        coded.insert(coded.end(), plane.begin(), plane.end());
    }
    return shrunk;
}

std::optional<std::size_t> planes_size(std::span<const std::byte> coded) noexcept {
    if (coded.size() < planes_head) return std::nullopt;
    return get_size(coded.data() + 1);
}

bool decode_planes(std::span<const std::byte> coded, std::span<std::byte> plain) {
    if (planes_size(coded) != plain.size()) return false;
    const auto width = std::to_integer<std::size_t>(coded.front());
    if (width < 1 || width > most_planes) return false;
    coded = coded.subspan(planes_head);
    RawVector<std::byte>& memory = plane_tools().plane;
    for (std::size_t p = 0; p < width; ++p) {
        const std::size_t length = plane_length(plain.size(), width, p);
        if (width == 1) {
            if (!take_plane(coded, plain)) return false;
            continue;
        }
        memory.resize(length);
        if (!take_plane(coded, memory)) return false;
        if (length > 0) scatter_plane(memory.data(), length, width, plain.data() + p);
    }
    return coded.empty();
}

}  // namespace rudder
