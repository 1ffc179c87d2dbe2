// Parquet files through Arrow: a slot is a row group, which is decoded in batches on one thread.
#include <cstring>
#include <deque>
#include <optional>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "csv_cells.hpp"
#include "table_source.hpp"

namespace rudder::graph {

namespace {

constexpr std::int64_t parquet_batch_rows = 1 << 16;

Error parquet_error(const std::string& what, const std::filesystem::path& file) {
    return input_error(fmt::format("the Parquet file cannot be read: {}", what), file.string(),
                       "fetch or make the file again");
}

template <class T>
T value_of(arrow::Result<T> result, const std::filesystem::path& file) {
    if (!result.ok()) throw parquet_error(result.status().ToString(), file);
    return result.MoveValueUnsafe();
}

class ParquetPlace final : public BatchPlace {
public:
    ParquetPlace(const std::filesystem::path& file, int group, std::uint64_t first)
        : file_(file), group_(group), first_(first) {}
    [[nodiscard]] std::string where(std::size_t row, std::string_view column) const override {
        return fmt::format("{}, row group {}, row {}, column '{}'", file_.string(), group_,
                           first_ + row, column);
    }

private:
    const std::filesystem::path& file_;
    int group_;
    std::uint64_t first_;
};

/// A column of a batch as values of ours; what is converted lives here.
class ParquetCells {
public:
    /// False where the type is none that tables have.
    [[nodiscard]] bool read(const arrow::Array& array) {
        array_ = &array;
        column_ = {};
        mark_missing(array);
        return read_integers(array) || read_reals(array) || read_texts(array) ||
               read_dictionary(array) || read_lists(array);
    }
    [[nodiscard]] const TableColumn& column() const noexcept { return column_; }

private:
    void mark_missing(const arrow::Array& array) {
        missing_.clear();
        if (array.null_count() == 0) return;
        missing_.resize(static_cast<std::size_t>(array.length()));
        for (std::int64_t i = 0; i < array.length(); ++i)
            missing_[static_cast<std::size_t>(i)] = array.IsNull(i) ? 1 : 0;
        column_.missing = missing_;
    }

