// NumPy archives (.npz): a zip container of .npy arrays, read with suspicion, written as a stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/element.hpp"

#include "npy.hpp"

namespace rudder::graph {

/// An opened archive. Opening reads its directory only; arrays that are not asked for are never
/// looked at, so what they hold does not matter.
class NpzArchive {
public:
    explicit NpzArchive(std::filesystem::path file);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] bool has(const std::string& array) const { return entries_.contains(array); }
    /// The first of some names that is there, or an empty one.
    [[nodiscard]] std::string first_of(std::initializer_list<const char*> names) const;
    /// The names of all arrays, in order of name.
    [[nodiscard]] std::vector<std::string> names() const;
    /// "FILE, array 'NAME'", for messages.
    [[nodiscard]] std::string where(const std::string& array) const;
    /// Begins to read an array; an input Error if it is missing or is no array that can be read.
    [[nodiscard]] NpyReader open(const std::string& array) const;

private:
    struct Container;
    struct Entry {
        std::uint64_t index;
        std::uint64_t bytes;         ///< as the directory says
        std::uint64_t packed_bytes;  ///< in the file
        bool readable;               ///< stored or deflated, not encrypted
    };
    std::filesystem::path path_;
    std::shared_ptr<Container> container_;
    std::map<std::string, Entry> entries_;
};

/// Writes an archive, array by array, without holding any of them. Arrays are stored uncompressed.
class NpzWriter {
public:
    /// Gives the data of an array piece by piece: replaces the block's bytes by the next ones;
    /// false when there are no more.
    using Producer = std::function<bool(std::vector<std::byte>& block)>;

    explicit NpzWriter(std::filesystem::path file);
    ~NpzWriter();

    /// Adds an array. The producer is called in `finish` only, and must give as many bytes as the
    /// header says.
    void add(const std::string& name, const NpyHeader& header, Producer producer);
    /// Adds a small array that is copied; an empty shape stands for a single number.
    template <class T>
    void add(const std::string& name, std::span<const T> values, std::vector<std::uint64_t> shape) {
        const auto bytes = std::as_bytes(values);
        add_copy(name, {element_type_of<T>, false, 0, std::move(shape)}, bytes);
    }
    /// Adds texts (UTF-8), as NumPy's "<U".
    void add_texts(const std::string& name, const std::vector<std::string>& texts);
    /// The same for many, of which only some are held at a time; `text` is called in `finish`.
    void add_texts(const std::string& name, std::uint64_t count,
                   std::function<std::string_view(std::uint64_t)> text);
    /// Writes the file. What a producer throws is thrown here; no file is left then.
    void finish();

private:
    struct State;
    void add_copy(const std::string& name, const NpyHeader& header,
                  std::span<const std::byte> bytes);
    std::filesystem::path path_;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::graph
