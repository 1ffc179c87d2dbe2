// Targets from raw numbers: against the rules written out the slow way, and what is refused where.
#include "graph/io/target_builder.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>

#include "memory_npy.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using graph::TargetHints;
using graph::TargetKind;
using graph::Targets;
using Longs = std::vector<std::int64_t>;

const float not_a_number = std::numeric_limits<float>::quiet_NaN();
const float endless = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> list_of(std::span<const T> values) {
    return {values.begin(), values.end()};
}

std::vector<std::int32_t> classes_of(const Longs& values, bool bytes = false,
                                     const TargetHints& hints = {}) {
    const Targets targets = graph::class_targets(values, bytes, hints, "here");
    return list_of(targets.view().classes);
}

std::uint64_t class_count(const Longs& values, bool bytes = false, const TargetHints& hints = {}) {
    return graph::class_targets(values, bytes, hints, "here").info.count;
}

TargetHints with_classes(std::uint64_t count) {
    return {.classes = count, .names = {}};
}

TEST(ClassTargets, TheLargestLabelAndOneUnlessMoreIsKnown) {
    using testing::ElementsAre;
    EXPECT_THAT(classes_of({0, -1, 4, -9}), ElementsAre(0, -1, 4, -1));
    EXPECT_EQ(class_count({0, -1, 4}), 5U);
    EXPECT_EQ(class_count({-1, -1}), 0U);
    EXPECT_EQ(class_count({}), 0U);
    EXPECT_EQ(class_count({0, 1}, false, with_classes(7)), 7U);
    EXPECT_EQ(class_count({0, 1}, false, {.classes = {}, .names = {"a", "b", "c"}}), 3U);
    EXPECT_EQ(class_count({1048575}), 1048576U);
}

TEST(ClassTargets, NamesAreKeptIfThereAreAsManyAsClasses) {
    const auto names = [](const Longs& values, const TargetHints& hints) {
        return graph::class_targets(values, false, hints, "here").info.names;
    };
    using testing::ElementsAre;
    using testing::IsEmpty;
    EXPECT_THAT(names({0, 1}, {.classes = {}, .names = {"a", "b"}}), ElementsAre("a", "b"));
    EXPECT_THAT(names({0}, {.classes = {}, .names = {"a", "b"}}), ElementsAre("a", "b"));
    EXPECT_THAT(names({0, 2}, {.classes = {}, .names = {"a", "b"}}), IsEmpty());
    EXPECT_THAT(names({0, 1}, {.classes = 3, .names = {"a", "b"}}), IsEmpty());
    EXPECT_THAT(names({0, 1}, {.classes = 2, .names = {"a", "b"}}), ElementsAre("a", "b"));
}

TEST(ClassTargets, TheByte255IsNoLabelUnlessItIsAClass) {
    using testing::ElementsAre;
    EXPECT_THAT(classes_of({0, 255, 3}, true), ElementsAre(0, -1, 3));
    EXPECT_EQ(class_count({0, 255, 3}, true), 4U);
    EXPECT_THAT(classes_of({0, 255, 3}, false), ElementsAre(0, 255, 3)) << "no bytes";
    EXPECT_THAT(classes_of({254, 255}, true), ElementsAre(254, 255)) << "254 classes came before";
    EXPECT_EQ(class_count({254, 255}, true), 256U);
    EXPECT_THAT(classes_of({253, 255}, true), ElementsAre(253, -1));
    EXPECT_THAT(classes_of({0, 255}, true, with_classes(255)), ElementsAre(0, -1));
    EXPECT_THAT(classes_of({0, 255}, true, with_classes(256)), ElementsAre(0, 255));
}