    template <class ArrowArray>
    bool take_integers(const arrow::Array& array) {
        const auto& values = static_cast<const ArrowArray&>(array);
        column_.kind = CellKind::integer;
        integers_.resize(static_cast<std::size_t>(array.length()));
        for (std::int64_t i = 0; i < array.length(); ++i)
            integers_[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(values.Value(i));
        column_.integers = integers_;
        return true;
    }

    bool read_integers(const arrow::Array& array) {
        switch (array.type_id()) {
            case arrow::Type::BOOL:
                return take_integers<arrow::BooleanArray>(array);
            case arrow::Type::INT8:
                return take_integers<arrow::Int8Array>(array);
            case arrow::Type::INT16:
                return take_integers<arrow::Int16Array>(array);
            case arrow::Type::INT32:
                return take_integers<arrow::Int32Array>(array);
            case arrow::Type::INT64:
                return take_integers<arrow::Int64Array>(array);
            case arrow::Type::UINT8:
                return take_integers<arrow::UInt8Array>(array);
            case arrow::Type::UINT16:
                return take_integers<arrow::UInt16Array>(array);
            case arrow::Type::UINT32:
                return take_integers<arrow::UInt32Array>(array);
            case arrow::Type::UINT64:
                return take_integers<arrow::UInt64Array>(array);
            case arrow::Type::DATE32:
                return take_integers<arrow::Date32Array>(array);
            case arrow::Type::DATE64:
                return take_integers<arrow::Date64Array>(array);
            case arrow::Type::TIMESTAMP:
                return take_integers<arrow::TimestampArray>(array);
            default:
                return false;
        }
    }

    template <class ArrowArray>
    void add_reals(const arrow::Array& array) {
        const auto& values = static_cast<const ArrowArray&>(array);
        for (std::int64_t i = 0; i < array.length(); ++i)
            reals_.push_back(static_cast<double>(values.Value(i)));
    }

    /// Appends numbers of any type.
    bool append_reals(const arrow::Array& array) {
        if (array.type_id() == arrow::Type::FLOAT) {
            add_reals<arrow::FloatArray>(array);
        } else if (array.type_id() == arrow::Type::DOUBLE) {
            add_reals<arrow::DoubleArray>(array);
        } else if (read_integers(array)) {
            reals_.insert(reals_.end(), integers_.begin(), integers_.end());
        } else {
            return false;
        }
        return true;
    }

    bool read_reals(const arrow::Array& array) {
        if (array.type_id() != arrow::Type::FLOAT && array.type_id() != arrow::Type::DOUBLE)
            return false;
        reals_.clear();
        static_cast<void>(append_reals(array));
        column_.kind = CellKind::real;
        column_.reals = reals_;
        return true;
    }

    template <class ArrowArray>
    bool take_texts(const arrow::Array& array) {
        const auto& values = static_cast<const ArrowArray&>(array);
        texts_.resize(static_cast<std::size_t>(array.length()));
        for (std::int64_t i = 0; i < array.length(); ++i) {
            const std::string_view text = values.GetView(i);
            texts_[static_cast<std::size_t>(i)] =
                values.IsNull(i)
                    ? std::string_view()
                    : std::string_view(text.data() == nullptr ? "" : text.data(), text.size());
        }
        column_.kind = CellKind::text;
        column_.texts = texts_;
        column_.missing = {};
        return true;
    }

    bool read_texts(const arrow::Array& array) {
        switch (array.type_id()) {
            case arrow::Type::STRING:
                return take_texts<arrow::StringArray>(array);
            case arrow::Type::LARGE_STRING:
                return take_texts<arrow::LargeStringArray>(array);
            case arrow::Type::STRING_VIEW:
                return take_texts<arrow::StringViewArray>(array);
            default:
                return false;
        }
    }

    bool read_dictionary(const arrow::Array& array) {
        if (array.type_id() != arrow::Type::DICTIONARY) return false;
        const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
        if (!read_texts(*coded.dictionary())) return false;
        const std::vector<std::string_view> words = texts_;
        texts_.resize(static_cast<std::size_t>(array.length()));
        for (std::int64_t i = 0; i < array.length(); ++i) {
            texts_[static_cast<std::size_t>(i)] =
                coded.IsNull(i) ? std::string_view()
                                : words[static_cast<std::size_t>(coded.GetValueIndex(i))];
        }
        column_.texts = texts_;
        return true;
    }

    /// Lists whose lengths are all the same; lists of others are of width 0.
    bool read_lists(const arrow::Array& array) {
        std::shared_ptr<arrow::Array> values;
        lengths_.clear();
        const auto take = [&](const auto& lists) {
            for (std::int64_t i = 0; i < lists.length(); ++i) {
                if (!lists.IsNull(i))
                    lengths_.push_back(static_cast<std::size_t>(lists.value_length(i)));
            }
        };
        if (array.type_id() == arrow::Type::FIXED_SIZE_LIST) {
            const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
            take(lists);
            return place_lists(lists);
        }
        if (array.type_id() == arrow::Type::LIST) {
            const auto& lists = static_cast<const arrow::ListArray&>(array);
            take(lists);
            return place_lists(lists);
        }
        if (array.type_id() == arrow::Type::LARGE_LIST) {
            const auto& lists = static_cast<const arrow::LargeListArray&>(array);
            take(lists);
            return place_lists(lists);
        }
        return false;
    }

    template <class Lists>
    bool place_lists(const Lists& lists) {
        const std::size_t width = lengths_.empty() ? 0 : lengths_.front();
        const bool equal = std::ranges::all_of(lengths_, [&](auto n) { return n == width; });
        const auto missing = missing_;
        std::vector<double> placed(static_cast<std::size_t>(lists.length()) * width);
        for (std::int64_t i = 0; equal && i < lists.length(); ++i) {
            if (lists.IsNull(i)) continue;
            reals_.clear();
            const auto slice = lists.values()->Slice(lists.value_offset(i), lists.value_length(i));
            if (!append_reals(*slice)) return false;
            for (std::size_t k = 0; k < width; ++k) {
                if (slice->IsNull(static_cast<std::int64_t>(k)))
                    reals_[k] = std::numeric_limits<double>::quiet_NaN();
            }
            std::ranges::copy(reals_, placed.begin() + i * static_cast<std::int64_t>(width));
        }
        reals_ = std::move(placed);
        missing_ = missing;
        column_ = {.kind = CellKind::list, .reals = reals_, .missing = missing_};
        column_.width = equal ? width : 0;
        return true;
    }

    const arrow::Array* array_ = nullptr;
    TableColumn column_;
    std::vector<std::int64_t> integers_;
    std::vector<double> reals_;
    std::vector<std::string_view> texts_;
    std::vector<std::uint8_t> missing_;
    std::vector<std::size_t> lengths_;
};

/// What becomes of a row group.
struct ParquetSlot {
    std::deque<ParquetPlace> places;
    std::vector<ParquetCells> cells;
    std::optional<Error> error;
};

class ParquetSource final : public TableSource {
public:
    explicit ParquetSource(std::filesystem::path file) : file_(std::move(file)) {
        const auto reader = open(nullptr);
        metadata_ = reader->parquet_reader()->metadata();
        std::shared_ptr<arrow::Schema> schema;
        const auto status = reader->GetSchema(&schema);
        if (!status.ok()) throw parquet_error(status.ToString(), file_);
        for (const auto& field : schema->fields()) {
            columns_.push_back(field->name());
            leaves_.push_back(count_leaves(*field->type()));
        }
    }

    [[nodiscard]] const std::vector<std::string>& columns() const override { return columns_; }

