// Packed files give the bytes they were made of, however they are read; damaged ones are refused.
#include <random>

#include <fmt/format.h>

#include "graph/io/byte_stream.hpp"

#include "support/refusal.hpp"
#include "tables_support.hpp"

namespace rudder::test {
namespace {

/// A Zstandard frame made byte by byte: raw blocks, and one of a repeated byte at the end, if any.
std::string zstd_frame(const std::string& text, std::size_t repeated = 0) {
    std::string frame = "\x28\xb5\x2f\xfd";
    frame += '\x00';  // no size, no checksum, no dictionary
    frame += '\x58';  // a window of 2 MiB
    const auto block = [&](unsigned type, std::size_t size, bool last) {
        const auto header = static_cast<std::uint32_t>(size << 3U | type << 1U | (last ? 1U : 0U));
        for (unsigned i = 0; i < 3; ++i)
            frame += static_cast<char>(header >> 8 * i & 0xffU);
    };
    constexpr std::size_t most = 1 << 16;
    for (std::size_t at = 0; at < text.size() || at == 0; at += most) {
        const std::string piece = text.substr(at, most);
        block(0, piece.size(), repeated == 0 && at + most >= text.size());
        frame += piece;
    }
    if (repeated != 0) {
        block(1, repeated, true);
        frame += 'r';
    }
    return frame;
}

/// A frame that is passed over.
std::string zstd_skipped(const std::string& bytes) {
    return std::string("\x50\x2a\x4d\x18", 4) + static_cast<char>(bytes.size()) +
           std::string(3, '\0') + bytes;
}

std::string long_text(std::uint32_t seed, std::size_t lines) {
    std::mt19937 random(seed);
    std::string text;
    for (std::size_t i = 0; i < lines; ++i)
        text += fmt::format("{} {}\n", random() % 1000, random() % 1000);
    return text;
}

class PackedBytes : public TablesTest {
protected:
    /// All bytes, asked for in pieces of changing size.
    static std::string read_all(const std::filesystem::path& file, std::size_t at_once) {
        const auto stream = graph::open_bytes(file);
        std::string all;
        for (std::size_t size = at_once;; size = size % at_once + 1 + at_once / 2) {
            std::string piece(size, '\0');
            const std::size_t got = stream->read(std::as_writable_bytes(std::span(piece)));
            all += piece.substr(0, got);
            if (got < size) break;
        }
        std::byte more{};
        EXPECT_EQ(stream->read(std::span(&more, 1)), 0U) << "the end stays the end";
        return all;
    }
    void give(const std::string& packed, const std::string& text) {
        const auto file = write("packed", packed);
        for (const std::size_t at_once : {1U, 7U, 4096U, 1U << 20}) {
            if (at_once == 1 && text.size() > 5000) continue;
            EXPECT_TRUE(read_all(file, at_once) == text) << at_once;
        }
    }
    Refusal refused(const std::string& packed) {
        const auto file = write("packed", packed);
        const Refusal refusal = refusal_of([&] { (void)read_all(file, 1000); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_EQ(refusal.where, file.string());
        return refusal;
    }
};

TEST_F(PackedBytes, PlainOnesAreAsTheyAre) {
    give("", "");
    give("a", "a");
    give("\x1f", "\x1f");
    give("\x28\xb5\x2f", "\x28\xb5\x2f");
    const std::string text = long_text(1, 20000);
    give(text, text);
    EXPECT_FALSE(graph::is_gzip(write("short", "\x1f")));
}

TEST_F(PackedBytes, GzipOfOneAndManyMembers) {
    const std::string text = long_text(2, 60000);  // more than a buffer when packed
    give(gzip(text), text);
    give(gzip(""), "");
    give(gzip("a") + gzip("") + gzip("bc") + gzip(text), "abc" + text);
    const std::string packed = gzip("some text that is packed");
    for (std::size_t size = 2; size < packed.size(); ++size)
        EXPECT_EQ(refused(packed.substr(0, size)).problem, "the gzip file ends too early") << size;
    EXPECT_EQ(refused(packed + "no member").problem.find("the gzip data are damaged"), 0U);
}

class ZstdBytes : public PackedBytes {};

TEST_F(ZstdBytes, OfOneAndManyFrames) {
    give(zstd_frame("hello"), "hello");
    give(zstd_frame(""), "");
    give(zstd_frame("x", 100000), "x" + std::string(100000, 'r'));
    const std::string text = long_text(3, 60000);
    give(zstd_frame(text), text);
    give(zstd_frame("a") + zstd_frame("") + zstd_skipped("not text") + zstd_frame(text, 5),
         "a" + text + "rrrrr");
}

TEST_F(ZstdBytes, EveryTruncationIsNoticed) {
    const std::string packed = zstd_frame("some text that is packed", 300);
    for (std::size_t size = 4; size < packed.size(); ++size)
        EXPECT_EQ(refused(packed.substr(0, size)).problem, "the Zstandard file ends too early")
            << size;
    EXPECT_EQ(refused(zstd_frame("a") + packed.substr(0, 9)).problem,
              "the Zstandard file ends too early");
}

TEST_F(ZstdBytes, DamageIsNamed) {
    std::string reserved = zstd_frame("text");
    reserved[6] = static_cast<char>(reserved[6] | 6);  // a type of block that does not exist
    EXPECT_EQ(refused(reserved).problem.find("the Zstandard data are damaged ("), 0U);
    EXPECT_EQ(refused(zstd_frame("text") + "more").problem.find("the Zstandard data are damaged"),
              0U);
}

TEST_F(ZstdBytes, TablesOfEveryPackingAreOne) {
    const std::string nodes = "id,x\na,1\nb,2\nc,3\n";
    const std::string edges = "source,target\na,b\nc,b\n";
    const graph::Dataset plain = import(two(nodes, edges));
    const auto rows = rows_of(plain.topology());
    const auto features = features_of(plain);
    for (const auto& pack : {+[](const std::string& text) { return gzip(text); },
                             +[](const std::string& text) { return zstd_frame(text); },
                             +[](const std::string& text) {
                                 return zstd_frame(text.substr(0, 7)) + zstd_frame(text.substr(7));
                             }}) {
        const graph::Dataset data = import(two(pack(nodes), pack(edges)));
        EXPECT_EQ(rows_of(data.topology()), rows);
        EXPECT_EQ(features_of(data), features);
        EXPECT_EQ(names_of(data), (std::vector<std::string>{"a", "b", "c"}));
    }
    EXPECT_EQ(rows, (std::vector<std::vector<VertexId>>{{1}, {0, 2}, {1}}));
    const graph::Dataset list = import(write("list.txt", zstd_frame("0 1\n1 2\n")));
    EXPECT_EQ(list.info().vertices, 3U);
}

}  // namespace
}  // namespace rudder::test
