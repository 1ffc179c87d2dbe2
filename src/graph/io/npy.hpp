// NumPy's array format (.npy, versions 1.0 to 3.0): its header, read with suspicion and written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/element.hpp"
#include "rudder/core/function_ref.hpp"
#include "rudder/core/id_array.hpp"

#include "byte_stream.hpp"

namespace rudder::graph {

/// What the header of an array says.
struct NpyHeader {
    ElementType type = ElementType::u8;
    bool boolean = false;           ///< one byte each, of type u8
    std::uint32_t text_length = 0;  ///< text ("<U"): code points per element; 0: numbers
    std::vector<std::uint64_t> shape{};

    [[nodiscard]] std::uint64_t count() const;  ///< elements; overflow is an Error
    [[nodiscard]] std::uint64_t item_bytes() const;
    [[nodiscard]] std::uint64_t bytes() const;
    /// "float32 (3, 4)", for messages.
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] bool integer() const noexcept;
    [[nodiscard]] bool floating() const noexcept;
};

/// Reads the Python literal of a header; an input Error naming `where` if it is not one that can be
/// read: object arrays (pickles), big-endian or structured types and Fortran order are refused.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& where);

/// The bytes that stand before the data: magic, version 1.0, header; a multiple of 64.
[[nodiscard]] std::string make_npy_header(const NpyHeader& header);

/// An array being read: its header, checked against the bytes there are, then its data in order.
class NpyReader {
public:
    /// `stream_bytes` is how long the stream is; `where` names file and array.
    NpyReader(std::unique_ptr<ByteStream> stream, std::uint64_t stream_bytes, std::string where);

    [[nodiscard]] const NpyHeader& header() const noexcept { return header_; }
    [[nodiscard]] const std::string& where() const noexcept { return where_; }
    /// Elements not read yet.
    [[nodiscard]] std::uint64_t left() const;
    /// The next `out.size()` bytes of data.
    void read(std::span<std::byte> out);
    /// To be called after the last element: checks the end (and, in an archive, the checksum).
    void finish();
    /// Reads `count` elements in blocks: calls `body` with the bytes of each and the position of
    /// its first element.
    void blocks(std::uint64_t count, std::uint64_t per_block,
                FunctionRef<void(std::span<const std::byte>, std::uint64_t)> body);

private:
    std::unique_ptr<ByteStream> stream_;
    std::string where_;
    NpyHeader header_;
    std::uint64_t taken_ = 0;
};

/// Opens a lone .npy file.
[[nodiscard]] NpyReader open_npy(const std::filesystem::path& file);

/// Reads the next `count` elements as ids below `limit`, 32 bits wide where ids below `limit` fit.
/// An id that is negative or too large is an input Error with its position.
[[nodiscard]] IdArray read_ids(NpyReader& reader, std::uint64_t count, VertexId limit);

/// The largest of the array's whole numbers, plus one (0 for an empty array); a negative one is an
/// input Error. Reads all elements.
[[nodiscard]] VertexId id_bound(NpyReader& reader);

/// Reads all elements as whole numbers; an input Error where one does not fit 64 bits signed or the
/// array is not of an integer type.
[[nodiscard]] Array<std::int64_t> read_integers(NpyReader& reader);

/// Reads all elements as floats (from any numeric type).
[[nodiscard]] Array<float> read_floats(NpyReader& reader);

/// Reads an array of text as UTF-8.
[[nodiscard]] std::vector<std::string> read_texts(NpyReader& reader);

/// The one whole number of an array of one element.
[[nodiscard]] std::uint64_t read_scalar(NpyReader& reader);

}  // namespace rudder::graph
