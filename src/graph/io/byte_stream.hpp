// Bytes read one after the other, from a file, a packed file or an entry of an archive.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace rudder::graph {

/// A sequence of bytes that is read once, front to back.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    /// Fills `out`; fewer bytes only at the end. Damage (a bad checksum, a truncated file) is an
    /// input Error that names the file.
    virtual std::size_t read(std::span<std::byte> out) = 0;
};

/// Whether a file begins as gzip files do.
[[nodiscard]] bool is_gzip(const std::filesystem::path& file);

/// The bytes of a file; those inside, where it is a gzip or a Zstandard file.
[[nodiscard]] std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& file);

/// A file as it is.
[[nodiscard]] std::unique_ptr<ByteStream> plain_bytes(const std::filesystem::path& file);
/// What a Zstandard file holds. A build without the library refuses it.
[[nodiscard]] std::unique_ptr<ByteStream> zstd_bytes(const std::filesystem::path& file);

}  // namespace rudder::graph
