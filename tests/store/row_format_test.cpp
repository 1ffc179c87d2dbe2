#include "store/row_format.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include <gmock/gmock.h>

#include "graph/row_sum.hpp"
#include "rudder/core/error.hpp"
#include "store/row_kernels.hpp"

#include "suite.hpp"

namespace rudder {
namespace {

using test::plain_row;
using test::random_row;
using test::random_scale;

constexpr std::array all_types{ElementType::f32, ElementType::f16, ElementType::bf16,
                               ElementType::i8, ElementType::u8};
constexpr std::array all_precisions{store::Precision::native, store::Precision::float32,
                                    store::Precision::bfloat16, store::Precision::int8,
                                    store::Precision::int4};

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values)
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
}

class RowFormats
    : public ::testing::TestWithParam<std::tuple<ElementType, store::Precision, bool>> {
protected:
    [[nodiscard]] graph::FeatureInfo info(std::uint64_t width) const {
        return {.width = width,
                .type = std::get<0>(GetParam()),
                .row_normalise = std::get<2>(GetParam())};
    }
    [[nodiscard]] store::Precision precision() const { return std::get<1>(GetParam()); }
};

/// Some stored rows, and the slow way to what everyone sees of them.
class SomeRows {
public:
    SomeRows(const graph::FeatureInfo& stored, store::Precision precision)
        : stored_(stored),
          precision_(precision),
          scale_(random_scale(stored.width, stored)),
          plain_(precision) {}
    void add(VertexId v, std::span<const std::byte> row) {
        direct_[v] = plain_row(stored_, row, scale_, precision_);
        plain_.add(v, direct_[v]);
    }
    [[nodiscard]] store::RowFormat format() const {
        const bool levels = store::quantises(stored_, precision_);
        return {stored_, scale_, precision_, levels ? std::optional(plain_.steps()) : std::nullopt};
    }
    [[nodiscard]] std::vector<float> seen(VertexId v) const {
        return store::quantises(stored_, precision_) ? plain_.seen(v) : direct_.at(v);
    }

private:
    graph::FeatureInfo stored_;
    store::Precision precision_;
    std::vector<float> scale_;
    std::map<VertexId, std::vector<float>> direct_;
    test::PlainRows plain_;
};

INSTANTIATE_TEST_SUITE_P(All, RowFormats,
                         ::testing::Combine(::testing::ValuesIn(all_types),
                                            ::testing::ValuesIn(all_precisions),
                                            ::testing::Bool()));

TEST_P(RowFormats, DecodeOfEncodeIsLoadIsTheSlowWay) {
    for (const std::uint64_t width : {1U, 3U, 15U, 16U, 33U, 128U, 301U}) {
        SCOPED_TRACE(width);
        const graph::FeatureInfo stored = info(width);
        SomeRows rows(stored, precision());
        for (std::uint64_t seed = 0; seed < 20; ++seed)
            rows.add(seed * 300, random_row(seed, stored));
        const store::RowFormat format = rows.format();
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const std::vector<std::byte> row = random_row(seed, stored);
            const VertexId vertex = seed * 300;
            const auto expected = bits_of(rows.seen(vertex));
            std::vector<std::byte> wire(format.row_bytes());
            std::vector<float> out(width, -1);
            const std::byte* stored_row = row.data();
            const std::byte* wire_row = wire.data();
            float* place = out.data();
            format.encode_rows({&stored_row, 1}, {&vertex, 1}, wire.data());
            format.decode_rows({&wire_row, 1}, {&vertex, 1}, &place);
            EXPECT_EQ(bits_of(out), expected);
            std::fill(out.begin(), out.end(), -1.0F);
            format.load_rows({&stored_row, 1}, {&vertex, 1}, &place);
            EXPECT_EQ(bits_of(out), expected);
        }
    }
}

TEST_P(RowFormats, ManyRowsAtOnceAndInPlacesOfAnyAlignment) {
    constexpr std::size_t count = 37;
    const graph::FeatureInfo stored = info(19);
    SomeRows plain(stored, precision());
    std::vector<std::byte> rows(1 + count * stored.row_bytes());
    std::vector<const std::byte*> from;
    std::vector<VertexId> vertices;
    for (std::size_t i = 0; i < count; ++i) {
        const auto row = random_row(i, stored);
        std::byte* place = rows.data() + 1 + i * row.size();
        std::memcpy(place, row.data(), row.size());
        from.push_back(place);
        vertices.push_back(i * 97 % 4000);
        plain.add(vertices.back(), row);
    }
    const store::RowFormat format = plain.format();
    std::vector<std::byte> wire(1 + count * format.row_bytes());
    format.encode_rows(from, vertices, wire.data() + 1);
    std::vector<float> decoded(count * 19);
    std::vector<float> loaded(count * 19);
    std::vector<float*> decoded_to;
    std::vector<float*> loaded_to;
    std::vector<const std::byte*> wire_from;
    for (std::size_t i = 0; i < count; ++i) {
        wire_from.push_back(wire.data() + 1 + i * format.row_bytes());
        decoded_to.push_back(decoded.data() + i * 19);
        loaded_to.push_back(loaded.data() + i * 19);
    }
    format.decode_rows(wire_from, vertices, decoded_to.data());
    format.load_rows(from, vertices, loaded_to.data());
    for (std::size_t i = 0; i < count; ++i) {
        const auto expected = bits_of(plain.seen(vertices[i]));
        EXPECT_EQ(bits_of(std::span(decoded).subspan(i * 19, 19)), expected);
        EXPECT_EQ(bits_of(std::span(loaded).subspan(i * 19, 19)), expected);
    }
}

