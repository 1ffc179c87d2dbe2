// CSV files in rounds: a stretch of text is cut into pieces where rows begin, and the pieces become
// columns on all threads. A line end inside quotes is told by the number of quotes before it.
#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include "graph/io/byte_stream.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "csv_cells.hpp"
#include "table_source.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t csv_piece_bytes = 1 << 20;
constexpr std::size_t csv_header_usual = 1 << 14;
constexpr std::size_t csv_header_limit = 1 << 20;
/// The first read of a round; most files of tests are smaller.
constexpr std::size_t csv_first_bytes = 1 << 16;
constexpr std::size_t csv_row_limit = std::size_t{1} << 28;

bool is_ascii(std::string_view text) noexcept {
    std::uint64_t all = 0;
    std::size_t i = 0;
    for (; i + sizeof(all) <= text.size(); i += sizeof(all)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + i, sizeof(word));
        all |= word;
    }
    for (; i < text.size(); ++i)
        all |= static_cast<unsigned char>(text[i]);
    return (all & 0x8080808080808080U) == 0;
}

/// Bytes that are not UTF-8 as people can read them.
std::string escaped_bytes(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string out;
    for (const char c : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte >= 0x80 ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    }
    return out;
}

/// Behind the first row that is not blank; nothing where it does not end in this text.
std::optional<std::size_t> header_end(std::string_view text) {
    bool inside = false;
    bool blank = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '"') inside = !inside;
        if (text[at] == '\n' && !inside && !blank) return at + 1;
        if (text[at] != '\n' && text[at] != '\r') blank = false;
    }
    return std::nullopt;
}

std::size_t count_of(std::string_view text, char c) {
    return static_cast<std::size_t>(std::ranges::count(text, c));
}

class CsvPlace final : public BatchPlace {
public:
    [[nodiscard]] std::string where(std::size_t row, std::string_view column) const override {
        return fmt::format("{}, line {}, column '{}'", file->string(),
                           lines + cells->lines_before(row) + 1, column);
    }
    const std::filesystem::path* file = nullptr;
    const CsvPiece* cells = nullptr;
    std::uint64_t lines = 0;  ///< line ends before the piece
};

/// What becomes of a piece of text.
struct CsvSlot {
    CsvPiece cells;
    std::vector<TableColumn> columns;
    CsvPlace place;
    std::uint64_t lines = 0;  ///< line ends in the piece
    std::optional<CellFault> fault;
};

/// Text that begins where a row begins, in stretches of whole rows.
class CsvText {
public:
    CsvText(const std::filesystem::path& file, std::size_t skip)
        : stream_(open_bytes(file)), file_(file) {
        std::string head(skip, '\0');
        static_cast<void>(stream_->read(std::as_writable_bytes(std::span(head))));
    }

    /// Pieces of the next stretch; none at the end. `lines`: line ends before it, for a message.
    [[nodiscard]] std::vector<std::string_view> next(std::uint64_t lines) {
        const std::size_t round =
            4 * static_cast<std::size_t>(std::max(1, thread_count())) * csv_piece_bytes;
        buffer_.erase(0, used_);
        used_ = 0;
        for (std::size_t step = csv_first_bytes; buffer_.size() < round && !ended_; step *= 4)
            fill(std::min(step, round - buffer_.size()));
        while (true) {
            count_quotes();
            const std::size_t end = ended_ ? buffer_.size() : last_row_end();
            if (end != 0 || ended_) {
                used_ = end;
                return pieces(end);
            }
            if (buffer_.size() > csv_row_limit) {
                throw input_error("a row is longer than 256 MiB",
                                  fmt::format("{}, line {}", file_.string(), lines + 1),
                                  "check whether a quote is missing");
            }
            fill(buffer_.size());
        }
    }

private:
    void fill(std::size_t bytes) {
        if (ended_) return;
        const std::size_t before = buffer_.size();
        buffer_.resize(before + bytes);
        const std::size_t got =
            stream_->read(std::as_writable_bytes(std::span(buffer_).subspan(before)));
        buffer_.resize(before + got);
        ended_ = got < bytes;
    }

