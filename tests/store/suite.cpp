#include "suite.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "core/executor/executor.hpp"
#include "core/executor/queue.hpp"
#include "graph/dataset_writer.hpp"
#include "partition/partition.hpp"
#include "rudder/core/random.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "support/all_sum.hpp"
#include "support/slow_packed_ids.hpp"

namespace rudder::test {

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

namespace {

/// An element of a type, as its bits; any finite one.
std::uint32_t random_element(Draws& draws, ElementType type) {
    for (;;) {
        const auto bits = static_cast<std::uint32_t>(draws.below(std::uint64_t{1} << 32));
        switch (type) {
            case ElementType::f32:
                // Not so large that sums overflow.
                if (std::fabs(std::bit_cast<float>(bits)) < 1e30F) return bits;
                break;
            case ElementType::f16:
                if ((bits & 0x7c00U) != 0x7c00U) return bits & 0xffffU;
                break;
            case ElementType::bf16:
                if (std::fabs(bf16_to_float(static_cast<std::uint16_t>(bits))) < 1e30F)
                    return bits & 0xffffU;
                break;
            default:
                return bits & 0xffU;
        }
    }
}

class RandomRows final : public graph::FeatureSource {
public:
    RandomRows(VertexId rows, const graph::FeatureInfo& info, std::uint64_t seed,
               std::uint64_t one_in)
        : rows_(rows), info_(info), seed_(seed), one_in_(one_in), scale_(random_scale(seed, info)) {
        info_.row_normalise = false;  // the writer's to say
    }
    [[nodiscard]] graph::FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override { return rows_; }
    [[nodiscard]] std::span<const float> scale() const override { return scale_; }
    [[nodiscard]] std::string where() const override { return "test"; }
    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        for (VertexId v = 0; v < rows_; ++v)
            block(thinned(seed_ * 1'000'003 + v));
    }

private:
    [[nodiscard]] std::vector<std::byte> thinned(std::uint64_t seed) const {
        std::vector<std::byte> row = random_row(seed, info_);
        if (one_in_ > 1) thin_out(row, info_, one_in_, seed);
        return row;
    }

    VertexId rows_;
    graph::FeatureInfo info_;
    std::uint64_t seed_;
    std::uint64_t one_in_;
    std::vector<float> scale_;
};

}  // namespace

std::vector<std::byte> random_row(std::uint64_t seed, const graph::FeatureInfo& info) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 7);
    std::vector<std::byte> row(info.row_bytes());
    if (draws.below(8) == 0) return row;
    const std::size_t size = element_size(info.type);
    for (std::size_t i = 0; i < info.width; ++i) {
        const std::uint32_t bits = random_element(draws, info.type);
        std::memcpy(row.data() + i * size, &bits, size);
    }
    return row;
}

void thin_out(std::vector<std::byte>& row, const graph::FeatureInfo& info, std::uint64_t one_in,
              std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 10);
    const std::size_t size = element_size(info.type);
    for (std::size_t i = 0; i < info.width; ++i) {
        if (draws.below(one_in) != 0) std::memset(row.data() + i * size, 0, size);
    }
}

std::vector<float> dense_row(const store::RowFormat& format, std::span<const float> assembled) {
    if (!format.assembles_sparse()) return {assembled.begin(), assembled.end()};
    std::vector<float> out(format.width());
    const auto* header = reinterpret_cast<const SparseEntry*>(assembled.data());
    for (std::uint32_t i = 0; i < header->column; ++i) {
        const SparseEntry& entry = header[1 + i];
        require(entry.column < format.width() && (i == 0 || header[i].column < entry.column),
                "the columns of a sparse row do not ascend");
        out[entry.column] = entry.value;
    }
    return out;
}

std::vector<float> random_scale(std::uint64_t seed, const graph::FeatureInfo& info) {
    std::vector<float> scale;
    if (info.type != ElementType::i8) return scale;
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 8);
    for (std::size_t i = 0; i < info.width; ++i)
        scale.push_back(static_cast<float>(0.001 + draws.uniform()));
    return scale;
}

partition::PartitionedDataset store_data(const std::filesystem::path& folder,
                                         const graph::FeatureInfo& features, VertexId vertices,
                                         PartId parts, std::uint64_t seed, std::uint64_t one_in) {
    const RandomRows rows(vertices, features, seed, one_in);
    return store_data(folder, features.present() ? &rows : nullptr, features.row_normalise,
                      vertices, parts, seed);
}

