// Bytes that are appended and then read anywhere: in memory while there is room, else in a file
// without a name beside the output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/nameless_file.hpp"
#include "rudder/core/array.hpp"

namespace rudder::graph {

/// Memory that several spills share, and the folder in which they go on when it is used up.
struct SpillRoom {
    std::filesystem::path folder;
    std::uint64_t bytes_left = 0;
};

class Spill {
public:
    explicit Spill(std::shared_ptr<SpillRoom> room) : room_(std::move(room)) {}

    void append(std::span<const std::byte> bytes);
    template <class T>
    void append(const std::vector<T>& values) {
        append(std::as_bytes(std::span(values)));
    }
    /// Forgets everything and gives its room back.
    void clear();
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Whether some of it lies in the file.
    [[nodiscard]] bool on_disk() const noexcept { return file_.has_value(); }
    /// The bytes from `at` on, in place where they lie together in memory, else copied to
    /// `scratch`. From any thread.
    [[nodiscard]] std::span<const std::byte> view(std::uint64_t at, std::size_t count,
                                                  std::vector<std::byte>& scratch) const;
    /// The same as values; `at` and `count` in values.
    template <class T>
    [[nodiscard]] std::span<const T> view(std::uint64_t at, std::size_t count,
                                          std::vector<std::byte>& scratch) const {
        const auto bytes = view(at * sizeof(T), count * sizeof(T), scratch);
        return {reinterpret_cast<const T*>(bytes.data()), count};
    }

private:
    /// A chunk of fixed size: in memory, or at a place of the file.
    struct SpillChunk {
        Array<std::byte> memory;
        std::uint64_t file_at = 0;
    };
    void add_chunk();
    void copy(std::uint64_t at, std::span<std::byte> out) const;

    std::shared_ptr<SpillRoom> room_;
    std::vector<SpillChunk> chunks_;
    std::optional<NamelessFile> file_;
    std::uint64_t file_end_ = 0;
    std::uint64_t size_ = 0;
};

}  // namespace rudder::graph