    /// Whether each segment of the text begins inside quotes, and whether the text ends so.
    void count_quotes() {
        const std::size_t segments = chunk_count(buffer_.size(), csv_piece_bytes);
        std::vector<std::size_t> quotes(segments);
        const std::string_view text = buffer_;
        parallel_chunks(text.size(), csv_piece_bytes, [&](const Chunk& chunk) {
            quotes[chunk.index] = count_of(text.substr(chunk.begin, chunk.end - chunk.begin), '"');
        });
        inside_.assign(segments + 1, false);
        for (std::size_t i = 0; i < segments; ++i)
            inside_[i + 1] = inside_[i] != (quotes[i] % 2 != 0);
    }

    /// Behind the last line end that is outside quotes; 0: there is none.
    [[nodiscard]] std::size_t last_row_end() const {
        bool inside = inside_.back();
        for (std::size_t at = buffer_.size(); at > 0; --at) {
            const char c = buffer_[at - 1];
            if (c == '"') inside = !inside;
            if (c == '\n' && !inside) return at;
        }
        return 0;
    }

    /// Behind the first such line end from a segment's begin on.
    [[nodiscard]] std::size_t row_end_after(std::size_t segment, std::size_t end) const {
        bool inside = inside_[segment];
        for (std::size_t at = segment * csv_piece_bytes; at < end; ++at) {
            if (buffer_[at] == '"') inside = !inside;
            if (buffer_[at] == '\n' && !inside) return at + 1;
        }
        return end;
    }

    [[nodiscard]] std::vector<std::string_view> pieces(std::size_t end) const {
        const std::string_view text = std::string_view(buffer_).substr(0, end);
        std::vector<std::string_view> cut;
        std::size_t begin = 0;
        for (std::size_t i = 1; begin < end; ++i) {
            const std::size_t candidate = i * csv_piece_bytes;
            if (candidate < end && candidate < begin) continue;
            const std::size_t stop = candidate < end ? row_end_after(i, end) : end;
            cut.push_back(text.substr(begin, stop - begin));
            begin = stop;
        }
        return cut;
    }

    std::unique_ptr<ByteStream> stream_;
    std::filesystem::path file_;
    std::string buffer_;
    std::size_t used_ = 0;
    std::vector<bool> inside_;
    bool ended_ = false;
};

class CsvSource final : public TableSource {
public:
    explicit CsvSource(std::filesystem::path file) : file_(std::move(file)) { read_header(); }

    [[nodiscard]] const std::vector<std::string>& columns() const override { return columns_; }

    void walk(std::span<const std::size_t> wanted, TableVisitor& visitor,
              Progress& progress) const override {
        std::vector<std::size_t> places;  // of those that are wanted; one may be wanted twice
        const CsvShape shape = shape_of(wanted, places);
        CsvText text(file_, data_at_);
        std::deque<CsvSlot> slots;
        std::uint64_t lines = header_lines_;
        while (true) {
            const auto pieces = text.next(lines);
            if (pieces.empty()) return;
            while (slots.size() < pieces.size())
                slots.emplace_back();
            visitor.begin(pieces.size());
            parallel_chunks(pieces.size(), 1, [&](const Chunk& chunk) {
                CsvSlot& slot = slots[chunk.index];
                split_piece(slot, pieces[chunk.index], shape, places);
                visit_piece(slot, chunk.index, pieces[chunk.index], visitor);
                progress.advance(pieces[chunk.index].size());
            });
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                slots[i].place.lines = lines;
                throw_fault(slots[i], wanted);
                lines += slots[i].lines;
            }
            visitor.end();
        }
    }

