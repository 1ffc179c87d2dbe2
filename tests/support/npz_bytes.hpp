// NumPy files made byte by byte, so that every field of them can be wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/element.hpp"

namespace rudder::test {

/// An array's bytes: `descr` such as "<f4", `shape` such as "(3, 2)", `data` raw.
struct NpyBytes {
    std::string descr{};
    std::string shape{};
    std::string data{};
    int version = 1;
    bool fortran = false;
    std::string header{};  ///< replaces the dictionary if not empty
    [[nodiscard]] std::string str() const;
};

/// Raw bytes of values.
template <class T>
[[nodiscard]] std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A one-dimensional (or, with columns, two-dimensional) array of values.
template <class T>
[[nodiscard]] std::string npy(const std::vector<T>& values, std::size_t columns = 0);

/// One entry of an archive. What is set beside the bytes is written in place of the truth.
struct ZipEntry {
    std::string name;  ///< ".npy" is added
    std::string bytes;
    std::optional<std::uint32_t> crc{};
    std::optional<std::uint32_t> size{};
    bool deflate = false;
};
/// The bytes of a zip archive.
[[nodiscard]] std::string zip(const std::vector<ZipEntry>& entries);

[[nodiscard]] std::string gzip(const std::string& text);

// ---- details -----------------------------------------------------------------------------------

[[nodiscard]] std::string npy_of(ElementType type, std::size_t count, std::size_t columns,
                                 std::string data);

template <class T>
std::string npy(const std::vector<T>& values, std::size_t columns) {
    return npy_of(element_type_of<T>, values.size(), columns, raw(values));
}

}  // namespace rudder::test