TEST(ClassTargets, RandomLabelsAsTheRulesSay) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        const bool bytes = seed % 2 == 0;
        const std::uint64_t span = seed % 3 == 0 ? 256 : 1 + random() % 20;
        Longs values(random() % 400);
        for (auto& value : values) {
            value = static_cast<std::int64_t>(random() % span);
            if (bytes && random() % 5 == 0) value = 255;
            if (!bytes && random() % 5 == 0) value = -1 - static_cast<std::int64_t>(random() % 9);
        }
        TargetHints hints;
        if (seed % 5 == 0) hints.classes = 256 + random() % 3;
        std::int64_t largest = -1;  // without what may mean no label
        for (const auto value : values)
            if (!(bytes && value == 255)) largest = std::max(largest, value);
        const bool last_is_class = hints.classes || largest >= 254;
        std::vector<std::int32_t> want;
        VertexId labelled = 0;
        std::int64_t most = -1;
        for (const auto value : values) {
            const bool none = value < 0 || (bytes && value == 255 && !last_is_class);
            want.push_back(none ? -1 : static_cast<std::int32_t>(value));
            labelled += none ? 0 : 1;
            most = std::max<std::int64_t>(most, want.back());
        }
        const Targets got = graph::class_targets(values, bytes, hints, "here");
        EXPECT_EQ(list_of(got.view().classes), want) << seed;
        EXPECT_EQ(got.info.labelled, labelled) << seed;
        EXPECT_EQ(got.info.kind, TargetKind::classes);
        EXPECT_EQ(got.info.count, hints.classes.value_or(static_cast<std::uint64_t>(most + 1)));
    }
}

TEST(ClassTargets, RefusesLabelsOutsideTheirRange) {
    const auto refused = [](const Longs& values, const TargetHints& hints) {
        return refusal_of([&] { (void)graph::class_targets(values, false, hints, "here"); });
    };
    Refusal refusal = refused({0, 2, 3, 9}, with_classes(3));
    EXPECT_EQ(refusal.kind, ErrorKind::input);
    EXPECT_EQ(refusal.problem, "label 3 is outside 0..2");
    EXPECT_EQ(refusal.where, "here, position 2") << "the first one";
    refusal = refused({0, 1048576}, {});
    EXPECT_EQ(refusal.problem, "label 1048576 is outside 0..1048575");
    EXPECT_EQ(refusal.where, "here, position 1");
    refusal = refused({std::numeric_limits<std::int64_t>::max()}, {});
    EXPECT_EQ(refusal.problem, "label 9223372036854775807 is outside 0..1048575");
    refusal = refused({0, 1}, with_classes(2097152));
    EXPECT_EQ(refusal.problem, "2097152 classes are more than 1048576");
    EXPECT_EQ(refusal.where, "here");
    refusal = refused({0}, with_classes(~std::uint64_t{0}));
    EXPECT_EQ(refusal.problem, "4611686018427387904 classes are more than 1048576");
}

TEST(MultilabelTargets, RandomTablesAsTheRulesSay) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 random(seed);
        const std::uint64_t width = 1 + random() % 6;
        const std::uint64_t rows = random() % 50;
        Longs values;
        std::vector<std::uint8_t> want;
        VertexId labelled = 0;
        for (std::uint64_t v = 0; v < rows; ++v) {
            const bool none = random() % 4 == 0;
            labelled += none ? 0 : 1;
            for (std::uint64_t c = 0; c < width; ++c) {
                const auto bit = static_cast<std::int64_t>(random() % 2);
                values.push_back(!none ? bit : bit == 0 ? 255 : -3);
                want.push_back(none ? 255 : static_cast<std::uint8_t>(bit));
            }
        }
        const Targets got = graph::multilabel_targets(values, width, {}, "here");
        EXPECT_EQ(list_of(got.view().multilabel), want) << seed;
        EXPECT_EQ(got.info.labelled, labelled) << seed;
        EXPECT_EQ(got.info.count, width);
        EXPECT_EQ(got.info.kind, TargetKind::multilabel);
    }
}

TEST(MultilabelTargets, RefusesOtherNumbersAndRowsPartlyWithoutLabel) {
    const auto refused = [](const Longs& values) {
        const Refusal refusal =
            refusal_of([&] { (void)graph::multilabel_targets(values, 2, {}, "here"); });
        return refusal.problem + " @ " + refusal.where;
    };
    EXPECT_EQ(refused({0, 1, 1, 2}), "label 2 is neither 0 nor 1 @ here, row 1, column 1");
    EXPECT_EQ(refused({255, 0}), "label 255 is neither 0 nor 1 @ here, row 0, column 0");
    EXPECT_EQ(refused({255, 255, 1, -1}), "label -1 is neither 0 nor 1 @ here, row 1, column 1");
    const TargetHints two{.classes = {}, .names = {"a", "b"}};
    EXPECT_EQ(graph::multilabel_targets(Longs{0, 1}, 2, two, "").info.names, two.names);
    EXPECT_TRUE(graph::multilabel_targets(Longs{0, 1, 1}, 3, two, "").info.names.empty());
}

