// NumPy arrays: a header written again is read the same, and a slow reader agrees with the data.
#include "graph/io/npy.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

class MemoryStream final : public graph::ByteStream {
public:
    explicit MemoryStream(std::string_view bytes) : bytes_(bytes) {}
    std::size_t read(std::span<std::byte> out) override {
        const std::size_t count = std::min(out.size(), bytes_.size());
        if (count != 0) std::memcpy(out.data(), bytes_.data(), count);
        bytes_.remove_prefix(count);
        return count;
    }

private:
    std::string_view bytes_;
};

graph::NpyReader reader_of(std::string_view bytes) {
    return {std::make_unique<MemoryStream>(bytes), bytes.size(), "array"};
}

bool same_header(const graph::NpyHeader& a, const graph::NpyHeader& b) {
    return a.type == b.type && a.boolean == b.boolean && a.text_length == b.text_length &&
           a.shape == b.shape;
}

/// One element as a whole number, read byte by byte.
std::optional<std::int64_t> slow_integer(std::string_view bytes, const graph::NpyHeader& header) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
        value = value << 8U | static_cast<unsigned char>(bytes[i]);
    const bool has_sign = header.type == ElementType::i8 || header.type == ElementType::i16 ||
                          header.type == ElementType::i32 || header.type == ElementType::i64;
    const unsigned bits = 8 * static_cast<unsigned>(bytes.size());
    if (has_sign && bits < 64 && (value >> (bits - 1)) != 0) value |= ~std::uint64_t{0} << bits;
    if (!has_sign && value >> 63U != 0) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

void check_integers(std::string_view bytes, std::string_view data, const graph::NpyHeader& header) {
    const std::size_t width = header.item_bytes();
    std::optional<Array<std::int64_t>> read;
    try {
        auto reader = reader_of(bytes);
        read = read_integers(reader);
    } catch (const Error&) {
    }
    bool fits = true;
    for (std::uint64_t i = 0; i < header.count(); ++i) {
        const auto slow = slow_integer(data.substr(i * width, width), header);
        fits = fits && slow.has_value();
        if (read) FUZZ_EXPECT(slow == (*read)[i]);
    }
    FUZZ_EXPECT(fits == read.has_value());
}

}  // namespace

void check(std::string_view bytes) {
    auto reader = reader_of(bytes);
    const graph::NpyHeader header = reader.header();
    const std::string written = make_npy_header(header);
    FUZZ_EXPECT(written.size() % 64 == 0);
    FUZZ_EXPECT(header.bytes() <= bytes.size());
    const std::string_view data = bytes.substr(bytes.size() - header.bytes());
    const std::string again = written + std::string(data);
    FUZZ_EXPECT(same_header(reader_of(again).header(), header));
    std::string copy(header.bytes(), '\0');
    reader.read(std::as_writable_bytes(std::span(copy)));
    reader.finish();
    FUZZ_EXPECT(copy == data);
    if (header.text_length != 0) {
        auto texts = reader_of(bytes);
        FUZZ_EXPECT(read_texts(texts).size() == header.count());
        return;
    }
    if (header.integer()) check_integers(bytes, data, header);
    auto numbers = reader_of(bytes);
    FUZZ_EXPECT(read_floats(numbers).size() == header.count());
    auto ids = reader_of(bytes);
    static_cast<void>(id_bound(ids));
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const ElementType type : {ElementType::u8, ElementType::i16, ElementType::i64,
                                   ElementType::u64, ElementType::f16, ElementType::f32}) {
        const graph::NpyHeader header{type, false, 0, {2, 3}};
        all.push_back(make_npy_header(header) + std::string(header.bytes(), '\x01'));
    }
    const graph::NpyHeader text{ElementType::u8, false, 3, {2}};
    all.push_back(make_npy_header(text) + std::string("a\0\0\0b\0\0\0\0\0\0\0", 12) +
                  std::string("\xe4\0\0\0\0\0\0\0\0\0\0\0", 12));
    all.push_back(graph::make_npy_header({ElementType::u8, true, 0, {4}}) +
                  std::string("\0\1\1\0", 4));
    return all;
}

}  // namespace rudder::fuzz
