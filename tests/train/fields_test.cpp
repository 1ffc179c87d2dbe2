// What follows from lists of fields: sums, differences, bytes for other ranks, JSON both ways.
#include "rudder/core/fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/field_parts.hpp"
#include "core/fields_json.hpp"
#include "core/packed.hpp"
#include "rudder/buffer/pilot.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/steer/helm_totals.hpp"
#include "steer/log/decision_log.hpp"
#include "steer/samples/sample_table.hpp"
#include "train/checkpoints/run_state.hpp"
#include "train/steps/record_book.hpp"
#include "train/summary.hpp"

namespace rudder::test {
namespace {

/// Gives every member some value.
class Filler {
public:
    explicit Filler(std::uint64_t seed)
        : draws_(RandomStream({.purpose = Purpose::test, .seed = seed}), 0) {}

    template <class T>
    void fill(T& value) {
        if constexpr (Listed<T>) {
            for_each_field<T>([&](const auto& f) { fill(value.*f.member); });
        } else if constexpr (std::is_enum_v<T>) {
            value = static_cast<T>(draws_.below(2));
        } else if constexpr (std::is_same_v<T, bool>) {
            value = draws_.below(2) == 1;
        } else if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(draws_.below(1U << 20U)) / 1024;
        } else {
            value = static_cast<T>(draws_.below(1U << 20U));
        }
    }
    void fill(std::string& text) { text.assign(draws_.below(200), 'x'); }
    void fill(buffer::PolicySpec& policy) {
        policy = buffer::PolicySpec::parse(draws_.below(2) == 0 ? "window:7,distance:3"
                                                                : "scored,every:4");
    }
    template <class T>
    void fill(std::vector<T>& values) {
        values.resize(draws_.below(4));
        for (T& value : values)
            fill(value);
    }
    template <class T>
    void fill(std::optional<T>& value) {
        value.reset();
        if (draws_.below(2) == 1) fill(value.emplace());
    }
    void fill(steer::KnobValue& value) {
        if (draws_.below(2) == 0) {
            fill(value.emplace<double>());
        } else {
            fill(value.emplace<std::string>());
        }
    }

private:
    Draws draws_;
};

template <class T>
class Records : public testing::Test {};
using AllRecords =
    testing::Types<Rows, Seconds, comm::Bytes, buffer::Knobs, buffer::TimeKnobs, train::StepRecord,
                   train::Score, train::EpochRecord, train::RunCounts, train::RunState,
                   train::ClosedAccounts, train::ClosingFigures, train::FinalReport,
                   steer::Observation, steer::Action, steer::DecisionRecord, steer::HelmTotals,
                   steer::SampleTable, steer::Sample, steer::Forecast, steer::KnobChange,
                   steer::KnobLimits, steer::Outcome, steer::PastDecision, steer::RunSizes,
                   steer::ShadowReading, train::Scores, train::Summary>;
TYPED_TEST_SUITE(Records, AllRecords);

TYPED_TEST(Records, AllMembersAreListed) {
    EXPECT_TRUE(lists_all_fields<TypeParam>);
}

TYPED_TEST(Records, TravelAndArriveAsTheyWere) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<TypeParam> sent(2);
        Filler(seed).fill(sent[0]);
        const auto bytes = packed(sent);
        EXPECT_EQ(packed(unpacked<std::vector<TypeParam>>(bytes)), bytes);
    }
}

template <class T>
class AmountTypes : public testing::Test {};
using Amounts = testing::Types<Rows, Seconds, comm::Bytes>;
TYPED_TEST_SUITE(AmountTypes, Amounts);

TYPED_TEST(AmountTypes, SumsAndDifferencesAreFieldByField) {
    TypeParam a;
    TypeParam b;
    Filler filler(3);
    filler.fill(a);
    filler.fill(b);
    TypeParam sum = a;
    sum += b;
    for_each_field<TypeParam>(
        [&](const auto& f) { EXPECT_EQ(sum.*f.member, a.*f.member + b.*f.member) << f.name; });
    EXPECT_EQ(sum - b, a);
}

TYPED_TEST(AmountTypes, JsonBothWays) {
    TypeParam a;
    Filler(4).fill(a);
    for_each_field<TypeParam>([&](const auto& f) {
        if (f.kind == FieldKind::inner) a.*f.member = {};
    });
    EXPECT_EQ(fields_from_json<TypeParam>(fields_json(a), "here"), a);
}

