// Knobs, settings and actions: ranges, JSON, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/steer/action.hpp"

#include "schema_check.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

const steer::KnobLimits limits{.slots = 1000,
                               .window = 64,
                               .sample_threads = 4,
                               .fetch_threads = 2,
                               .in_flight = 3,
                               .buckets = 4};

steer::Setting window_setting() {
    steer::Setting setting;
    setting.policy = buffer::PolicySpec::parse("window:16");
    setting.capacity = 500;
    return setting;
}

template <class Call>
void refused(Call call, std::initializer_list<const char*> words) {
    try {
        call();
        ADD_FAILURE() << "taken: " << *words.begin();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_FALSE(error.remedy().empty());
        EXPECT_THAT(error.what(), HasSubstr("here"));
        for (const char* word : words)
            EXPECT_THAT(error.what(), HasSubstr(word));
    }
}

void refuse_change(const steer::KnobChange& change, std::initializer_list<const char*> words) {
    refused(
        [&] {
            static_cast<void>(
                steer::with_changes(window_setting(), std::array{change}, limits, "here"));
        },
        words);
}

TEST(Knobs, AreRegisteredInOrder) {
    for (std::size_t i = 0; i < steer::knob_count; ++i) {
        const steer::Knob& k = steer::all_knobs()[i];
        EXPECT_EQ(static_cast<std::size_t>(k.id), i);
        EXPECT_EQ(&steer::knob(k.name, "here"), &k);
        EXPECT_TRUE(k.sentence.ends_with('.'));
        EXPECT_FALSE(k.cost.empty());
    }
    refused([] { static_cast<void>(steer::knob("windw", "here")); },
            {"unknown knob 'windw'", "did you mean 'window'", "fetch_threads"});
}

TEST(Knobs, ChangeSettings) {
    const steer::Setting setting =
        steer::with_changes(window_setting(),
                            std::vector<steer::KnobChange>{{steer::KnobId::window, 32.0},
                                                           {steer::KnobId::distance, 4.0},
                                                           {steer::KnobId::capacity, 0.0},
                                                           {steer::KnobId::decay, 0.5},
                                                           {steer::KnobId::bulk, 4294967295.0},
                                                           {steer::KnobId::sample_threads, 4.0},
                                                           {steer::KnobId::fetch_threads, 2.0},
                                                           {steer::KnobId::demand_first, 0.0},
                                                           {steer::KnobId::in_flight, 3.0},
                                                           {steer::KnobId::buckets, 4.0}},
                            limits, "here");
    EXPECT_EQ(setting.policy.text(), "window:32,distance:4,decay:0.5");
    EXPECT_EQ(setting.capacity, 0U);
    EXPECT_EQ(setting.bulk, 4294967295U);
    EXPECT_EQ(setting.sample_threads, 4U);
    EXPECT_EQ(setting.fetch_threads, 2U);
    EXPECT_EQ(setting.demand_first, 0U);
    EXPECT_EQ(setting.in_flight, 3U);
    EXPECT_EQ(setting.buckets, 4U);
    EXPECT_EQ(steer::knob_value(setting, steer::KnobId::window), steer::KnobValue(32.0));
    EXPECT_EQ(steer::knob_value(setting, steer::KnobId::fraction), std::nullopt);
}

TEST(Knobs, ThePolicyIsSetFirst) {
    const steer::Setting setting = steer::with_changes(
        window_setting(),
        std::vector<steer::KnobChange>{{steer::KnobId::fraction, 0.25},
                                       {steer::KnobId::policy, "scored,every:4"}},
        limits, "here");
    EXPECT_EQ(setting.policy.text(), "scored,every:4,fraction:0.25");
}