private:
    /// The beginning of the file, with the whole of its first row.
    [[nodiscard]] std::string read_head() const {
        for (const std::size_t bytes : {csv_header_usual, csv_header_limit}) {
            std::string head(bytes, '\0');
            head.resize(open_bytes(file_)->read(std::as_writable_bytes(std::span(head))));
            if (head.size() < bytes || header_end(head)) return head;
        }
        throw input_error("the first row is longer than 1 MiB",
                          fmt::format("{}, line 1", file_.string()),
                          "begin the file with a row of column names");
    }

    void read_header() {
        const std::string head = read_head();
        if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
            throw input_error("the file is UTF-16, not UTF-8", file_.string(), "save it as UTF-8");
        }
        const std::size_t mark = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
        const std::string_view text = std::string_view(head).substr(mark);
        const std::string_view line = text.substr(0, header_end(text).value_or(text.size()));
        separator_ = separator_of(line);
        try {
            std::size_t after = 0;
            columns_ = first_row(line, separator_, after);
        } catch (const RowFault& fault) {
            throw input_error(fault.what,
                              fmt::format("{}, line {}", file_.string(),
                                          1 + count_of(line.substr(0, fault.offset), '\n')),
                              fault.remedy);
        }
        data_at_ = mark + line.size();
        header_lines_ = count_of(line, '\n');
        check_header();
    }

    void check_header() const {
        const std::string where = fmt::format("{}, line 1", file_.string());
        if (columns_.empty()) {
            throw input_error("the file is empty", file_.string(),
                              "begin it with a line of column names");
        }
        std::vector<std::string> sorted = columns_;
        std::ranges::sort(sorted);
        const auto twice = std::ranges::adjacent_find(sorted);
        if (twice != sorted.end()) {
            throw input_error(fmt::format("two columns are called '{}'", shown_cell(*twice)), where,
                              "give each column a name of its own");
        }
        for (const std::string& name : columns_) {
            if (is_utf8(name)) continue;
            throw input_error(fmt::format("invalid UTF-8 text: '{}'", escaped_bytes(name)), where,
                              "save the file as UTF-8");
        }
    }

    [[nodiscard]] CsvShape shape_of(std::span<const std::size_t> wanted,
                                    std::vector<std::size_t>& places) const {
        CsvShape shape{.separator = separator_,
                       .columns = columns_.size(),
                       .places = std::vector(columns_.size(), CsvShape::unwanted)};
        for (const std::size_t column : wanted) {
            if (shape.places[column] == CsvShape::unwanted) shape.places[column] = shape.wanted++;
            places.push_back(shape.places[column]);
        }
        return shape;
    }

    void split_piece(CsvSlot& slot, std::string_view text, const CsvShape& shape,
                     const std::vector<std::size_t>& places) const {
        slot.cells.split(text, shape);
        slot.lines = count_of(text, '\n');
        slot.place.file = &file_;
        slot.place.cells = &slot.cells;
        slot.fault.reset();
        slot.columns.assign(places.size(), {});
        for (std::size_t i = 0; i < places.size(); ++i)
            slot.columns[i].texts = slot.cells.column(places[i]);
    }

    static void visit_piece(CsvSlot& slot, std::size_t index, std::string_view text,
                            TableVisitor& visitor) {
        try {
            if (!is_ascii(text)) check_text(slot);
            visitor.batch(index, {slot.cells.rows(), slot.columns, &slot.place});
        } catch (CellFault& fault) {
            slot.fault = std::move(fault);
        }
    }

    static void check_text(const CsvSlot& slot) {
        for (std::size_t row = 0; row < slot.cells.rows(); ++row) {
            for (std::size_t i = 0; i < slot.columns.size(); ++i) {
                const std::string_view cell = slot.columns[i].texts[row];
                if (is_utf8(cell)) continue;
                throw CellFault{row, i,
                                fmt::format("invalid UTF-8 text: '{}'", escaped_bytes(cell)),
                                "save the file as UTF-8"};
            }
        }
    }

    void throw_fault(const CsvSlot& slot, std::span<const std::size_t> wanted) const {
        if (slot.fault) {
            const CellFault& fault = *slot.fault;
            throw input_error(fault.what,
                              slot.place.where(fault.row, columns_[wanted[fault.column]]),
                              fault.remedy);
        }
        if (const auto& fault = slot.cells.fault()) {
            throw input_error(fault->what,
                              fmt::format("{}, line {}", file_.string(),
                                          slot.place.lines + slot.cells.lines_before_fault() + 1),
                              fault->remedy);
        }
    }

    std::filesystem::path file_;
    std::vector<std::string> columns_;
    char separator_ = ',';
    std::size_t data_at_ = 0;
    std::uint64_t header_lines_ = 0;
};

}  // namespace

std::unique_ptr<TableSource> open_csv(const std::filesystem::path& file) {
    return std::make_unique<CsvSource>(file);
}

}  // namespace rudder::graph