/// Every key of an object, those inside of it with their path.
void paths_of(const Json& json, const std::string& before, std::vector<std::string>& paths) {
    for (const auto& [key, value] : json.items()) {
        const std::string path = before + "/" + key;
        paths.push_back(path);
        if (value.is_object()) paths_of(value, path, paths);
    }
}

TEST(Fields, ASummaryIsReadAsItWasWritten) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        train::Summary summary;
        Filler(seed).fill(summary);
        summary.rows.rows.steps = 0;  // not of the file
        summary.seconds.steps.steps = 0;
        const Json json = to_json(summary);
        const auto back = train::summary_from_json(parse_json(json.dump(), "here"), "here");
        EXPECT_TRUE(to_json(back) == json) << seed;
        EXPECT_TRUE(packed(back) == packed(summary)) << seed;
    }
}

TEST(Fields, ASummaryWithoutAKeyIsRefusedByItsName) {
    train::Summary summary;
    Filler(3).fill(summary);
    const Json good = to_json(summary);
    std::vector<std::string> paths;
    paths_of(good, "", paths);
    EXPECT_GT(paths.size(), 80U);
    std::vector<std::string> optional;
    for (const std::string& path : paths) {
        Json bad = good;
        const Json::json_pointer at(path);
        bad[at.parent_pointer()].erase(at.back());
        try {
            static_cast<void>(train::summary_from_json(bad, "here"));
            optional.push_back(path);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << path;
            EXPECT_NE(error.problem().find(at.back()), std::string::npos) << error.what();
        }
    }
    EXPECT_THAT(
        optional,
        testing::ElementsAre(
            "/accuracy/train", "/accuracy/valid", "/accuracy/test", "/accuracy_last/train",
            "/accuracy_last/valid", "/accuracy_last/test", "/mrr", "/hits", "/auc", "/best_epoch",
            "/evaluations", "/eval_every", "/seconds/wait_rows", "/seconds/wait_gradients",
            "/seconds/wait_ranks", "/seconds/wait_agent", "/seconds/rest", "/rows/floor",
            "/rows/learned", "/sparse", "/coding", "/agent/correct", "/agent/no_effect",
            "/agent/better", "/agent/excess", "/agent/regret", "/agent/regret_error",
            "/agent/regret_against", "/agent/cpu_share", "/gpu"));
}

TEST(Fields, AStateOfARunIsReadAsItWasWritten) {
    train::RunState state;
    Filler(5).fill(state);
    for (train::EpochRecord& epoch : state.epochs)
        epoch.regression = false;  // checkpoints do not say
    state.counts.rows.steps = 0;
    state.counts.seconds.steps = 0;
    const auto back = train::run_state_from_json(to_json(state), "here");
    EXPECT_EQ(packed(back), packed(state));
}

TEST(Fields, APartIsTakenOutOfAWholeAndPutBackByNames) {
    buffer::Knobs whole;
    Filler(6).fill(whole);
    const auto part = part_of<buffer::TimeKnobs>(whole);
    EXPECT_EQ(part, (buffer::TimeKnobs{whole.bulk, whole.sample_threads, whole.fetch_threads,
                                       whole.demand_first, whole.in_flight}));
    buffer::Knobs other;
    Filler(7).fill(other);
    buffer::Knobs right = other;
    right.bulk = whole.bulk;
    right.sample_threads = whole.sample_threads;
    right.fetch_threads = whole.fetch_threads;
    right.demand_first = whole.demand_first;
    right.in_flight = whole.in_flight;
    ASSERT_NE(other, right);
    put_part(other, part);
    EXPECT_EQ(other, right);
}

TEST(Fields, AMemberIsFoundByItsNameAndType) {
    buffer::Knobs knobs;
    EXPECT_EQ(member_named<std::uint64_t>(knobs, "bulk"), &knobs.bulk);
    EXPECT_EQ(member_named<std::uint64_t>(knobs, "policy"), nullptr) << "of another type";
    EXPECT_EQ(member_named<std::uint64_t>(knobs, "window"), nullptr);
}

/// Named as a knob, and of another type.
struct Misnamed {
    double bulk = 0;
    static constexpr auto fields = field_list(field("bulk", &Misnamed::bulk));
};
static_assert(!fields_within<Misnamed, buffer::Knobs>());
static_assert(!fields_within<buffer::Knobs, buffer::TimeKnobs>());

/// A member that is not in the list.
struct Forgetful {
    std::uint64_t listed = 0;
    std::uint64_t forgotten = 0;
    static constexpr auto fields = unnamed_fields(&Forgetful::listed);
};
static_assert(!lists_all_fields<Forgetful>);

}  // namespace
}  // namespace rudder::test
