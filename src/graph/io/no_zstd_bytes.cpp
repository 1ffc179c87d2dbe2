// Stands in for the reader of Zstandard files in a build without the library.
#include "core/build_parts.hpp"

#include "byte_stream.hpp"

namespace rudder::graph {

std::unique_ptr<ByteStream> zstd_bytes(const std::filesystem::path& file) {
    throw missing_part("Zstandard", file.string(), "unpack the file first");
}

}  // namespace rudder::graph
