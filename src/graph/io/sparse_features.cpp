#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"

#include "feature_sources.hpp"

namespace rudder::graph {

namespace {

constexpr std::uint64_t sparse_block_bytes = 1 << 20;

bool small_integer(float value) {
    return value >= 0 && value <= 255 && value == std::floor(value);
}

class SparseFeatures final : public FeatureSource {
public:
    explicit SparseFeatures(SparseRows rows) : rows_(std::move(rows)) {
        info_.width = rows_.width;
        info_.type = std::ranges::all_of(rows_.values.span(), small_integer) ? ElementType::u8
                                                                             : ElementType::f32;
        check_offsets();
    }

    [[nodiscard]] FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override { return rows_.rows; }
    [[nodiscard]] std::string where() const override { return rows_.where; }

    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        const VertexId per_block = std::max<VertexId>(1, sparse_block_bytes / info_.row_bytes());
        std::vector<std::byte> bytes;
        for (VertexId first = 0; first < rows_.rows; first += per_block) {
            throw_if_interrupted();
            const VertexId last = std::min(first + per_block, rows_.rows);
            bytes.assign((last - first) * info_.row_bytes(), std::byte{0});
            for (VertexId v = first; v < last; ++v)
                expand(v, bytes.data() + (v - first) * info_.row_bytes());
            block(bytes);
        }
    }

private:
    void check_offsets() const {
        const auto bad = [&](const std::string& what, VertexId position) {
            throw input_error(what,
                              fmt::format("{}: its offsets, position {}", rows_.where, position),
                              "make the array again");
        };
        if (rows_.offsets.size() != rows_.rows + 1) {
            bad(fmt::format("there are {} offsets for {} rows", rows_.offsets.size(), rows_.rows),
                rows_.rows);
        }
        if (rows_.offsets[0] != 0) bad("the first offset is not 0", 0);
        for (VertexId v = 0; v < rows_.rows; ++v) {
            if (rows_.offsets[v + 1] < rows_.offsets[v]) bad("the offsets descend", v + 1);
        }
        if (std::cmp_not_equal(rows_.offsets[rows_.rows], rows_.columns.size())) {
            bad(fmt::format("the last offset is {}, there are {} entries",
                            rows_.offsets[rows_.rows], rows_.columns.size()),
                rows_.rows);
        }
        if (!rows_.values.empty() && rows_.values.size() != rows_.columns.size()) {
            bad(fmt::format("there are {} values for {} entries", rows_.values.size(),
                            rows_.columns.size()),
                0);
        }
    }

    void expand(VertexId v, std::byte* row) const {
        const IdSpan columns = rows_.columns.span();
        const auto end = static_cast<std::size_t>(rows_.offsets[v + 1]);
        for (auto e = static_cast<std::size_t>(rows_.offsets[v]); e < end; ++e) {
            const float value = rows_.values.empty() ? 1.0F : rows_.values[e];
            if (value == 0) continue;
            const std::uint64_t column = columns[e];
            float before = 0;
            if (info_.type == ElementType::u8) {
                before = std::to_integer<std::uint8_t>(row[column]);
                row[column] = static_cast<std::byte>(static_cast<std::uint8_t>(value));
            } else {
                std::memcpy(&before, row + column * sizeof(float), sizeof(float));
                std::memcpy(row + column * sizeof(float), &value, sizeof(float));
            }
            if (before != 0) {
                throw input_error(fmt::format("row {} has column {} twice", v, column),
                                  fmt::format("{}, position {}", rows_.where, e),
                                  "sum the duplicates (scipy: sum_duplicates)");
            }
        }
    }

    SparseRows rows_;
    FeatureInfo info_;
};

}  // namespace

std::unique_ptr<FeatureSource> sparse_features(SparseRows rows) {
    if (rows.width > max_feature_width) {
        throw input_error(
            fmt::format("rows of {} columns are more than {}", rows.width, max_feature_width),
            rows.where, "check the number of columns");
    }
    if (rows.width == 0) return nullptr;
    return std::make_unique<SparseFeatures>(std::move(rows));
}

}  // namespace rudder::graph