TEST(Knobs, RefuseWhatTheRunDoesNotAllow) {
    refuse_change({steer::KnobId::window, 65.0}, {"65", "'window'", "from 1", "64"});
    refuse_change({steer::KnobId::window, 0.0}, {"'window'"});
    refuse_change({steer::KnobId::window, 1.5}, {"whole"});
    refuse_change({steer::KnobId::window, std::nan("")}, {"nan"});
    refuse_change({steer::KnobId::window, "16"}, {"'16'"});
    refuse_change({steer::KnobId::capacity, 1001.0}, {"'capacity'", "1000"});
    refuse_change({steer::KnobId::capacity, -1.0}, {"-1"});
    refuse_change({steer::KnobId::decay, 0.0}, {"above 0"});
    refuse_change({steer::KnobId::decay, 1.01}, {"up to 1"});
    refuse_change({steer::KnobId::distance, 1001.0}, {"1000"});
    refuse_change({steer::KnobId::bulk, 4294967296.0}, {"'bulk'"});
    refuse_change({steer::KnobId::sample_threads, 5.0}, {"'sample_threads'", "4"});
    refuse_change({steer::KnobId::fetch_threads, 0.0}, {"'fetch_threads'"});
    refuse_change({steer::KnobId::demand_first, 2.0}, {"'demand_first'", "from 0 and up to 1"});
    refuse_change({steer::KnobId::demand_first, 0.5}, {"whole"});
    refuse_change({steer::KnobId::in_flight, 0.0}, {"'in_flight'", "from 1 and up to 3"});
    refuse_change({steer::KnobId::in_flight, 4.0}, {"'in_flight'", "from 1 and up to 3"});
    refuse_change({steer::KnobId::buckets, 5.0}, {"'buckets'", "from 0 and up to 4"});
    refuse_change({steer::KnobId::fraction, 0.5}, {"policy 'window' has no 'fraction'"});
    refuse_change({steer::KnobId::policy, 5.0}, {"5", "'policy'"});
    refuse_change({steer::KnobId::policy, "lruu"}, {"unknown policy", "lru"});
    refuse_change({steer::KnobId::policy, "optimal"}, {"recorded trace"});
    refuse_change({steer::KnobId::policy, "scored-faithful,listed"}, {"recorded trace"});
    refuse_change({steer::KnobId::policy, "window:65"}, {"65", "'window'", "64"});
}

TEST(Knobs, GroupsOfGradientsAreLeftAloneWhereNotAllRanksAreTold) {
    steer::KnobLimits alone = limits;
    alone.buckets = 0;
    const std::array change{steer::KnobChange{steer::KnobId::buckets, 2.0}};
    refused(
        [&] { static_cast<void>(steer::with_changes(window_setting(), change, alone, "here")); },
        {"invalid value for knob 'buckets': 2", "give 0, the only value here",
         "all ranks divide gradients alike", "--agent-scope job"});
    const std::array none{steer::KnobChange{steer::KnobId::buckets, 0.0}};
    EXPECT_EQ(steer::with_changes(window_setting(), none, alone, "here"), window_setting());
}

steer::Setting random_setting(Draws& draws) {
    constexpr std::array<const char*, 8> policies{"none",
                                                  "lru",
                                                  "scored",
                                                  "scored,every:3,decay:0.75",
                                                  "window:16",
                                                  "window:4,distance:1",
                                                  "window:5,inclusion",
                                                  "window:16,decay:0.99"};
    steer::Setting setting;
    setting.policy = buffer::PolicySpec::parse(policies[draws.below(policies.size())]);
    setting.capacity = draws.below(1001);
    setting.bulk = draws.below(3) * 1000;
    setting.sample_threads = 1 + draws.below(4);
    setting.fetch_threads = 1 + draws.below(2);
    setting.demand_first = draws.below(2);
    setting.in_flight = 1 + draws.below(3);
    setting.buckets = draws.below(5);
    return setting;
}

TEST(Knobs, ChangesBetweenTwoSettingsLeadFromOneToTheOther) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 8});
    for (std::uint64_t i = 0; i < 2000; ++i) {
        Draws draws(stream, i);
        const steer::Setting from = random_setting(draws);
        const steer::Setting to = random_setting(draws);
        const auto changes = steer::changes_between(from, to);
        EXPECT_EQ(steer::with_changes(from, changes, limits, "here"), to);
        EXPECT_EQ(changes.empty(), from == to);
        EXPECT_EQ(steer::knob_changes(to_json(std::span(changes)), "here"), changes);
        EXPECT_EQ(steer::parse_setting(steer::to_json(to), "here"), to);
    }
    steer::Setting longer = window_setting();
    longer.policy = buffer::PolicySpec::parse("window:32");
    EXPECT_EQ(steer::changes_between(window_setting(), longer),
              std::vector<steer::KnobChange>({{steer::KnobId::window, 32.0}}));
}

