#include "dgl_files.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder::graph {

namespace {

// What each kind of thing begins with.
constexpr std::uint64_t tensors_magic = 0xDD5A9FBE3FA2443F;
constexpr std::uint64_t array_magic = 0xDD5E40F096B4A13F;
constexpr std::uint64_t file_magic = 0xDD2E4FF046B4A13F;
constexpr std::uint64_t graph_magic = 0xDD589FBE35224ABF;
constexpr std::uint64_t meta_magic = 0xDD3C5FFE20046ABF;
constexpr std::uint64_t relation_magic = 0xDD2E60F0F6B4A127;
constexpr std::uint64_t compressed_magic = 0xDD6CD31205DFF127;
constexpr std::uint64_t list_magic = 0xDD61FFD305DFF127;

// In which formats a relation lies there.
constexpr std::uint64_t as_list = 1;
constexpr std::uint64_t by_source = 2;
constexpr std::uint64_t by_destination = 4;

constexpr std::uint64_t header_bytes = 4096;
constexpr std::uint64_t most_things = std::uint64_t{1} << 20;
constexpr std::int32_t most_dimensions = 8;

using Numbers = std::vector<std::int64_t>;

struct ArrayKind {
    std::uint8_t code;
    std::uint8_t bits;
    ElementType type;
};
constexpr std::array array_kinds{
    ArrayKind{0, 8, ElementType::i8},   ArrayKind{0, 16, ElementType::i16},
    ArrayKind{0, 32, ElementType::i32}, ArrayKind{0, 64, ElementType::i64},
    ArrayKind{1, 1, ElementType::u8},   ArrayKind{1, 8, ElementType::u8},
    ArrayKind{1, 16, ElementType::u16}, ArrayKind{1, 32, ElementType::u32},
    ArrayKind{1, 64, ElementType::u64}, ArrayKind{2, 16, ElementType::f16},
    ArrayKind{2, 32, ElementType::f32}, ArrayKind{2, 64, ElementType::f64}};

/// The file from a place on.
class Cursor {
public:
    Cursor(std::string file, std::span<const std::byte> bytes)
        : file_(std::move(file)), bytes_(bytes) {}

