// Features for graphs that have none: draws, and what the structure says.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/feature_source.hpp"

namespace rudder::graph {

namespace {

constexpr VertexId rows_per_chunk = 1 << 8;
constexpr VertexId rows_per_block = rows_per_chunk * 32;

class RandomFeatures final : public ComputedFeatures {
public:
    RandomFeatures(VertexId rows, std::uint64_t width, std::uint64_t seed)
        : ComputedFeatures(rows, width),
          stream_({.purpose = Purpose::generate_features, .seed = seed}) {}
    [[nodiscard]] std::string where() const override { return "--features random"; }

protected:
    void compute(VertexId v, std::span<float> row) const override {
        Draws draws(stream_, v);
        for (float& value : row)
            value = static_cast<float>(draws.normal());
    }

private:
    RandomStream stream_;
};

class StructureFeatures final : public ComputedFeatures {
public:
    StructureFeatures(const TopologyView& graph, std::uint64_t width, std::uint64_t seed)
        : ComputedFeatures(graph.vertices(), width),
          graph_(graph),
          signs_(width > degrees ? width - degrees : 0),
          stream_({.purpose = Purpose::generate_features, .seed = seed}),
          once_(Array<float>::zeroed(checked_mul(graph.vertices(), signs_, "features"))) {
        parallel_chunks(graph.vertices(), rows_per_chunk, [&](const Chunk& chunk) {
            for (VertexId v = chunk.begin; v < chunk.end; ++v)
                average_signs(v, once_.span().subspan(v * signs_, signs_));
        });
    }
    [[nodiscard]] std::string where() const override { return "--features structure"; }

protected:
    void compute(VertexId v, std::span<float> row) const override {
        const auto degree = static_cast<double>(graph_.degree(v));
        double sum = 0;
        std::span<float> signs = row.size() > degrees ? row.subspan(degrees) : std::span<float>{};
        const auto add = [&](VertexId u) {
            const float* other = once_.data() + u * signs_;
            for (std::size_t c = 0; c < signs.size(); ++c)
                signs[c] += other[c];
        };
        add(v);
        for_neighbours(v, [&](VertexId u) {
            sum += static_cast<double>(graph_.degree(u));
            add(u);
        });
        for (float& value : signs)
            value /= static_cast<float>(degree + 1);
        if (!row.empty()) row[0] = static_cast<float>(std::log1p(degree));
        if (row.size() > 1) {
            row[1] = static_cast<float>(std::log1p(degree == 0 ? 0 : sum / degree));
        }
    }

private:
    static constexpr std::uint64_t degrees = 2;  ///< columns that tell degrees

    template <class F>
    void for_neighbours(VertexId v, F&& f) const {
        graph_.neighbours.visit([&](auto neighbours) {
            for (EdgeIndex e = graph_.offsets[v]; e < graph_.offsets[v + 1]; ++e)
                f(neighbours[e]);
        });
    }

    /// Adds the signs of u: one bit of a keyed draw per column.
    void add_signs(VertexId u, std::span<float> row) const {
        for (std::size_t c = 0; c < row.size(); c += 128) {
            const auto words = stream_.block(u, c / 128);
            const std::size_t end = std::min<std::size_t>(128, row.size() - c);
            for (std::size_t i = 0; i < end; ++i)
                row[c + i] += (words[i / 32] >> (i % 32) & 1U) != 0 ? 1.0F : -1.0F;
        }
    }

    void average_signs(VertexId v, std::span<float> row) const {
        add_signs(v, row);
        for_neighbours(v, [&](VertexId u) { add_signs(u, row); });
        const auto count = static_cast<float>(graph_.degree(v) + 1);
        for (float& value : row)
            value /= count;
    }

    TopologyView graph_;
    std::uint64_t signs_;
    RandomStream stream_;
    Array<float> once_;
};

/// The W of "random:W"; nothing if the text does not begin with that word.
std::optional<std::uint64_t> made_width(const std::string& text, std::string_view word) {
    const std::string prefix = std::string(word) + ":";
    if (text != word && !text.starts_with(prefix)) return std::nullopt;
    const auto width =
        text == word ? std::nullopt : parse_u64(std::string_view(text).substr(prefix.size()));
    if (width && *width >= 1 && *width <= max_feature_width) return width;
    throw usage_error(
        fmt::format("invalid features: '{}'", text), "--features",
        fmt::format("give {}:W with a width W from 1 to {}", word, max_feature_width));
}

}  // namespace

void ComputedFeatures::walk(FunctionRef<void(std::span<const std::byte>)> block) const {
    std::vector<float> values;
    for (VertexId first = 0; first < rows_; first += rows_per_block) {
        const VertexId count = std::min(rows_per_block, rows_ - first);
        values.assign(count * info_.width, 0);
        parallel_chunks(count, rows_per_chunk, [&](const Chunk& chunk) {
            for (std::size_t at = chunk.begin; at < chunk.end; ++at) {
                compute(first + at, std::span(values).subspan(at * info_.width, info_.width));
            }
        });
        block(std::as_bytes(std::span(values)));
    }
}

std::unique_ptr<FeatureSource> made_features(const std::string& text, const TopologyView& graph,
                                             std::uint64_t seed) {
    if (const auto width = made_width(text, "random")) {
        return random_features(graph.vertices(), *width, seed);
    }
    if (const auto width = made_width(text, "structure")) {
        return structure_features(graph, *width, seed);
    }
    return nullptr;
}

std::unique_ptr<FeatureSource> random_features(VertexId rows, std::uint64_t width,
                                               std::uint64_t seed) {
    return std::make_unique<RandomFeatures>(rows, width, seed);
}

std::unique_ptr<FeatureSource> structure_features(const TopologyView& graph, std::uint64_t width,
                                                  std::uint64_t seed) {
    return std::make_unique<StructureFeatures>(graph, width, seed);
}

}  // namespace rudder::graph