TEST(Knobs, ReadWell) {
    steer::Setting setting = window_setting();
    setting.capacity = 1200;
    EXPECT_EQ(steer::text_of(setting), "window:16, capacity 1,200");
    setting.bulk = 4096;
    setting.fetch_threads = 2;
    EXPECT_EQ(steer::text_of(setting), "window:16, capacity 1,200, bulk 4,096, fetch_threads 2");
    setting.demand_first = 0;
    setting.in_flight = 3;
    setting.buckets = 4;
    EXPECT_EQ(steer::text_of(setting),
              "window:16, capacity 1,200, bulk 4,096, fetch_threads 2, demand_first 0, "
              "in_flight 3, buckets 4");
    EXPECT_EQ(steer::text_of(std::vector<steer::KnobChange>{{steer::KnobId::policy, "lru"},
                                                            {steer::KnobId::decay, 0.5}}),
              "policy lru, decay 0.5");
    EXPECT_EQ(steer::to_json(window_setting()).dump(),
              R"({"policy":"window:16","window":16,"capacity":500,"decay":0.99,"distance":2,)"
              R"("bulk":0,"sample_threads":1,"fetch_threads":1,"demand_first":1,"in_flight":2,)"
              R"("buckets":0})");
    EXPECT_EQ(steer::knobs_json().size(), steer::knob_count);
}

/// A damaged log says what it says: reading what was written must not fail.
TEST(Knobs, SettingsOutOfRangeAreReadAsTheyAreWritten) {
    steer::Setting odd = window_setting();
    odd.sample_threads = 0;
    odd.fetch_threads = 65;
    odd.demand_first = 7;
    odd.in_flight = 5000;
    odd.buckets = 99;
    EXPECT_EQ(steer::parse_setting(parse_json(steer::to_json(odd).dump(), "here"), "here"), odd);
}

TEST(Knobs, SettingsOfEarlierVersionsAreRead) {
    const steer::Setting setting = steer::parse_setting(
        parse_json(R"({"policy":"window:16","window":16,"capacity":500,"decay":0.99,"distance":2,)"
                   R"("bulk":0,"sample_threads":1,"fetch_threads":1})",
                   "here"),
        "here");
    EXPECT_EQ(setting, window_setting());
}

TEST(Actions, AreWrittenAsTheDesignSays) {
    EXPECT_EQ(to_json(steer::Action::keep()).dump(), R"({"action":"keep"})");
    EXPECT_EQ(to_json(steer::Action::replace(steer::Reason::rule, 0.5)).dump(),
              R"({"action":"replace","fraction":0.5,"reason":"rule"})");
    const steer::Action set =
        steer::Action::set({{steer::KnobId::policy, "window:8"}, {steer::KnobId::capacity, 1200.0}},
                           steer::Reason::trying);
    EXPECT_EQ(
        to_json(set).dump(),
        R"({"action":"set","knobs":{"policy":"window:8","capacity":1200},"reason":"trying"})");
    for (const steer::Action& action : {steer::Action::keep(steer::Reason::model_choice),
                                        steer::Action::replace(steer::Reason::rule),
                                        steer::Action::replace(steer::Reason::none, 0), set})
        EXPECT_EQ(steer::parse_action(to_json(action), "here"), action);
    EXPECT_EQ(to_string(steer::Reason::model_choice), "model_choice");
    EXPECT_EQ(to_string(steer::Reason::ending), "ending");
    EXPECT_EQ(to_string(steer::Reason::none), "");
    EXPECT_EQ(steer::reason_names().size(), 18U);
}

void refuse_action(const char* text, std::initializer_list<const char*> words) {
    refused([&] { static_cast<void>(steer::parse_action(parse_json(text, "here"), "here")); },
            words);
}

