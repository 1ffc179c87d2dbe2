// Tables written as Parquet through Arrow, a row group at a time.
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"

#include "table_writer.hpp"

namespace rudder::graph {

namespace {

constexpr std::int64_t rows_per_group = 1 << 17;
/// Fewer rows where there are many columns: a group is in memory.
constexpr std::int64_t cells_per_group = std::int64_t{1} << 23;

std::shared_ptr<arrow::DataType> arrow_type(CellKind kind) {
    if (kind == CellKind::text) return arrow::utf8();
    return kind == CellKind::integer ? arrow::int64() : arrow::float32();
}

class ParquetWriter final : public TableWriter {
public:
    ParquetWriter(const std::filesystem::path& file, const std::vector<OutputColumn>& columns)
        : file_(file) {
        arrow::FieldVector fields;
        for (const OutputColumn& column : columns)
            fields.push_back(arrow::field(column.name, arrow_type(column.kind)));
        schema_ = arrow::schema(fields);
        builder_ = value(arrow::RecordBatchBuilder::Make(schema_, arrow::default_memory_pool()));
        output_ = value(arrow::io::FileOutputStream::Open(file.string()));
        writer_ = value(parquet::arrow::FileWriter::Open(
            *schema_, arrow::default_memory_pool(), output_,
            parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build()));
        const auto wide = static_cast<std::int64_t>(columns.size());
        most_rows_ = std::max<std::int64_t>(
            1, std::min(rows_per_group, cells_per_group / std::max<std::int64_t>(1, wide)));
    }

    void text(std::string_view value) override { good(next<arrow::StringBuilder>().Append(value)); }
    void integer(std::int64_t value) override { good(next<arrow::Int64Builder>().Append(value)); }
    void real(float value) override { good(next<arrow::FloatBuilder>().Append(value)); }
    void missing() override { good(builder_->GetField(column_++)->AppendNull()); }
    void end_row() override {
        column_ = 0;
        if (++rows_ == most_rows_) flush();
    }
    void finish() override {
        flush();
        good(writer_->Close());
        good(output_->Close());
    }

private:
    template <class Builder>
    Builder& next() {
        return *builder_->GetFieldAs<Builder>(column_++);
    }
    void good(const arrow::Status& status) const {
        if (status.ok()) return;
        throw Error(ErrorKind::failed, fmt::format("cannot write Parquet: {}", status.ToString()),
                    file_.string(), "check the path and the disk");
    }
    template <class T>
    T value(arrow::Result<T> result) const {
        good(result.status());
        return result.MoveValueUnsafe();
    }
    void flush() {
        throw_if_interrupted();
        if (rows_ == 0) return;
        if (groups_++ != 0) good(writer_->NewBufferedRowGroup());
        good(writer_->WriteRecordBatch(*value(builder_->Flush())));
        rows_ = 0;
    }

    std::filesystem::path file_;
    std::shared_ptr<arrow::Schema> schema_;
    std::unique_ptr<arrow::RecordBatchBuilder> builder_;
    std::shared_ptr<arrow::io::FileOutputStream> output_;
    std::unique_ptr<parquet::arrow::FileWriter> writer_;
    int column_ = 0;
    std::int64_t rows_ = 0;
    std::uint64_t groups_ = 0;
    std::int64_t most_rows_ = rows_per_group;
};

}  // namespace

bool has_parquet() noexcept {
    return true;
}

std::unique_ptr<TableWriter> make_parquet_writer(const std::filesystem::path& file,
                                                 std::vector<OutputColumn> columns) {
    return std::make_unique<ParquetWriter>(file, columns);
}

}  // namespace rudder::graph
