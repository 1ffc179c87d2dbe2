#include "text_input.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t piece_bytes = 1 << 20;
/// The first read of a round; most files of tests are smaller.
constexpr std::size_t text_first_bytes = 1 << 16;
constexpr std::size_t max_line = std::size_t{1} << 28;

std::string shown(std::string_view word) {
    constexpr std::size_t most = 40;
    return word.size() <= most ? std::string(word) : std::string(word.substr(0, most)) + "...";
}

/// What parsing one piece came to.
struct PieceResult {
    std::uint64_t lines = 0;
    std::optional<LineFault> fault;
};

PieceResult parse_piece(std::string_view text, FunctionRef<void(std::string_view)> body) {
    PieceResult result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        try {
            body(text.substr(0, end));
        } catch (LineFault& fault) {
            result.fault = std::move(fault);
            return result;
        }
        ++result.lines;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

}  // namespace

std::string_view LineCursor::word() {
    const std::size_t begin = at_;
    word_at_ = begin;
    while (at_ < line_.size() && !separator(line_[at_]))
        ++at_;
    const std::string_view found = line_.substr(begin, at_ - begin);
    skip();
    if (found.empty()) throw fault("the line ends where a number is expected", "complete the line");
    return found;
}

std::uint64_t LineCursor::id() {
    const std::string_view text = word();
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc{} && end == text.data() + text.size() && value >> 63 == 0) return value;
    if (code == std::errc::result_out_of_range || (code == std::errc{} && value >> 63 != 0)) {
        throw fault(fmt::format("{} does not fit 63 bits", shown(text)), "use smaller numbers");
    }
    if (text.size() > 1 && text[0] == '-' &&
        std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; })) {
        throw fault(fmt::format("id {} is negative", shown(text)), "vertices are numbered from 0");
    }
    throw fault(fmt::format("invalid integer: '{}'", shown(text)),
                "correct the line, or choose another --format");
}

double LineCursor::number() {
    std::string_view text = word();
    const std::string_view whole = text;
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || text.empty() || code == std::errc::invalid_argument) {
        throw fault(fmt::format("invalid number: '{}'", shown(whole)), "correct the line");
    }
    if (code == std::errc::result_out_of_range && text.find("e-") == std::string_view::npos) {
        throw fault(fmt::format("'{}' is too large", shown(whole)), "use smaller numbers");
    }
    return value;
}

LineFault LineCursor::fault(std::string what, std::string remedy) const {
    return {std::move(what), word_at_ + 1, std::move(remedy)};
}

TextInput::TextInput(std::filesystem::path file)
    : path_(std::move(file)), stream_(open_bytes(path_)) {}

bool TextInput::fill(std::size_t bytes) {
    if (ended_) return false;
    if (at_ != 0) {
        buffer_.erase(0, at_);
        at_ = 0;
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + bytes);
    const std::size_t got =
        stream_->read(std::as_writable_bytes(std::span(buffer_).subspan(before)));
    buffer_.resize(before + got);
    ended_ = got < bytes;
    return got != 0;
}

std::optional<std::string_view> TextInput::peek_line() {
    std::size_t end = pending().find('\n');
    while (end == std::string_view::npos && fill(std::max(text_first_bytes, pending().size()))) {
        end = pending().find('\n');
        if (end == std::string_view::npos && pending().size() > max_line) {
            throw error({"the line is too long for text of this kind", 1, "check --format"});
        }
    }
    if (pending().empty()) return std::nullopt;
    return pending().substr(0, end);
}

void TextInput::take_line() {
    const std::size_t end = std::min(pending().find('\n'), pending().size());
    at_ += std::min(end + 1, pending().size());
    ++line_;
}

std::string TextInput::where() const {
    return fmt::format("{}, line {}", path_.string(), line_ + 1);
}

Error TextInput::error(const LineFault& fault, std::uint64_t line) const {
    return input_error(fault.what,
                       fmt::format("{}, line {}, column {}", path_.string(), line, fault.column),
                       fault.remedy);
}

/// Fills the buffer and cuts whole lines of it into pieces of about the same size.
std::vector<std::string_view> TextInput::next_batch() {
    const std::size_t pieces = 4 * static_cast<std::size_t>(std::max(1, thread_count()));
    for (std::size_t step = text_first_bytes; pending().size() < pieces * piece_bytes && !ended_;
         step *= 4)
        fill(std::min(step, pieces * piece_bytes - pending().size()));
    std::size_t whole = pending().rfind('\n');
    while (whole == std::string_view::npos && !ended_) {
        if (pending().size() > max_line) {
            throw error({"the line is too long for text of this kind", 1, "check --format"});
        }
        fill(pieces * piece_bytes);
        whole = pending().rfind('\n');
    }
    const std::size_t use = ended_ ? pending().size() : whole + 1;
    std::string_view text = pending().substr(0, use);
    at_ += use;
    std::vector<std::string_view> batch;
    while (!text.empty()) {
        const std::size_t end = text.find('\n', std::min(piece_bytes, text.size() - 1));
        const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
        batch.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return batch;
}

void TextInput::parse(FunctionRef<void(std::size_t)> begin,
                      FunctionRef<void(std::size_t, std::string_view)> line,
                      FunctionRef<void()> end, Progress& progress) {
    for (auto batch = next_batch(); !batch.empty(); batch = next_batch()) {
        begin(batch.size());
        std::vector<PieceResult> results(batch.size());
        parallel_chunks(batch.size(), 1, [&](const Chunk& chunk) {
            results[chunk.index] = parse_piece(
                batch[chunk.index], [&](std::string_view text) { line(chunk.index, text); });
            progress.advance(batch[chunk.index].size());
        });
        for (const PieceResult& result : results) {
            line_ += result.lines;
            if (result.fault) throw error(*result.fault, line_ + 1);
        }
        end();
    }
}

bool blank_or_comment(std::string_view line) noexcept {
    const std::size_t first = line.find_first_not_of(" \t\r");
    return first == std::string_view::npos || line[first] == '#' || line[first] == '%';
}

}  // namespace rudder::graph
