#include "support/npz_bytes.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <zlib.h>

namespace rudder::test {

namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        out += static_cast<char>(value >> (8 * i) & 0xffU);
}

std::string deflated(const std::string& bytes, int window) {
    z_stream zip{};
    if (deflateInit2(&zip, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::runtime_error("no zlib");
    }
    std::string out(deflateBound(&zip, bytes.size()) + 64, '\0');
    zip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    zip.avail_in = static_cast<uInt>(bytes.size());
    zip.next_out = reinterpret_cast<Bytef*>(out.data());
    zip.avail_out = static_cast<uInt>(out.size());
    deflate(&zip, Z_FINISH);
    out.resize(zip.total_out);
    deflateEnd(&zip);
    return out;
}

/// The fields a local header and a directory entry have in common.
void put_common(std::string& out, const ZipEntry& entry, std::size_t packed) {
    const auto crc =
        static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(entry.bytes.data()),
                                         static_cast<uInt>(entry.bytes.size())));
    put(out, 20, 2);                     // version needed
    put(out, 0, 2);                      // flags
    put(out, entry.deflate ? 8 : 0, 2);  // method
    put(out, 0x00210000, 4);             // time and date
    put(out, entry.crc.value_or(crc), 4);
    put(out, packed, 4);
    put(out, entry.size.value_or(static_cast<std::uint32_t>(entry.bytes.size())), 4);
    put(out, entry.name.size() + 4, 2);
    put(out, 0, 2);  // extra
}

}  // namespace

std::string NpyBytes::str() const {
    std::string dictionary = header;
    if (dictionary.empty()) {
        dictionary = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                 fortran ? "True" : "False", shape);
    }
    const std::size_t before = version == 1 ? 10 : 12;
    while ((before + dictionary.size() + 1) % 64 != 0)
        dictionary += ' ';
    dictionary += '\n';
    std::string out("\x93NUMPY");
    out += static_cast<char>(version);
    out += '\0';
    put(out, dictionary.size(), version == 1 ? 2 : 4);
    return out + dictionary + data;
}

std::string npy_of(ElementType type, std::size_t count, std::size_t columns, std::string data) {
    static constexpr std::array codes{"|u1", "|i1", "<u2", "<i2", "<u4", "<i4",
                                      "<u8", "<i8", "<f2", "",    "<f4", "<f8"};
    NpyBytes bytes{.descr = codes[static_cast<std::size_t>(type)]};
    bytes.shape = columns == 0 ? fmt::format("({},)", count)
                               : fmt::format("({}, {})", count / columns, columns);
    bytes.data = std::move(data);
    return bytes.str();
}

std::string zip(const std::vector<ZipEntry>& entries) {
    std::string out;
    std::string directory;
    for (const ZipEntry& entry : entries) {
        const std::string packed = entry.deflate ? deflated(entry.bytes, -15) : entry.bytes;
        const std::size_t offset = out.size();
        out += "PK\x03\x04";
        put_common(out, entry, packed.size());
        out += entry.name + ".npy" + packed;
        directory += "PK\x01\x02";
        put(directory, 20, 2);  // made by
        put_common(directory, entry, packed.size());
        put(directory, 0, 2);  // comment
        put(directory, 0, 2);  // disk
        put(directory, 0, 2);  // attributes
        put(directory, 0, 4);
        put(directory, offset, 4);
        directory += entry.name + ".npy";
    }
    const std::size_t offset = out.size();
    out += directory + "PK\x05\x06";
    put(out, 0, 4);
    put(out, entries.size(), 2);
    put(out, entries.size(), 2);
    put(out, directory.size(), 4);
    put(out, offset, 4);
    put(out, 0, 2);
    return out;
}

std::string gzip(const std::string& text) {
    return deflated(text, 15 + 16);
}

}  // namespace rudder::test