    void walk(std::span<const std::size_t> wanted, TableVisitor& visitor,
              Progress& progress) const override {
        const auto groups = static_cast<std::size_t>(metadata_->num_row_groups());
        const std::size_t at_once = 2 * static_cast<std::size_t>(std::max(1, thread_count()));
        std::vector<ParquetSlot> slots(std::min(groups, at_once));
        for (std::size_t first = 0; first < groups; first += at_once) {
            const std::size_t count = std::min(at_once, groups - first);
            visitor.begin(count);
            parallel_chunks(count, 1, [&](const Chunk& chunk) {
                ParquetSlot& slot = slots[chunk.index];
                slot.places.clear();
                slot.error.reset();
                read_group(static_cast<int>(first + chunk.index), chunk.index, wanted, slot,
                           visitor, progress);
            });
            for (std::size_t i = 0; i < count; ++i) {
                if (slots[i].error) throw Error(*slots[i].error);
            }
            visitor.end();
        }
    }

private:
    [[nodiscard]] std::unique_ptr<parquet::arrow::FileReader> open(
        std::shared_ptr<parquet::FileMetaData> metadata) const {
        try {
            auto input = value_of(
                arrow::io::MemoryMappedFile::Open(file_.string(), arrow::io::FileMode::READ),
                file_);
            parquet::ArrowReaderProperties properties;
            properties.set_use_threads(false);
            properties.set_batch_size(parquet_batch_rows);
            parquet::arrow::FileReaderBuilder builder;
            const auto status = builder.Open(std::move(input), parquet::default_reader_properties(),
                                             std::move(metadata));
            if (!status.ok()) throw parquet_error(status.ToString(), file_);
            builder.properties(properties);
            return value_of(builder.Build(), file_);
        } catch (const parquet::ParquetException& error) {
            throw parquet_error(error.what(), file_);
        }
    }

    static int count_leaves(const arrow::DataType& type) {
        if (type.num_fields() == 0) return 1;
        int leaves = 0;
        for (const auto& field : type.fields())
            leaves += count_leaves(*field->type());
        return leaves;
    }

    /// The leaves of the columns that are wanted: a list has one, a struct several.
    [[nodiscard]] std::vector<int> leaf_indices(std::span<const std::size_t> wanted) const {
        std::vector<int> indices;
        int leaf = 0;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool is_wanted = std::ranges::find(wanted, i) != wanted.end();
            for (int k = 0; k < leaves_[i]; ++k, ++leaf) {
                if (is_wanted) indices.push_back(leaf);
            }
        }
        return indices;
    }

    void read_group(int group, std::size_t index, std::span<const std::size_t> wanted,
                    ParquetSlot& slot, TableVisitor& visitor, Progress& progress) const {
        std::string column;
        try {
            const auto reader = open(metadata_);
            auto batches =
                value_of(reader->GetRecordBatchReader({group}, leaf_indices(wanted)), file_);
            std::uint64_t row = 0;
            while (const auto batch = value_of(batches->Next(), file_)) {
                slot.places.emplace_back(file_, group, row);
                give_batch(*batch, index, wanted, slot, visitor);
                row += static_cast<std::uint64_t>(batch->num_rows());
                progress.advance(static_cast<std::uint64_t>(batch->num_rows()));
            }
        } catch (const CellFault& fault) {
            slot.error = input_error(
                fault.what, slot.places.back().where(fault.row, columns_[wanted[fault.column]]),
                fault.remedy);
        } catch (const parquet::ParquetException& error) {
            slot.error = parquet_error(error.what(), file_);
        }
    }

    void give_batch(const arrow::RecordBatch& batch, std::size_t index,
                    std::span<const std::size_t> wanted, ParquetSlot& slot,
                    TableVisitor& visitor) const {
        slot.cells.resize(wanted.size());
        std::vector<TableColumn> columns;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto array = batch.GetColumnByName(columns_[wanted[i]]);
            if (array == nullptr || !slot.cells[i].read(*array)) {
                throw CellFault{0, i,
                                fmt::format("columns of type {} cannot be read",
                                            array == nullptr ? "?" : array->type()->ToString()),
                                "use numbers, text, or lists of numbers"};
            }
            columns.push_back(slot.cells[i].column());
            check_values(columns.back(), *array, i);
        }
        visitor.batch(index,
                      {static_cast<std::size_t>(batch.num_rows()), columns, &slot.places.back()});
    }

    static void check_values(const TableColumn& column, const arrow::Array& array,
                             std::size_t index) {
        if (column.kind == CellKind::text) {
            for (std::size_t r = 0; r < column.texts.size(); ++r) {
                if (is_utf8(column.texts[r])) continue;
                throw CellFault{r, index, "invalid UTF-8 text", "write the table with UTF-8 text"};
            }
        }
        if (array.type_id() != arrow::Type::UINT64) return;
        for (std::size_t r = 0; r < column.integers.size(); ++r) {
            if (column.integers[r] >= 0) continue;
            throw CellFault{r, index,
                            fmt::format("{} does not fit 63 bits",
                                        static_cast<std::uint64_t>(column.integers[r])),
                            "use smaller numbers, or text"};
        }
    }

    std::filesystem::path file_;
    std::shared_ptr<parquet::FileMetaData> metadata_;
    std::vector<std::string> columns_;
    std::vector<int> leaves_;
};

}  // namespace

std::unique_ptr<TableSource> open_parquet(const std::filesystem::path& file) {
    return std::make_unique<ParquetSource>(file);
}

}  // namespace rudder::graph
