#include "line_chunks.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::report {

namespace {

constexpr std::uint64_t least_chunk = 4U << 20;
constexpr std::uint64_t most_chunks = 256;
constexpr std::size_t piece = 256U << 10;
constexpr std::size_t longest_line = 16U << 20;

/// Part of a file in memory, with padding behind it. Read, not mapped: a mapped file that is cut
/// meanwhile would end the program.
class Window {
public:
    Window(const File& file, std::uint64_t begin, std::uint64_t limit)
        : file_(file), begin_(begin), limit_(limit) {}

    /// Reads up to `end` of the file; whether anything came.
    bool read_to(std::uint64_t end) {
        end = std::min(end, limit_);
        const std::uint64_t have = begin_ + size_;
        if (end <= have) return false;
        const auto more = static_cast<std::size_t>(end - have);
        bytes_.resize(size_ + more + line_padding);
        const std::size_t got =
            file_.read_at(have, std::as_writable_bytes(std::span(bytes_).subspan(size_, more)));
        size_ += got;
        std::memset(bytes_.data() + size_, 0, line_padding);
        return got != 0;
    }
    [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }

private:
    const File& file_;
    std::uint64_t begin_;
    std::uint64_t limit_;
    std::vector<char> bytes_;
    std::size_t size_ = 0;
};

bool blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// The lines that begin in [begin, end).
class FileLines final : public LineSource {
public:
    FileLines(const File& file, std::uint64_t size, std::uint64_t begin, std::uint64_t end)
        : begin_(begin),
          end_(end),
          before_(begin == 0 ? 0 : begin - 1),  // is it a line's end?
          window_(file, before_, size) {}

    void for_each(FunctionRef<void(const TextLine&)> body) override {
        window_.read_to(end_);
        std::size_t at = 0;
        if (begin_ != 0) {
            const std::size_t newline = window_.text().find('\n');
            if (newline == std::string_view::npos) return;  // a line that began earlier goes on
            at = newline + 1;
        }
        while (before_ + at < end_ && at < window_.text().size()) {
            const std::size_t end = end_of_line(at);
            const bool whole = end != std::string_view::npos;
            const std::string_view line = window_.text().substr(at, whole ? end - at : end);
            if (!blank(line)) body({line, before_ + at, whole});
            if (!whole) return;
            at = end + 1;
        }
    }

private:
    /// Where the line ends, or npos.
    std::size_t end_of_line(std::size_t at) {
        std::size_t end = window_.text().find('\n', at);
        while (end == std::string_view::npos && window_.text().size() - at < longest_line) {
            const std::size_t looked = window_.text().size();
            if (!window_.read_to(before_ + looked + piece)) break;
            end = window_.text().find('\n', looked);
        }
        return end;
    }

    std::uint64_t begin_;
    std::uint64_t end_;
    std::uint64_t before_;
    Window window_;
};

}  // namespace

LineChunks LineChunks::of(std::uint64_t bytes) {
    return {bytes, std::max(least_chunk, bytes / most_chunks + 1)};
}

std::size_t LineChunks::count() const noexcept {
    return chunk_count(bytes, chunk);
}

void for_each_chunk(const std::filesystem::path& path, const LineChunks& chunks,
                    FunctionRef<void(std::size_t, LineSource&)> body) {
    const File file = File::open(path);
    parallel_chunks(chunks.bytes, chunks.chunk, [&](const Chunk& chunk) {
        FileLines lines(file, chunks.bytes, chunk.begin, chunk.end);
        body(chunk.index, lines);
    });
}

void for_each_line(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t end,
                   FunctionRef<void(const TextLine&)> body) {
    const File file = File::open(path);
    FileLines(file, file.size(), begin, end).for_each(body);
}

}  // namespace rudder::report