partition::PartitionedDataset store_data(const std::filesystem::path& folder,
                                         const graph::FeatureSource* rows, bool row_normalise,
                                         VertexId vertices, PartId parts, std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 9);
    graph::DatasetWriter writer(folder / "data", Existing::refuse);
    const std::vector<graph::Edge> edges{{0, 1}};
    writer.topology(
        graph::build_topology(graph::EdgeSpan(vertices, std::span<const graph::Edge>(edges)), {}),
        true);
    if (rows != nullptr) writer.features(*rows, std::nullopt, row_normalise, Progress::none());
    writer.split(std::vector<graph::Role>(vertices, graph::Role::train));
    writer.commit({R"({"verb": "test"})", ""});
    std::vector<PartId> assignment(vertices);
    for (VertexId v = 0; v < vertices; ++v) {
        // Part 0 gets about half, each part at least one.
        assignment[v] = v < parts             ? static_cast<PartId>(v)
                        : draws.below(3) == 0 ? 0
                                              : static_cast<PartId>(draws.below(parts));
    }
    partition::PartitionOptions options;
    options.parts = parts;
    partition::partition_dataset(graph::Dataset(folder / "data"), assignment, folder / "parts",
                                 options, Existing::refuse);
    return partition::PartitionedDataset(folder / "parts");
}

std::vector<float> plain_row(const graph::FeatureInfo& info, std::span<const std::byte> row,
                             std::span<const float> scale, store::Precision precision) {
    std::vector<float> out(info.width);
    graph::decode_row(info, row, scale, out);
    if (precision == store::Precision::bfloat16) {
        for (float& value : out)
            value = bf16_to_float(float_to_bf16(value));
    }
    return out;
}

PlainRows::Range PlainRows::range(VertexId v, std::size_t column) const {
    const auto known = ranges_.find({v / block_, column});
    if (known != ranges_.end()) return known->second;
    float least = std::numeric_limits<float>::infinity();
    float largest = -least;
    for (const auto& [w, row] : rows_) {
        if (w / block_ != v / block_) continue;
        least = std::min(least, row[column]);
        largest = std::max(largest, row[column]);
    }
    const double spread = static_cast<double>(largest) - static_cast<double>(least);
    const Range found{least == 0 ? 0 : least, static_cast<float>(spread / levels_)};
    ranges_[{v / block_, column}] = found;
    return found;
}

unsigned PlainRows::level(VertexId v, std::size_t column) const {
    const Range range = this->range(v, column);
    if (range.step == 0) return 0;
    const std::size_t place = column % 128;
    const RandomStream stream({.purpose = Purpose::round_rows});
    const std::uint32_t word =
        stream.block(v, column / 128 * 16 + place % 16)[place / 16 % 4] >> (place / 64 * 16);
    const float draw = static_cast<float>((word & 0xffffU) | 1U) / 65536.0F;
    const float at = (rows_.at(v)[column] - range.least) / range.step;
    return static_cast<unsigned>(std::min(std::floor(at + draw), static_cast<float>(levels_)));
}

std::vector<float> PlainRows::seen(VertexId v) const {
    std::vector<float> row(rows_.at(v).size());
    for (std::size_t c = 0; c < row.size(); ++c) {
        const Range range = this->range(v, c);
        const float above = static_cast<float>(level(v, c)) * range.step;
        row[c] = range.least + above;
    }
    return row;
}

store::ColumnSteps PlainRows::steps() const {
    const std::size_t width = rows_.begin()->second.size();
    const VertexId blocks = rows_.rbegin()->first / block_ + 1;
    const auto values = std::make_shared<std::vector<float>>(blocks * 2 * width);
    for (const auto& [v, row] : rows_) {
        for (std::size_t c = 0; c < width; ++c) {
            (*values)[v / block_ * 2 * width + c] = range(v, c).least;
            (*values)[v / block_ * 2 * width + width + c] = range(v, c).step;
        }
    }
    return {.width = width,
            .levels = levels_,
            .blocks = block_ == 1024 ? store::VertexBlocks::by_1024 : store::VertexBlocks::one,
            .values = *values,
            .memory = values};
}

}  // namespace rudder::test
