#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "rudder/core/file.hpp"

#include "element_visit.hpp"
#include "npy.hpp"

namespace rudder::graph {

namespace {

constexpr std::uint64_t max_header = 1 << 16;
constexpr std::uint64_t elements_per_block = 1 << 17;
constexpr const char* fetch_again = "fetch or make the file again";

Error bad_value(const NpyReader& reader, std::uint64_t position, std::string what,
                std::string remedy) {
    return input_error(std::move(what), fmt::format("{}, position {}", reader.where(), position),
                       std::move(remedy));
}

void expect_integers(const NpyReader& reader) {
    if (reader.header().integer()) return;
    throw input_error(
        fmt::format("the array is {} where whole numbers are expected", reader.header().describe()),
        reader.where(), "save it as int32 or int64");
}

/// Calls `f(value, position)` for `count` elements of an integer array.
template <class F>
void for_integers(NpyReader& reader, std::uint64_t count, F&& f) {
    expect_integers(reader);
    visit_element(reader.header().type, [&](auto sample) {
        using T = decltype(sample);
        if constexpr (std::is_integral_v<T>) {
            reader.blocks(count, elements_per_block, [&](auto bytes, std::uint64_t first) {
                for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i)
                    f(load<T>(bytes.data(), i), first + i);
            });
        }
    });
}

template <class Id>
Array<Id> read_ids_as(NpyReader& reader, std::uint64_t count, VertexId limit) {
    auto ids = Array<Id>::uninitialised(count);
    std::size_t filled = 0;
    for_integers(reader, count, [&](auto value, std::uint64_t position) {
        if (std::cmp_less(value, 0) || std::cmp_greater_equal(value, limit)) {
            throw bad_value(reader, position,
                            limit == 0
                                ? fmt::format("id {} in a graph without vertices", value)
                                : fmt::format("id {} is out of range 0..{}", value, limit - 1),
                            "correct the id, or the number of vertices");
        }
        ids[filled++] = static_cast<Id>(value);
    });
    return ids;
}

void append_utf8(std::string& text, std::uint32_t code) {
    const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0U | code >> 6);
        put(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
        put(0xe0U | code >> 12);
        put(0x80U | (code >> 6 & 0x3fU));
        put(0x80U | (code & 0x3fU));
    } else {
        put(0xf0U | code >> 18);
        put(0x80U | (code >> 12 & 0x3fU));
        put(0x80U | (code >> 6 & 0x3fU));
        put(0x80U | (code & 0x3fU));
    }
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteStream> stream, std::uint64_t stream_bytes,
                     std::string where)
    : stream_(std::move(stream)), where_(std::move(where)) {
    std::array<std::byte, 12> start{};
    const auto take = [&](std::span<std::byte> out) {
        if (stream_->read(out) != out.size()) {
            throw input_error("the array ends inside its header", where_, fetch_again);
        }
    };
    take(std::span(start).first(8));
    if (std::memcmp(start.data(), "\x93NUMPY", 6) != 0) {
        throw input_error("not a NumPy array (magic bytes missing)", where_,
                          "save it with numpy.save or numpy.savez");
    }
    const auto major = std::to_integer<unsigned>(start[6]);
    if (major < 1 || major > 3 || start[7] != std::byte{0}) {
        throw input_error(fmt::format("version {}.{} of the array format is not one that is read",
                                      major, std::to_integer<unsigned>(start[7])),
                          where_, "save it with numpy.save or numpy.savez");
    }
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    take(std::span(start).subspan(8, length_bytes));
    std::uint64_t length = load<std::uint16_t>(start.data() + 8, 0);
    if (major > 1) length = load<std::uint32_t>(start.data() + 8, 0);
    const std::uint64_t before = 8 + length_bytes + length;
    if (length > max_header || before > stream_bytes) {
        throw input_error(fmt::format("the array's header claims {} bytes, in {} of at most {}",
                                      length, stream_bytes, max_header),
                          where_, fetch_again);
    }
    std::string text(length, '\0');
    take(std::as_writable_bytes(std::span(text)));
    header_ = parse_npy_header(text, where_);
    std::uint64_t bytes = 0;
    try {
        bytes = header_.bytes();
    } catch (const Error& error) {
        throw input_error(error.problem(), where_, fetch_again);
    }
    if (bytes != stream_bytes - before) {
        throw input_error(
            fmt::format("the header says {}, which is {} bytes of data, but there are {}",
                        header_.describe(), bytes, stream_bytes - before),
            where_, fetch_again);
    }
}

std::uint64_t NpyReader::left() const {
    return (header_.bytes() - taken_) / header_.item_bytes();
}