TEST(RegressionTargets, ARowOfNanIsNoLabelAndNothingElseMayBe) {
    const auto made = [](const std::vector<float>& values) {
        return graph::regression_targets(Array<float>::copy_of(values), 2, "here");
    };
    const Targets targets = made({1, 2, not_a_number, not_a_number, -0.5F, 0});
    EXPECT_EQ(targets.info.labelled, 2U);
    EXPECT_EQ(targets.info.count, 2U);
    EXPECT_EQ(targets.info.kind, TargetKind::regression);
    EXPECT_EQ(targets.view().regression[4], -0.5F);
    const auto refused = [&](const std::vector<float>& values) {
        const Refusal refusal = refusal_of([&] { (void)made(values); });
        return refusal.problem + " @ " + refusal.where;
    };
    EXPECT_EQ(refused({1, 2, 3, not_a_number}),
              "a row of targets is partly NaN @ here, row 1, column 1");
    EXPECT_EQ(refused({not_a_number, 2}), "a row of targets is partly NaN @ here, row 0, column 1");
    EXPECT_EQ(refused({1, endless}), "a target is infinite @ here, row 0, column 1");
    EXPECT_EQ(refused({not_a_number, -endless}), "a target is infinite @ here, row 0, column 1");
}

TEST(ReadTargets, TheTypeAndTheShapeTellTheKind) {
    const auto read = [](const std::string& bytes, VertexId vertices = 2) {
        graph::NpyReader reader = reader_of(bytes);
        return graph::read_targets(reader, vertices, {});
    };
    EXPECT_EQ(read(npy<std::int16_t>({0, 1})).info.kind, TargetKind::classes);
    EXPECT_EQ(read(npy<std::int64_t>({0, 1}, 1)).info.kind, TargetKind::classes) << "one column";
    EXPECT_EQ(read(npy<std::int64_t>({0, 1, 1, 1}, 2)).info.kind, TargetKind::multilabel);
    EXPECT_EQ(read(npy<float>({0, 1})).info.kind, TargetKind::regression);
    EXPECT_EQ(read(npy<double>({0, 1, 2, 3}, 2)).info.count, 2U);
    EXPECT_EQ(read(NpyBytes{"<f2", "(2,)", std::string(4, '\0')}.str()).info.kind,
              TargetKind::regression);
    EXPECT_EQ(read(NpyBytes{"|b1", "(2, 3)", std::string(6, '\1')}.str()).info.count, 3U);
    EXPECT_EQ(read(npy<std::uint8_t>({0, 255})).info.labelled, 1U) << "255 of bytes";
    EXPECT_EQ(read(npy<std::uint16_t>({0, 255})).info.labelled, 2U) << "255 of others";
    EXPECT_EQ(read(npy<std::int32_t>({}), 0).info.count, 0U);
}

TEST(ReadTargets, RefusesOtherArrays) {
    const auto refused = [](const std::string& bytes) {
        const Refusal refusal = refusal_of([&] {
            graph::NpyReader reader = reader_of(bytes, "labels.npy");
            (void)graph::read_targets(reader, 2, {});
        });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        return refusal.problem + " @ " + refusal.where;
    };
    EXPECT_EQ(refused(NpyBytes{"<i4", "()", std::string(4, '\0')}.str()),
              "labels cannot be int32 () @ labels.npy");
    EXPECT_EQ(refused(NpyBytes{"<i4", "(2, 1, 1)", std::string(8, '\0')}.str()),
              "labels cannot be int32 (2, 1, 1) @ labels.npy");
    EXPECT_EQ(refused(NpyBytes{"<U1", "(2,)", std::string(8, '\0')}.str()),
              "labels cannot be text (2) @ labels.npy");
    EXPECT_EQ(refused(npy<std::int32_t>({0, 1, 2})),
              "there are 3 labels for 2 vertices @ labels.npy");
    EXPECT_EQ(refused(NpyBytes{"<i4", "(2, 0)", ""}.str()),
              "the labels have no columns @ labels.npy");
    EXPECT_EQ(refused(npy<std::uint64_t>({0, ~std::uint64_t{0}})),
              "18446744073709551615 does not fit 64 bits @ labels.npy, position 1");
}

}  // namespace
}  // namespace rudder::test
