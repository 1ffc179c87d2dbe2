#include "feature_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t most_categories = 1 << 16;
constexpr std::size_t raw_block_bytes = std::size_t{4} << 20;
constexpr std::size_t raw_rows_per_chunk = 1 << 10;
constexpr float missing_number = std::numeric_limits<float>::quiet_NaN();

/// How one raw number becomes numbers of a row.
struct FinishedNumber {
    std::size_t raw = 0;
    std::size_t first = 0;
    bool category = false;
    std::vector<std::uint32_t> place{};  ///< of categories, by their number
    float instead = 0;                   ///< of a missing number
};

/// Raw rows, with means and categories put in.
class TableFeatures final : public FeatureSource {
public:
    TableFeatures(Spill raw, std::size_t raw_width, std::vector<FinishedNumber> numbers,
                  std::uint64_t width, std::string where)
        : raw_(std::move(raw)),
          raw_width_(raw_width),
          numbers_(std::move(numbers)),
          where_(std::move(where)) {
        info_.width = width;
    }

    [[nodiscard]] FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override {
        return raw_.size() / (raw_width_ * sizeof(float));
    }
    [[nodiscard]] std::string where() const override { return where_; }

    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        const std::size_t at_once =
            std::max<std::size_t>(1, raw_block_bytes / (info_.width * sizeof(float)));
        std::vector<std::byte> scratch;
        std::vector<float> rows;
        for (VertexId first = 0; first < this->rows(); first += at_once) {
            const auto count =
                static_cast<std::size_t>(std::min<VertexId>(at_once, this->rows() - first));
            const auto raw = raw_.view<float>(first * raw_width_, count * raw_width_, scratch);
            rows.assign(count * info_.width, 0.0F);
            parallel_chunks(count, raw_rows_per_chunk, [&](const Chunk& chunk) {
                for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                    finish_row(raw.subspan(i * raw_width_, raw_width_),
                               std::span(rows).subspan(i * info_.width, info_.width));
                }
            });
            block(std::as_bytes(std::span(rows)));
        }
    }

private:
    void finish_row(std::span<const float> raw, std::span<float> row) const {
        for (const FinishedNumber& number : numbers_) {
            const float value = raw[number.raw];
            if (!number.category) {
                row[number.first] = std::isnan(value) ? number.instead : value;
            } else if (!std::isnan(value)) {
                row[number.first + number.place[static_cast<std::size_t>(value)]] = 1;
            }
        }
    }

    Spill raw_;
    std::size_t raw_width_;
    std::vector<FinishedNumber> numbers_;
    std::string where_;
    FeatureInfo info_;
};

/// The means of some raw columns over the rows that have a number, in the order of rows.
std::vector<double> raw_means(const Spill& raw, std::size_t width,
                              const std::vector<std::size_t>& wanted) {
    std::vector<double> sums(width, 0);
    std::vector<std::uint64_t> counts(width, 0);
    const std::uint64_t rows = raw.size() / (width * sizeof(float));
    const std::size_t at_once = std::max<std::size_t>(1, raw_block_bytes / (width * sizeof(float)));
    std::vector<std::byte> scratch;
    for (std::uint64_t first = 0; first < rows; first += at_once) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(at_once, rows - first));
        const auto block = raw.view<float>(first * width, count * width, scratch);
        for (std::size_t i = 0; i < count; ++i) {
            for (const std::size_t c : wanted) {
                const float value = block[i * width + c];
                if (std::isnan(value)) continue;
                sums[c] += static_cast<double>(value);
                ++counts[c];
            }
        }
    }
    for (std::size_t c = 0; c < width; ++c)
        sums[c] = counts[c] == 0 ? 0 : sums[c] / static_cast<double>(counts[c]);
    return sums;
}

std::size_t list_width(const ColumnSample& sample) {
    if (sample.kind == CellKind::list) return sample.width;
    return sample.first ? count_numbers(*sample.first) : 0;
}

RawColumn raw_column(const FeatureColumn& column, const ColumnSample& sample, MissingValues missing,
                     const std::string& where) {
    RawColumn raw{.name = column.column};
    raw.kind = column.kind.value_or(sample.kind == CellKind::list ? FeatureKind::list
                                                                  : FeatureKind::number);
    const bool category = raw.kind == FeatureKind::category;
    raw.missing = column.missing.value_or(
        category && missing == MissingValues::mean ? MissingValues::zero : missing);
    if (raw.kind != FeatureKind::list) return raw;
    raw.width = list_width(sample);
    if (raw.width == 0 || raw.width > max_feature_width) {
        throw input_error(
            fmt::format("the lists of column '{}' have {} numbers", column.column, raw.width),
            where, "give lists of equal length that hold a number at least");
    }
    return raw;
}

}  // namespace