void NpyReader::read(std::span<std::byte> out) {
    if (stream_->read(out) != out.size()) {
        throw input_error("the array ends too early",
                          fmt::format("{}, position {}", where_, taken_ / header_.item_bytes()),
                          fetch_again);
    }
    taken_ += out.size();
    if (taken_ == header_.bytes()) finish();
}

void NpyReader::finish() {
    std::byte more{};
    if (stream_->read({&more, 1}) != 0) {
        throw input_error("the array has bytes after its end", where_, fetch_again);
    }
}

void NpyReader::blocks(std::uint64_t count, std::uint64_t per_block,
                       FunctionRef<void(std::span<const std::byte>, std::uint64_t)> body) {
    RUDDER_CHECK(count <= left());
    const std::uint64_t item = header_.item_bytes();
    std::vector<std::byte> buffer(std::min(count, per_block) * item);
    for (std::uint64_t done = 0; done < count;) {
        throw_if_interrupted();
        const std::uint64_t now = std::min(per_block, count - done);
        const std::uint64_t first = taken_ / item;
        const auto part = std::span(buffer).first(now * item);
        read(part);
        body(part, first);
        done += now;
    }
    if (header_.bytes() == 0) finish();
}

NpyReader open_npy(const std::filesystem::path& file) {
    const std::uint64_t bytes = File::open(file).size();
    if (is_gzip(file)) {
        throw input_error("this is a gzip file, not a NumPy array", file.string(),
                          "unpack it with gunzip");
    }
    return {open_bytes(file), bytes, file.string()};
}

IdArray read_ids(NpyReader& reader, std::uint64_t count, VertexId limit) {
    if (IdArray::needs_wide(limit))
        return IdArray(read_ids_as<std::uint64_t>(reader, count, limit));
    return IdArray(read_ids_as<std::uint32_t>(reader, count, limit));
}

VertexId id_bound(NpyReader& reader) {
    VertexId bound = 0;
    for_integers(reader, reader.left(), [&](auto value, std::uint64_t position) {
        if (std::cmp_less(value, 0) ||
            std::cmp_greater(value, std::numeric_limits<std::int64_t>::max() - 1)) {
            throw bad_value(reader, position,
                            fmt::format("id {} is {}", value, value < 1 ? "negative" : "too large"),
                            "vertices are numbered from 0");
        }
        bound = std::max(bound, static_cast<VertexId>(value) + 1);
    });
    return bound;
}

Array<std::int64_t> read_integers(NpyReader& reader) {
    auto values = Array<std::int64_t>::uninitialised(reader.left());
    std::size_t filled = 0;
    for_integers(reader, reader.left(), [&](auto value, std::uint64_t position) {
        if (!std::in_range<std::int64_t>(value)) {
            throw bad_value(reader, position, fmt::format("{} does not fit 64 bits", value),
                            "use smaller numbers");
        }
        values[filled++] = static_cast<std::int64_t>(value);
    });
    return values;
}

Array<float> read_floats(NpyReader& reader) {
    if (reader.header().text_length != 0) {
        throw input_error("the array holds text where numbers are expected", reader.where(),
                          "save it as float32");
    }
    auto values = Array<float>::uninitialised(reader.left());
    std::size_t filled = 0;
    visit_element(reader.header().type, [&](auto sample) {
        using T = decltype(sample);
        reader.blocks(reader.left(), elements_per_block, [&](auto bytes, std::uint64_t) {
            for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i)
                values[filled++] = as_float(load<T>(bytes.data(), i));
        });
    });
    return values;
}

std::vector<std::string> read_texts(NpyReader& reader) {
    std::vector<std::string> texts;
    const std::uint32_t length = reader.header().text_length;
    RUDDER_CHECK(length != 0);
    reader.blocks(reader.left(), 1 << 10, [&](auto bytes, std::uint64_t first) {
        for (std::size_t i = 0; i < bytes.size() / (4 * length); ++i) {
            std::string text;
            for (std::size_t c = 0; c < length; ++c) {
                const auto code = load<std::uint32_t>(bytes.data(), i * length + c);
                if (code == 0) break;
                if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
                    throw bad_value(reader, first + i, "the text is not valid Unicode",
                                    "correct the name");
                }
                append_utf8(text, code);
            }
            texts.push_back(std::move(text));
        }
    });
    return texts;
}

std::uint64_t read_scalar(NpyReader& reader) {
    if (reader.left() != 1) {
        throw input_error(
            fmt::format("the array is {} where one number is expected", reader.header().describe()),
            reader.where(), "save it as a single whole number");
    }
    const auto value = read_integers(reader)[0];
    if (value < 0) {
        throw bad_value(reader, 0, fmt::format("{} is negative", value), "correct the number");
    }
    return static_cast<std::uint64_t>(value);
}

}  // namespace rudder::graph
