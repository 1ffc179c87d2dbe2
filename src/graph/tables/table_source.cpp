#include "table_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <glob.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

namespace rudder::graph {

namespace {

/// Whether a pattern asks for more than the file of its name.
bool has_wildcard(std::string_view pattern) {
    return pattern.find_first_of("*?[") != std::string_view::npos;
}

void add_matches(const std::filesystem::path& pattern, std::vector<std::filesystem::path>& files) {
    glob_t found{};
    const int code = ::glob(pattern.c_str(), 0, nullptr, &found);
    for (std::size_t i = 0; code == 0 && i < found.gl_pathc; ++i) {
        const std::filesystem::path file = found.gl_pathv[i];
        if (!std::filesystem::is_directory(file)) files.push_back(file);
    }
    ::globfree(&found);
    if (code == GLOB_NOSPACE) throw std::bad_alloc();
}

std::size_t position(const std::vector<std::string>& columns, const std::string& name,
                     const std::filesystem::path& file) {
    const auto found = std::ranges::find(columns, name);
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
    const std::vector<std::string_view> words(columns.begin(), columns.end());
    const auto meant = nearest(name, words);
    throw input_error(
        fmt::format("missing column '{}'", name), file.string(),
        fmt::format("{}its columns are: {}",
                    meant ? fmt::format("did you mean '{}'? ", *meant) : "", join(words, ", ")));
}

/// Counts rows until the one that is looked for.
class RowFinder final : public TableVisitor {
public:
    RowFinder(std::uint64_t row, std::string column) : row_(row), column_(std::move(column)) {}

    void begin(std::size_t slots) override { seen_.assign(slots, {}); }
    void batch(std::size_t slot, const TableBatch& batch) override {
        seen_[slot].push_back({batch.rows, batch.place});
    }
    void end() override {
        for (const auto& slot : seen_) {
            for (const Seen& seen : slot) {
                if (!found && row_ < seen.rows) found = seen.place->where(row_, column_);
                row_ -= std::min<std::uint64_t>(row_, seen.rows);
            }
        }
    }

    std::optional<std::string> found;

private:
    struct Seen {
        std::size_t rows;
        const BatchPlace* place;
    };
    std::uint64_t row_;
    std::string column_;
    std::vector<std::vector<Seen>> seen_;
};

}  // namespace

bool is_parquet(const std::filesystem::path& file) {
    constexpr std::string_view parquet_magic = "PAR1";
    std::array<char, 4> start{};
    const std::size_t got = File::open(file).read_at(0, std::as_writable_bytes(std::span(start)));
    return std::string_view(start.data(), got) == parquet_magic;
}

std::unique_ptr<TableSource> open_table(const std::filesystem::path& file) {
    return is_parquet(file) ? open_parquet(file) : open_csv(file);
}

Table::Table(std::vector<std::filesystem::path> files) : files_(std::move(files)) {
    RUDDER_CHECK(!files_.empty());
    columns_ = open_table(files_.front())->columns();
}

bool Table::has(std::string_view column) const {
    return std::ranges::find(columns_, column) != columns_.end();
}

void Table::walk(const std::vector<std::string>& wanted, TableVisitor& visitor,
                 Progress& progress) const {
    for (const std::filesystem::path& file : files_) {
        const auto source = open_table(file);
        std::vector<std::size_t> positions;
        for (const std::string& name : wanted)
            positions.push_back(position(source->columns(), name, file));
        source->walk(positions, visitor, progress);
    }
}

std::string Table::where(std::uint64_t row, const std::string& column) const {
    RowFinder finder(row, column);
    walk({column}, finder);
    return finder.found.value_or(files_.back().string());
}

std::vector<std::filesystem::path> matching_files(const std::vector<std::string>& patterns,
                                                  const std::filesystem::path& base) {
    std::vector<std::filesystem::path> files;
    for (const std::string& pattern : patterns) {
        const std::filesystem::path path = base / pattern;
        const std::size_t before = files.size();
        if (!has_wildcard(pattern) || std::filesystem::exists(path)) {
            files.push_back(path);
            continue;
        }
        add_matches(path, files);
        if (files.size() == before) {
            throw input_error("no file matches this pattern", path.string(),
                              "check the path and the pattern");
        }
    }
    return files;
}

std::string shown_cell(std::string_view text) {
    constexpr std::size_t most = 40;
    if (text.size() <= most) return std::string(text);
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80)
        --end;
    return std::string(text.substr(0, end)) + "...";
}

}  // namespace rudder::graph
