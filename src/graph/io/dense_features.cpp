#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "element_visit.hpp"
#include "feature_sources.hpp"

namespace rudder::graph {

namespace {

constexpr std::uint64_t block_bytes = 1 << 20;

class DenseFeatures final : public FeatureSource {
public:
    DenseFeatures(std::function<NpyReader()> open, Array<float> scale)
        : open_(std::move(open)), scale_(std::move(scale)) {
        const NpyReader reader = open_();
        header_ = reader.header();
        where_ = reader.where();
        if (header_.text_length != 0 || header_.shape.empty() || header_.shape.size() > 2) {
            throw input_error(fmt::format("features cannot be {}", header_.describe()), where_,
                              "give a table of numbers with a row for each vertex");
        }
        info_.width = header_.shape.size() == 2 ? header_.shape[1] : 1;
        if (info_.width > max_feature_width) {
            throw input_error(
                fmt::format("rows of {} columns are more than {}", info_.width, max_feature_width),
                where_, "check the shape; it may be transposed");
        }
        if (info_.width != 0) info_.type = natural_type();
        if (info_.type == ElementType::i8) set_scale();
    }

    [[nodiscard]] FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override { return header_.shape[0]; }
    [[nodiscard]] std::span<const float> scale() const override { return scale_.span(); }
    [[nodiscard]] std::string where() const override { return where_; }

    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        NpyReader reader = open_();
        check_unchanged(reader);
        const std::uint64_t per_row = info_.width * header_.item_bytes();
        const std::uint64_t rows_per_block = std::max<std::uint64_t>(1, block_bytes / per_row);
        std::vector<std::byte> converted;
        reader.blocks(reader.left(), rows_per_block * info_.width, [&](auto bytes, std::uint64_t) {
            if (header_.type == info_.type) return block(bytes);
            const std::size_t count = bytes.size() / header_.item_bytes();
            converted.resize(count * element_size(info_.type));
            convert(bytes, converted);
            block(converted);
        });
    }

private:
    void check_unchanged(const NpyReader& reader) const {
        if (reader.header().type == header_.type && reader.header().shape == header_.shape) return;
        throw input_error("the array changed while it was read", where_,
                          "leave the file alone meanwhile");
    }

    [[nodiscard]] ElementType natural_type() const {
        if (header_.boolean) return ElementType::u8;
        if (is_feature_type(header_.type)) return header_.type;
        if (header_.floating()) return ElementType::f32;
        bool small = true;
        NpyReader reader = open_();
        visit_element(header_.type, [&](auto sample) {
            using T = decltype(sample);
            if constexpr (std::is_integral_v<T>) {
                reader.blocks(reader.left(), 1 << 17, [&](auto bytes, std::uint64_t) {
                    for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
                        const T value = load<T>(bytes.data(), i);
                        if (std::cmp_less(value, 0) || std::cmp_greater(value, 255)) small = false;
                    }
                });
            }
        });
        return small ? ElementType::u8 : ElementType::f32;
    }

    void set_scale() {
        if (scale_.empty()) {
            scale_ = Array<float>::uninitialised(info_.width);
            std::ranges::fill(scale_.span(), 1.0F);
        }
        if (scale_.size() != info_.width) {
            throw input_error(
                fmt::format("there are {} scales for {} columns", scale_.size(), info_.width),
                where_, "give one scale for each column");
        }
        for (std::size_t i = 0; i < scale_.size(); ++i) {
            if (std::isfinite(scale_[i])) continue;
            throw input_error("a scale is NaN or infinite",
                              fmt::format("{}, scale of column {}", where_, i),
                              "replace the value");
        }
    }

    void convert(std::span<const std::byte> from, std::span<std::byte> to) const {
        visit_element(header_.type, [&](auto sample) {
            using T = decltype(sample);
            const std::size_t count = from.size() / sizeof(T);
            for (std::size_t i = 0; i < count; ++i) {
                const T value = load<T>(from.data(), i);
                if (info_.type == ElementType::u8) {
                    if constexpr (std::is_integral_v<T>) to[i] = static_cast<std::byte>(value);
                } else {
                    const float number = as_float(value);
                    std::memcpy(to.data() + i * sizeof(float), &number, sizeof(float));
                }
            }
        });
    }

    std::function<NpyReader()> open_;
    Array<float> scale_;
    NpyHeader header_;
    std::string where_;
    FeatureInfo info_;
};

}  // namespace

std::unique_ptr<FeatureSource> dense_features(std::function<NpyReader()> open, Array<float> scale) {
    auto source = std::make_unique<DenseFeatures>(std::move(open), std::move(scale));
    if (source->info().width == 0) return nullptr;
    return source;
}

}  // namespace rudder::graph