TEST(Actions, RefuseWhatIsNotOne) {
    refuse_action("[]", {"JSON object"});
    refuse_action("{}", {"'action'"});
    refuse_action(R"({"action": "evict"})", {"unknown action \"evict\"", "keep, replace, set"});
    refuse_action(R"({"action": 1})", {"unknown action 1"});
    refuse_action(R"({"action": "keep", "fraction": 1})", {"'fraction'", "'keep'"});
    refuse_action(R"({"action": "replace", "knobs": {}})", {"'knobs'", "'replace'"});
    refuse_action(R"({"action": "keep", "why": "x"})", {"unknown key 'why'"});
    refuse_action(R"({"action": "keep", "reason": "x"})", {"unknown reason \"x\"", "low_hit_rate"});
    refuse_action(R"({"action": "replace", "fraction": 1.5})", {"invalid fraction: 1.5"});
    refuse_action(R"({"action": "replace", "fraction": "1"})", {"invalid fraction"});
    refuse_action(R"({"action": "set"})", {"names no knob"});
    refuse_action(R"({"action": "set", "knobs": {}})", {"names no knob"});
    refuse_action(R"({"action": "set", "knobs": [1]})", {"not a JSON object"});
    refuse_action(R"({"action": "set", "knobs": {"windw": 4}})", {"unknown knob", "'window'"});
    refuse_action(R"({"action": "set", "knobs": {"window": 0}})", {"'window'", "from 1"});
    refuse_action(R"({"action": "set", "knobs": {"window": "16"}})", {"'window'"});
    refuse_action(R"({"action": "set", "knobs": {"window": null}})", {"null", "'window'"});
    refuse_action(R"({"action": "set", "knobs": {"policy": "optimal"}})", {"recorded trace"});
}

/// Everything that the schema takes is a good action, and the other way round.
TEST(Actions, TheSchemaSaysWhatIsTaken) {
    constexpr steer::KnobLimits all{.slots = 4294967295,
                                    .window = 1000000,
                                    .sample_threads = 64,
                                    .fetch_threads = 64,
                                    .in_flight = 1024,
                                    .buckets = 6};
    std::vector<steer::KnobId> ids;
    for (const steer::Knob& k : steer::all_knobs())
        ids.push_back(k.id);
    const Json schema = steer::action_schema(ids, all);
    const auto kinds = std::to_array<Json>({"keep", "replace", "set", "evict", 3});
    const auto values = std::to_array<Json>({0, 1, 0.5, 1.5, -1, 16, 64, 65, 1001, 2000000,
                                             4294967296, "lru", "window:8", "optimal", nullptr});
    const RandomStream stream({.purpose = Purpose::test, .seed = 9});
    int taken = 0;
    for (std::uint64_t i = 0; i < 20000; ++i) {
        Draws draws(stream, i);
        Json object{{"action", kinds[draws.below(draws.below(4) == 0 ? 5 : 3)]}};
        if (draws.below(3) == 0) object["fraction"] = values[draws.below(values.size())];
        if (draws.below(2) == 0) {
            object["knobs"] = Json::object();
            for (std::uint64_t k = draws.below(3); k > 0; --k)
                object["knobs"]
                      [std::string(steer::all_knobs()[draws.below(steer::knob_count)].name)] =
                          values[draws.below(values.size())];
        }
        if (draws.below(4) == 0) object["reason"] = draws.below(3) == 0 ? "because" : "ending";
        if (draws.below(20) == 0) object["extra"] = 1;
        bool parsed = true;
        try {
            const steer::Action action = steer::parse_action(object, "here");
            EXPECT_EQ(steer::parse_action(to_json(action), "here"), action);
        } catch (const Error&) {
            parsed = false;
        }
        EXPECT_EQ(fits_schema(object, schema), parsed) << object.dump();
        taken += parsed ? 1 : 0;
    }
    EXPECT_GT(taken, 2000);
    EXPECT_LT(taken, 18000);
}

TEST(Actions, TheSchemaLeavesOutWhatMayNotBeSet) {
    const std::array<steer::KnobId, 2> allowed{steer::KnobId::window, steer::KnobId::capacity};
    const Json schema = steer::action_schema(allowed, limits);
    const auto fits = [&](const char* text) { return fits_schema(parse_json(text, ""), schema); };
    EXPECT_TRUE(fits(R"({"action": "set", "knobs": {"window": 64, "capacity": 1000}})"));
    EXPECT_FALSE(fits(R"({"action": "set", "knobs": {"window": 65}})"));
    EXPECT_FALSE(fits(R"({"action": "set", "knobs": {"capacity": 1001}})"));
    EXPECT_FALSE(fits(R"({"action": "set", "knobs": {"decay": 0.5}})"));
    const Json fewer = steer::action_schema({}, limits);
    EXPECT_FALSE(
        fits_schema(parse_json(R"({"action": "set", "knobs": {"window": 64}})", ""), fewer));
    EXPECT_TRUE(fits_schema(parse_json(R"({"action": "keep"})", ""), fewer));
}

}  // namespace
}  // namespace rudder::test