    [[noreturn]] void fail(const std::string& problem) const {
        throw input_error(problem, fmt::format("{}, byte {}", file_, at_),
                          "write the partition again with DGL");
    }
    void seek(std::uint64_t at) {
        if (at > bytes_.size()) fail("the file is cut short");
        at_ = at;
    }
    std::span<const std::byte> take(std::uint64_t count) {
        if (count > bytes_.size() - at_) fail("the file is cut short");
        const auto piece = bytes_.subspan(at_, count);
        at_ += count;
        return piece;
    }
    template <class T>
    T number() {
        T value{};
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }
    void skip_number() { static_cast<void>(take(sizeof(std::uint64_t))); }
    void expect(std::uint64_t magic, const char* what) {
        if (number<std::uint64_t>() != magic)
            fail(fmt::format("invalid {}: another beginning", what));
    }
    std::uint64_t count(const char* what) {
        const auto count = number<std::uint64_t>();
        if (count > most_things) fail(fmt::format("invalid number of {}: {}", what, count));
        return count;
    }
    std::string text() {
        const auto bytes = take(number<std::uint64_t>());
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    std::uint64_t skip_texts() {
        const std::uint64_t all = count("names");
        for (std::uint64_t i = 0; i < all; ++i)
            static_cast<void>(text());
        return all;
    }
    DglTensor array(std::string_view name) {
        expect(array_magic, "array");
        skip_number();  // reserved
        skip_number();  // the device
        const auto dimensions = number<std::int32_t>();
        const auto code = number<std::uint8_t>();
        const auto bits = number<std::uint8_t>();
        const auto lanes = number<std::uint16_t>();
        const auto* const kind = std::ranges::find_if(array_kinds, [&](const ArrayKind& one) {
            return one.code == code && one.bits == bits;
        });
        if (kind == array_kinds.end() || lanes != 1) {
            fail(fmt::format("invalid array: elements of code {} with {} bits", code, bits));
        }
        if (dimensions < 0 || dimensions > most_dimensions)
            fail(fmt::format("invalid array: {} dimensions", dimensions));
        DglTensor tensor;
        tensor.header.type = kind->type;
        for (std::int32_t i = 0; i < dimensions; ++i) {
            const auto extent = number<std::int64_t>();
            if (extent < 0) fail(fmt::format("invalid array: an extent of {}", extent));
            tensor.header.shape.push_back(static_cast<std::uint64_t>(extent));
        }
        tensor.where = fmt::format("{}, tensor '{}'", file_, name);
        const auto size = number<std::uint64_t>();
        std::uint64_t bytes = element_size(kind->type);
        for (const std::uint64_t extent : tensor.header.shape) {
            if (__builtin_mul_overflow(bytes, extent, &bytes))
                fail("invalid array: more elements than there can be");
        }
        if (size != bytes) {
            fail(fmt::format("invalid array: {} bytes for {}", size, tensor.header.describe()));
        }
        tensor.bytes = take(size);
        return tensor;
    }
    DglTensors named() {
        DglTensors all;
        for (std::uint64_t left = count("tensors"); left > 0; --left) {
            std::string name = text();
            DglTensor tensor = array(name);
            all.insert_or_assign(std::move(name), std::move(tensor));
        }
        return all;
    }

private:
    std::string file_;
    std::span<const std::byte> bytes_;
    std::uint64_t at_ = 0;
};

template <class T>
Numbers widened(const DglTensor& tensor) {
    Numbers values(tensor.header.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
        T value{};
        std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
        if constexpr (std::is_same_v<T, std::uint64_t>) {
            if (value >> 63U != 0) {
                throw input_error(fmt::format("invalid number: {}", value), tensor.where,
                                  "write the partition again with DGL");
            }
        }
        values[i] = static_cast<std::int64_t>(value);
    }
    return values;
}

/// A matrix of which only the places of its entries count.
struct Compressed {
    Numbers offsets;
    Numbers columns;
    Numbers ids;
};

Compressed read_compressed(Cursor& cursor) {
    cursor.expect(compressed_magic, "compressed matrix");
    cursor.skip_number();
    cursor.skip_number();
    Compressed read;
    read.offsets = cursor.array("offsets").integers();
    read.columns = cursor.array("columns").integers();
    read.ids = cursor.array("ids").integers();
    static_cast<void>(cursor.take(1));
    return read;
}

void skip_meta(Cursor& cursor) {
    cursor.expect(meta_magic, "graph of types");
    static_cast<void>(read_compressed(cursor));
}

/// The row of each entry.
Numbers rows_of(const Compressed& matrix, const Cursor& cursor) {
    const Numbers& offsets = matrix.offsets;
    if (offsets.empty() || offsets.front() != 0 || !std::ranges::is_sorted(offsets) ||
        static_cast<std::uint64_t>(offsets.back()) != matrix.columns.size()) {
        cursor.fail("invalid compressed matrix: offsets that do not fit");
    }
    Numbers rows;
    rows.reserve(matrix.columns.size());
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
        rows.resize(static_cast<std::size_t>(offsets[row + 1]), static_cast<std::int64_t>(row));
    return rows;
}

struct Ends {
    Numbers sources;
    Numbers destinations;
};

/// Edges in the order of their ids; without ids they are in it.
Ends by_id(Ends ends, const Numbers& ids, const Cursor& cursor) {
    const std::size_t count = ends.sources.size();
    if (ends.destinations.size() != count || (!ids.empty() && ids.size() != count))
        cursor.fail("invalid edges: arrays of different lengths");
    if (ids.empty()) return ends;
    Ends ordered{Numbers(count), Numbers(count)};
    std::vector<bool> seen(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto id = static_cast<std::uint64_t>(ids[i]);
        if (id >= count || seen[id]) cursor.fail(fmt::format("invalid id of an edge: {}", ids[i]));
        seen[id] = true;
        ordered.sources[id] = ends.sources[i];
        ordered.destinations[id] = ends.destinations[i];
    }
    return ordered;
}

/// Which formats a number stands for: flags, or in older files one of them.
std::uint64_t formats_of(std::uint64_t saved) {
    constexpr std::array older{as_list, by_source, by_destination};
    if (saved >> 32U != 0) return saved & 0xFFFFFFFFU;
    return saved >= 1 && saved <= older.size() ? older[saved - 1] : 0;
}

/// One relation, which may lie there in several formats.
Ends read_relation(Cursor& cursor) {
    cursor.expect(relation_magic, "relation");
    const auto saved = cursor.number<std::uint64_t>();
    cursor.skip_number();
    const std::uint64_t formats = formats_of(saved);
    std::optional<Ends> ends;
    if ((formats & as_list) != 0) {
        skip_meta(cursor);
        cursor.expect(list_magic, "list of edges");
        cursor.skip_number();
        cursor.skip_number();
        Ends read;
        read.sources = cursor.array("sources").integers();
        read.destinations = cursor.array("destinations").integers();
        const Numbers ids = cursor.array("ids").integers();
        static_cast<void>(cursor.take(2));
        ends = by_id(std::move(read), ids, cursor);
    }
    for (const std::uint64_t format : {by_source, by_destination}) {
        if ((formats & format) == 0) continue;
        skip_meta(cursor);
        Compressed read = read_compressed(cursor);
        if (ends) continue;
        Numbers rows = rows_of(read, cursor);
        Ends pairs = format == by_source ? Ends{std::move(rows), std::move(read.columns)}
                                         : Ends{std::move(read.columns), std::move(rows)};
        ends = by_id(std::move(pairs), read.ids, cursor);
    }
    if (!ends) cursor.fail(fmt::format("invalid relation: format {}", saved));
    return std::move(*ends);
}

Array<std::byte> all_of(const std::filesystem::path& path) {
    const File file = File::open(path);
    auto bytes = Array<std::byte>::uninitialised(file.size());
    if (file.read_at(0, bytes.span()) != bytes.size())
        throw input_error("the file was cut while it was read", path.string(), "leave it alone");
    return bytes;
}

}  // namespace

std::vector<std::int64_t> DglTensor::integers() const {
    if (header.shape.size() != 1 || !header.integer()) {
        throw input_error(
            fmt::format("invalid array: {}, not a column of whole numbers", header.describe()),
            where, "write the partition again with DGL");
    }
    switch (header.type) {
        case ElementType::u8:
            return widened<std::uint8_t>(*this);
        case ElementType::i8:
            return widened<std::int8_t>(*this);
        case ElementType::u16:
            return widened<std::uint16_t>(*this);
        case ElementType::i16:
            return widened<std::int16_t>(*this);
        case ElementType::u32:
            return widened<std::uint32_t>(*this);
        case ElementType::i32:
            return widened<std::int32_t>(*this);
        case ElementType::u64:
            return widened<std::uint64_t>(*this);
        default:
            return widened<std::int64_t>(*this);
    }
}

DglFile::DglFile(std::filesystem::path file) : path_(std::move(file)), bytes_(all_of(path_)) {}

DglTensors DglFile::tensors() const {
    Cursor cursor(path_.string(), bytes_.span());
    cursor.expect(tensors_magic, "file of tensors");
    cursor.skip_number();
    return cursor.named();
}

DglGraph DglFile::graph() const {
    Cursor cursor(path_.string(), bytes_.span());
    cursor.expect(file_magic, "file of graphs");
    const auto version = cursor.number<std::uint64_t>();
    const auto kind = cursor.number<std::uint64_t>();
    const auto graphs = cursor.number<std::uint64_t>();
    if (version != 2 || kind != 2 || graphs < 1) {
        cursor.fail(fmt::format("invalid file of graphs: version {}, kind {}, {} graphs", version,
                                kind, graphs));
    }
    cursor.seek(header_bytes);
    cursor.seek(cursor.number<std::uint64_t>());
    cursor.expect(graph_magic, "graph");
    skip_meta(cursor);
    const std::uint64_t relations = cursor.count("relations");
    Ends ends;
    for (std::uint64_t i = 0; i < relations; ++i)
        ends = read_relation(cursor);
    for (std::uint64_t left = cursor.count("types of vertices"); left > 0; --left)
        cursor.skip_number();
    DglGraph read;
    const std::uint64_t vertex_types = cursor.count("types of vertices");
    for (std::uint64_t i = 0; i < vertex_types; ++i)
        read.vertex_tensors = cursor.named();
    const std::uint64_t edge_types = cursor.count("types of edges");
    for (std::uint64_t i = 0; i < edge_types; ++i)
        read.edge_tensors = cursor.named();
    const std::uint64_t names = cursor.skip_texts();
    static_cast<void>(cursor.skip_texts());
    if (relations != 1 || vertex_types != 1 || edge_types != 1 || names != 1) {
        throw input_error(
            fmt::format("the graph has {} types of vertices and {} of edges", names, relations),
            path_.string(), "give a graph without types");
    }
    read.sources = std::move(ends.sources);
    read.destinations = std::move(ends.destinations);
    return read;
}

}  // namespace rudder::graph