FeatureColumns::FeatureColumns(const Table& table, const std::vector<FeatureColumn>& columns,
                               std::size_t first_batch_column, MissingValues missing,
                               std::shared_ptr<SpillRoom> room)
    : categories_(columns.size()), raw_(std::move(room)) {
    if (columns.empty()) return;
    std::vector<std::string> names;
    for (const FeatureColumn& column : columns)
        names.push_back(column.column);
    const auto samples = sample_columns(table, names);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        RawColumn raw = raw_column(columns[i], samples[i], missing, table.files().front().string());
        raw.batch_column = first_batch_column + i;
        raw.first = raw_width_;
        raw_width_ += raw.width;
        columns_.push_back(std::move(raw));
    }
}

void FeatureColumns::read(const TableBatch& batch, RawRows& rows) const {
    if (!present()) return;
    rows.categories.resize(columns_.size());
    const std::size_t first = rows.values.size() / raw_width_;
    rows.values.resize(rows.values.size() + batch.rows * raw_width_, missing_number);
    for (std::size_t i = 0; i < columns_.size(); ++i)
        read_column(batch, columns_[i], i, rows, first);
}

void FeatureColumns::read_column(const TableBatch& batch, const RawColumn& column,
                                 std::size_t index, RawRows& rows, std::size_t first_row) const {
    CellReader reader(batch, column.batch_column);
    for (std::size_t r = 0; r < batch.rows; ++r) {
        float* const out = rows.values.data() + (first_row + r) * raw_width_ + column.first;
        bool there = false;
        if (column.kind == FeatureKind::number) {
            const auto number = reader.number(r);
            there = number.has_value();
            if (there) {
                *out = static_cast<float>(*number);
                if (!std::isfinite(*out)) {
                    throw reader.fault(r, fmt::format("'{}' does not fit float32", reader.shown(r)),
                                       "use smaller numbers");
                }
            }
        } else if (column.kind == FeatureKind::category) {
            const auto text = reader.text(r);
            there = text.has_value();
            if (there) *out = static_cast<float>(rows.categories[index].code(*text));
        } else {
            there = reader.numbers(r, {out, column.width});
        }
        if (there) continue;
        if (column.missing == MissingValues::refuse) {
            throw reader.fault(r, "a value is missing",
                               "fill it in, or say missing = \"mean\" or \"zero\" in the schema "
                               "(--missing without one)");
        }
        if (column.missing == MissingValues::zero && column.kind != FeatureKind::category)
            std::fill_n(out, column.width, 0.0F);
    }
}

void FeatureColumns::take(RawRows& rows) {
    if (rows.values.empty()) return;
    const std::size_t count = rows.values.size() / raw_width_;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].kind != FeatureKind::category) continue;
        // Names of rows that were left out meanwhile are not counted.
        const auto& names = rows.categories[i].names();
        std::vector<float> global(names.size(), missing_number);
        for (std::size_t r = 0; r < count; ++r) {
            float& value = rows.values[r * raw_width_ + columns_[i].first];
            if (std::isnan(value)) continue;
            const auto local = static_cast<std::size_t>(value);
            if (std::isnan(global[local]))
                global[local] = static_cast<float>(categories_[i].code(names[local]));
            value = global[local];
        }
        if (categories_[i].names().size() > most_categories) {
            throw input_error(fmt::format("column '{}' has more than {} categories",
                                          columns_[i].name, most_categories),
                              fmt::format("column '{}'", columns_[i].name),
                              "leave the column out, or give it as a number");
        }
    }
    raw_.append(rows.values);
}

std::unique_ptr<FeatureSource> FeatureColumns::finish(const std::string& where) {
    if (!present()) return nullptr;
    std::vector<std::size_t> wanted;
    for (const RawColumn& column : columns_) {
        for (std::size_t k = 0; column.missing == MissingValues::mean && k < column.width; ++k)
            wanted.push_back(column.first + k);
    }
    const std::vector<double> means =
        wanted.empty() ? std::vector<double>(raw_width_, 0) : raw_means(raw_, raw_width_, wanted);
    std::vector<FinishedNumber> numbers;
    std::size_t width = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const RawColumn& column = columns_[i];
        const bool category = column.kind == FeatureKind::category;
        for (std::size_t k = 0; k < column.width; ++k) {
            FinishedNumber number{.raw = column.first + k, .first = width, .category = category};
            if (category) number.place = categories_[i].order().place;
            number.instead = static_cast<float>(means[number.raw]);
            width += category ? number.place.size() : 1;
            numbers.push_back(std::move(number));
        }
    }
    if (width > max_feature_width) {
        throw input_error(fmt::format("{} columns of features are too many", width), where,
                          fmt::format("use at most {}", max_feature_width));
    }
    if (width == 0) return nullptr;
    return std::make_unique<TableFeatures>(std::move(raw_), raw_width_, std::move(numbers), width,
                                           where);
}

}  // namespace rudder::graph
