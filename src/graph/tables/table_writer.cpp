#include "table_writer.hpp"

#include <array>
#include <span>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "core/interrupt.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t csv_flush_bytes = 1 << 18;

class CsvWriter final : public TableWriter {
public:
    CsvWriter(const std::filesystem::path& file, const std::vector<OutputColumn>& columns)
        : file_(File::create(file)) {
        for (const OutputColumn& column : columns)
            text(column.name);
        end_row();
    }

    void text(std::string_view value) override {
        separate();
        // Three bytes at the beginning of a file are its byte order mark, and no text.
        const bool plain = !value.empty() && !value.starts_with("\xef\xbb\xbf") &&
                           value.find_first_of(",;\t\"\r\n") == std::string_view::npos;
        if (plain) {
            buffer_ += value;
            return;
        }
        buffer_ += '"';
        for (const char c : value) {
            if (c == '"') buffer_ += '"';
            buffer_ += c;
        }
        buffer_ += '"';
    }
    void integer(std::int64_t value) override {
        separate();
        fmt::format_to(std::back_inserter(buffer_), "{}", value);
    }
    void real(float value) override {
        separate();
        fmt::format_to(std::back_inserter(buffer_), "{}", value);
    }
    void missing() override { separate(); }
    void end_row() override {
        buffer_ += '\n';
        first_ = true;
        if (buffer_.size() >= csv_flush_bytes) flush();
    }
    void finish() override {
        flush();
        file_.sync_and_close();
    }

private:
    void separate() {
        if (!first_) buffer_ += ',';
        first_ = false;
    }
    void flush() {
        throw_if_interrupted();
        file_.write(std::as_bytes(std::span(buffer_)));
        buffer_.clear();
    }

    File file_;
    std::string buffer_;
    bool first_ = true;
};

}  // namespace

OutputFormat output_format(const std::filesystem::path& file) {
    const std::string ending = file.extension().string();
    if (ending.empty() || ending == ".npz") return OutputFormat::npz;
    if (ending == ".csv") return OutputFormat::csv;
    if (ending == ".parquet") {
        require_part("Arrow", file.string());
        return OutputFormat::parquet;
    }
    throw usage_error(fmt::format("unknown ending '{}'", ending), file.string(),
                      "end the name with .npz, .csv or .parquet");
}

std::unique_ptr<TableWriter> make_table_writer(OutputFormat format,
                                               const std::filesystem::path& file,
                                               std::vector<OutputColumn> columns) {
    RUDDER_CHECK(format != OutputFormat::npz);
    if (format == OutputFormat::parquet) return make_parquet_writer(file, std::move(columns));
    return std::make_unique<CsvWriter>(file, columns);
}

}  // namespace rudder::graph