TEST(RowKernels, EveryInstructionSetGivesTheSameBits) {
    for (const ElementType type : all_types) {
        for (const bool normalise : {false, true}) {
            for (const bool round : {false, true}) {
                const graph::FeatureInfo info{
                    .width = 301, .type = type, .row_normalise = normalise};
                const std::vector<float> scale = random_scale(3, info);
                const store::RowRecipe recipe{.width = info.width,
                                              .type = type,
                                              .normalise = normalise,
                                              .round = round,
                                              .scale = scale.data()};
                const auto row = random_row(4, info);
                const std::byte* from = row.data();
                const auto expected = bits_of(
                    plain_row(info, row, scale,
                              round ? store::Precision::bfloat16 : store::Precision::native));
                for (const std::string_view set : store::row_instruction_sets()) {
                    SCOPED_TRACE(set);
                    std::vector<float> out(info.width);
                    float* to = out.data();
                    store::row_loader(recipe, set)(recipe, {&from, 1}, &to);
                    EXPECT_EQ(bits_of(out), expected);
                }
            }
        }
    }
}

/// Any bits, infinities and NaNs among them.
TEST(RowKernels, EveryHalfIsConverted) {
    std::vector<std::uint16_t> halves(65536);
    for (std::size_t i = 0; i < halves.size(); ++i)
        halves[i] = static_cast<std::uint16_t>(i);
    const auto* from = reinterpret_cast<const std::byte*>(halves.data());
    const store::RowRecipe recipe{.width = halves.size(), .type = ElementType::f16};
    for (const std::string_view set : store::row_instruction_sets()) {
        std::vector<float> out(halves.size());
        float* to = out.data();
        store::row_loader(recipe, set)(recipe, {&from, 1}, &to);
        for (std::size_t i = 0; i < halves.size(); ++i) {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]),
                      std::bit_cast<std::uint32_t>(f16_to_float(halves[i])))
                << set << ", half " << i;
        }
    }
}

TEST(RowKernels, RoundsToNearestEven) {
    std::vector<float> values{0.0F,
                              -0.0F,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(),
                              std::bit_cast<float>(0x7f800001U),
                              std::bit_cast<float>(0x3f808000U),
                              std::bit_cast<float>(0x3f818000U),
                              std::bit_cast<float>(0x3f808001U),
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::denorm_min()};
    for (std::uint32_t i = 0; i < 4000; ++i)
        values.push_back(std::bit_cast<float>(i * 1'000'003U));
    std::vector<std::uint16_t> out(values.size());
    store::round_row(values.data(), reinterpret_cast<std::byte*>(out.data()), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(out[i], float_to_bf16(values[i])) << i;
    EXPECT_EQ(out[5], 0x3f80);  // a tie, to even
    EXPECT_EQ(out[6], 0x3f82);
    EXPECT_EQ(out[7], 0x3f81);
}

TEST(RowKernels, TheSumOfMagnitudesIsTheSum) {
    for (std::size_t count = 0; count < 70; ++count) {
        std::vector<float> values;
        for (std::size_t i = 0; i < count; ++i)
            values.push_back(i % 3 == 0 ? -static_cast<float>(i) : static_cast<float>(i));
        EXPECT_EQ(graph::sum_of_magnitudes(values.data(), count),
                  static_cast<float>(count * (count - (count == 0 ? 0 : 1)) / 2));
    }
}

TEST(Precisions, WireSizes) {
    const graph::FeatureInfo bytes{.width = 10, .type = ElementType::u8};
    EXPECT_EQ(store::RowFormat(bytes, {}, store::Precision::native).row_bytes(), 10U);
    EXPECT_EQ(store::RowFormat(bytes, {}, store::Precision::bfloat16).row_bytes(), 20U);
    EXPECT_EQ(store::RowFormat(bytes, {}, store::Precision::float32).row_bytes(), 40U);
    const store::RowFormat as_stored(bytes, {}, store::Precision::int8);
    EXPECT_EQ(as_stored.row_bytes(), 10U);
    EXPECT_TRUE(as_stored.wire_is_stored()) << "nothing is lost";
    for (const std::uint64_t width : {1U, 2U, 9U, 10U}) {
        for (const auto& [precision, expected] :
             {std::pair{store::Precision::int8, width},
              std::pair{store::Precision::int4, (width + 1) / 2}}) {
            test::PlainRows rows(precision);
            rows.add(0, std::vector<float>(width, 1));
            const store::RowFormat format({.width = width}, {}, precision, rows.steps());
            EXPECT_EQ(format.row_bytes(), expected);
            EXPECT_FALSE(format.wire_is_stored());
        }
    }
}

}  // namespace
}  // namespace rudder
