// Features, targets and splits.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/targets.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

template <class T>
std::vector<float> decoded(ElementType type, std::vector<T> row, std::vector<float> scale = {},
                           bool normalise = false) {
    const graph::FeatureInfo info{row.size(), type, normalise};
    std::vector<float> out(row.size());
    graph::decode_row(info, std::as_bytes(std::span(row)), scale, out);
    return out;
}

TEST(Features, DecodeEveryType) {
    using testing::ElementsAre;
    EXPECT_THAT(decoded<float>(ElementType::f32, {1.5F, -2}), ElementsAre(1.5F, -2));
    EXPECT_THAT(decoded<std::uint16_t>(ElementType::f16, {float_to_f16(1.5F), 0}),
                ElementsAre(1.5F, 0));
    EXPECT_THAT(decoded<std::uint16_t>(ElementType::bf16, {float_to_bf16(-3), 0}),
                ElementsAre(-3, 0));
    EXPECT_THAT(decoded<std::int8_t>(ElementType::i8, {-4, 2}, {0.5F, 3}), ElementsAre(-2, 6));
    EXPECT_THAT(decoded<std::uint8_t>(ElementType::u8, {255, 1}), ElementsAre(255, 1));
    EXPECT_THAT(decoded<std::uint8_t>(ElementType::u8, {3, 1}, {}, true),
                ElementsAre(0.75F, 0.25F));
    EXPECT_THAT(decoded<float>(ElementType::f32, {-3, 1}, {}, true), ElementsAre(-0.75F, 0.25F));
    EXPECT_THAT(decoded<float>(ElementType::f32, {0, 0}, {}, true), ElementsAre(0, 0));
}

TEST(Features, NamesWhatIsNotFinite) {
    const std::vector<float> rows{0, 1, 2, std::numeric_limits<float>::infinity()};
    expect_error(
        [&] {
            graph::check_finite({2, ElementType::f32, false}, std::as_bytes(std::span(rows)), 10,
                                "here");
        },
        ErrorKind::input, {"here", "row 11, column 1"});
    for (const auto type : {ElementType::f16, ElementType::bf16}) {
        const std::vector<std::uint16_t> bits{0, 0xffff};
        EXPECT_THROW(graph::check_finite({1, type, false}, std::as_bytes(std::span(bits)), 0, ""),
                     Error);
    }
}

TEST(Targets, WhichAreLabelled) {
    const std::vector<std::int32_t> classes{0, -1};
    const std::vector<std::uint8_t> multilabel{0, 1, 255, 255};
    const std::vector<float> regression{0, std::nanf("")};
    EXPECT_TRUE(graph::is_labelled({graph::TargetKind::classes, 1, 1, {}}, {classes, {}, {}}, 0));
    EXPECT_FALSE(graph::is_labelled({graph::TargetKind::classes, 1, 1, {}}, {classes, {}, {}}, 1));
    EXPECT_TRUE(
        graph::is_labelled({graph::TargetKind::multilabel, 2, 1, {}}, {{}, multilabel, {}}, 0));
    EXPECT_FALSE(
        graph::is_labelled({graph::TargetKind::multilabel, 2, 1, {}}, {{}, multilabel, {}}, 1));
    EXPECT_TRUE(
        graph::is_labelled({graph::TargetKind::regression, 1, 1, {}}, {{}, {}, regression}, 0));
    EXPECT_FALSE(
        graph::is_labelled({graph::TargetKind::regression, 1, 1, {}}, {{}, {}, regression}, 1));
    EXPECT_THROW(static_cast<void>(graph::target_kind("other", "here")), Error);
}

TEST(Split, Parses) {
    const auto shares = std::get<graph::SplitFractions>(graph::parse_split("50/25/25"));
    EXPECT_DOUBLE_EQ(shares.train, 0.5);
    const auto counts = std::get<graph::SplitPerClass>(graph::parse_split("per-class:1/2/3"));
    EXPECT_EQ(counts.test, 3U);
    for (const char* text : {"", "60/20", "60/20/30", "a/b/c", "-1/50/50", "per-class:1/2",
                             "per-class:1/x/2", "60/20/20/0"}) {
        expect_error([&] { static_cast<void>(graph::parse_split(text)); }, ErrorKind::usage,
                     {"--split"});
    }
}

TEST(Split, FractionsOfTheLabelled) {
    std::vector<std::int32_t> classes(1000);
    for (std::size_t v = 0; v < classes.size(); ++v)
        classes[v] = v % 2 == 0 ? 0 : graph::no_label;
    const graph::TargetInfo info{graph::TargetKind::classes, 1, 500, {}};
    const graph::TargetView view{classes, {}, {}};
    const auto roles = graph::make_split(1000, info, view, graph::SplitFractions{}, 7);
    EXPECT_EQ(graph::count_split(roles.span()), (graph::SplitCounts{300, 100, 100}));
    for (std::size_t v = 1; v < classes.size(); v += 2)
        EXPECT_EQ(roles[v], graph::Role::none);
    const auto again = graph::make_split(1000, info, view, graph::SplitFractions{}, 7);
    EXPECT_TRUE(std::ranges::equal(roles.span(), again.span()));
    const auto other = graph::make_split(1000, info, view, graph::SplitFractions{}, 8);
    EXPECT_FALSE(std::ranges::equal(roles.span(), other.span()));
    const auto none = graph::make_split(10, {}, {}, graph::SplitFractions{0, 0, 1}, 1);
    EXPECT_EQ(graph::count_split(none.span()), (graph::SplitCounts{0, 0, 10}));
}

TEST(Split, PerClass) {
    std::vector<std::int32_t> classes(300);
    for (std::size_t v = 0; v < classes.size(); ++v)
        classes[v] = static_cast<std::int32_t>(v % 3);
    const graph::TargetInfo info{graph::TargetKind::classes, 4, 300, {}};  // class 3 has no members
    const auto roles =
        graph::make_split(300, info, {classes, {}, {}}, graph::SplitPerClass{5, 50, 1000}, 1);
    EXPECT_EQ(graph::count_split(roles.span()), (graph::SplitCounts{15, 50, 235}));
    expect_error(
        [&] { static_cast<void>(graph::make_split(3, {}, {}, graph::SplitPerClass{}, 1)); },
        ErrorKind::usage, {"per class"});
}

}  // namespace
}  // namespace rudder::test
