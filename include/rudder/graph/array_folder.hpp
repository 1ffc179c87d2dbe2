// A folder of raw little-endian arrays and a manifest.json that names, sizes and checksums them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/element.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::graph {

/// One array of a folder.
struct ArrayInfo {
    std::string file;
    ElementType type = ElementType::u8;
    std::vector<std::uint64_t> shape;
    std::uint64_t checksum = 0;

    [[nodiscard]] std::uint64_t count() const;  ///< elements; overflow is an Error
    [[nodiscard]] std::uint64_t bytes() const;
};

class ArrayFolderWriter;

/// An array written piece by piece, in order. `finish` must be called; what was appended must match
/// the shape.
class ArrayStream {
public:
    void append(std::span<const std::byte> bytes);
    template <class T>
    void append(std::span<const T> values) {
        append(std::as_bytes(values));
    }
    void finish();

private:
    friend class ArrayFolderWriter;
    ArrayStream(ArrayFolderWriter& folder, std::string name, ArrayInfo info, File file);

    ArrayFolderWriter* folder_;
    std::string name_;
    ArrayInfo info_;
    File file_;
    ChecksumStream checksum_;
    std::uint64_t written_ = 0;
    bool growing_ = false;
};

/// Writes arrays into an existing (staged) folder and, last, its manifest.
class ArrayFolderWriter {
public:
    explicit ArrayFolderWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Writes a whole array from memory, on all threads.
    void write(const std::string& name, ElementType type, std::vector<std::uint64_t> shape,
               std::span<const std::byte> bytes);
    /// The same for a plain one-dimensional array.
    template <class T>
    void write(const std::string& name, std::span<const T> values) {
        write(name, element_type_of<T>, {values.size()}, std::as_bytes(values));
    }
    /// Begins an array that is written piece by piece.
    [[nodiscard]] ArrayStream stream(const std::string& name, ElementType type,
                                     std::vector<std::uint64_t> shape);
    /// The same for a one-dimensional array whose length is known only when it is finished.
    [[nodiscard]] ArrayStream growing(const std::string& name, ElementType type);
    /// Goes on with such an array, of which `count` elements stand in the folder; what follows them
    /// is cut off. Fewer are an input Error.
    [[nodiscard]] ArrayStream growing_after(const std::string& name, ElementType type,
                                            std::uint64_t count);
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    /// Writes manifest.json: `header` with the list of arrays added under "arrays".
    void finish(Json header);

private:
    friend class ArrayStream;
    std::filesystem::path folder_;
    std::map<std::string, ArrayInfo> arrays_;
};

/// Opens such a folder: reads the manifest and compares each file's size with its shape. No array
/// is read until it is asked for, and then only mapped.
class ArrayFolder {
public:
    /// `format` is what the manifest's key "format" must say, `version` the newest it may have.
    ArrayFolder(std::filesystem::path folder, std::string_view format, std::uint64_t version);

    [[nodiscard]] const Json& manifest() const noexcept { return *manifest_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
    [[nodiscard]] std::string manifest_path() const { return (folder_ / "manifest.json").string(); }
    [[nodiscard]] const std::map<std::string, ArrayInfo>& arrays() const noexcept {
        return arrays_;
    }
    [[nodiscard]] bool has(const std::string& name) const { return arrays_.contains(name); }
    /// An array's entry, which must have `shape`; an input Error otherwise.
    [[nodiscard]] const ArrayInfo& expect(const std::string& name,
                                          std::span<const std::uint64_t> shape) const;
    /// Maps an array of any type.
    [[nodiscard]] Region map(const std::string& name) const;
    /// Maps an array that must be of type T and have `shape`.
    template <class T>
    [[nodiscard]] Array<T> map(const std::string& name, std::vector<std::uint64_t> shape) const {
        check_type(name, expect(name, shape), element_type_of<T>);
        return Array<T>::adopt(map(name));
    }
    /// Compares every array with its checksum; an input Error names the first that differs.
    void verify_checksums() const;

    /// Whether the folder has a manifest of this format (and so is worth opening).
    [[nodiscard]] static bool is(const std::filesystem::path& folder, std::string_view format);

private:
    void check_type(const std::string& name, const ArrayInfo& info, ElementType type) const;

    std::filesystem::path folder_;
    std::shared_ptr<const Json> manifest_;
    std::map<std::string, ArrayInfo> arrays_;
};

}  // namespace rudder::graph
