// The table of options: what it says is true of TrainOptions, of checkpoints and of words.
#include "train/option_table.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "train/checkpoints/options_json.hpp"

namespace rudder::test {
namespace {

using train::TrainOptions;

/// A value that the option may have and by default has not.
Json another(const Setting<TrainOptions>& option, const TrainOptions& options) {
    const Json now = option.value(options);
    if (option.words != nullptr) {
        for (const std::string_view word : option.words()) {
            if (now != Json(word)) return Json(word);
        }
    }
    switch (option.kind) {
        case SettingKind::flag:
            return Json(!now.get<bool>());
        case SettingKind::integer:
        case SettingKind::bytes:
            return now.is_null() ? Json(7U) : Json(now.get<std::uint64_t>() + 1);
        case SettingKind::real:
            return Json(now.get<double>() * 0.5 + 0.1875);
        case SettingKind::list:
            return Json::array({3, 4});
        case SettingKind::text:
            break;
    }
    if (option.name == "lr-schedule") return Json("cosine");
    if (option.name == "policy") return Json("scored,every:4");
    return Json("another");
}

TEST(OptionTable, NamesAreUniqueAndEveryOptionIsDescribed) {
    std::set<std::string_view> names;
    for (const auto& option : train::all_options()) {
        EXPECT_TRUE(names.insert(option.name).second) << option.name;
        EXPECT_FALSE(option.help.empty()) << option.name;
        EXPECT_THAT(std::string(option.name), testing::MatchesRegex("[a-z][a-z-]*"));
        EXPECT_EQ(option.unit.empty(), option.kind == SettingKind::flag) << option.name;
    }
    EXPECT_GT(names.size(), 45U);
}

TEST(OptionTable, DefaultsAreValid) {
    const TrainOptions options;
    for (const auto& option : train::all_options())
        EXPECT_NO_THROW(check_setting(option, option.value(options))) << option.name;
    EXPECT_NO_THROW(check_options(options));
}

TEST(OptionTable, EveryOptionIsSetAndReadAlone) {
    const TrainOptions before;
    for (const auto& option : train::all_options()) {
        TrainOptions options;
        const Json value = another(option, options);
        ASSERT_NE(value, option.value(before)) << option.name;
        option.put(options, parse_setting(option, setting_text(value)));
        for (const auto& other : train::all_options()) {
            EXPECT_EQ(other.value(options), other.name == option.name ? value : other.value(before))
                << option.name << " and " << other.name;
        }
    }
}

TEST(OptionTable, IdentityChangesExactlyWithOptionsThatChangeResults) {
    const Json before = train::training_json({});
    std::size_t of_identity = 0;
    for (const auto& option : train::all_options()) {
        TrainOptions options;
        option.put(options, another(option, options));
        const Json after = train::training_json(options);
        EXPECT_EQ(before != after, option.marked(Marks::identity)) << option.name;
        EXPECT_EQ(train::training_json(train::training_from_json(after, "here")), after);
        of_identity += option.marked(Marks::identity) ? 1U : 0U;
    }
    EXPECT_EQ(of_identity, 44U);
    EXPECT_EQ(before.size(), of_identity);
}

TEST(OptionTable, IdentityOfTheDefaultsIsWhatCheckpointsHold) {
    const Json expected = Json::parse(
        R"({"bases":8,"batch":1000,"class-weights":"none","clip":0.0,"dropout":0.5,"edge-features":false,"embeddings":"","epochs":10,)"
        R"("eval":"exact","eval-every":null,"eval-negatives":1000,"fanout":[10,25],"gradient-precision":"float32","heads":4,"hidden":256,)"
        R"("input-dropout":0.0,"layers":2,"link-loss":"binary","link-type":"","lr":0.003,"lr-schedule":"constant","model":"sage",)"
        R"("momentum":0.9,"negatives":"uniform:1","negatives-from":"","norm":"none","optimizer":"adam","patience":0,"precision":"native","redraw":null,)"
        R"("residual":false,"sampler":null,"scorer":"dot","seed":0,"seed-order":"random","sparse":"auto","task":"vertex","temporal":"off","type-fanout":"","unfiltered":false,"warmup":0,"weight-decay":0.0,)"
        R"("weighted":false,"with-replacement":false})");
    const Json identity = train::training_json({});
    EXPECT_EQ(identity.size(), expected.size());
    for (const auto& [key, value] : expected.items())
        EXPECT_EQ(identity.at(key), value) << key;
}

TEST(OptionTable, DamagedIdentitiesAreRefused) {
    const Json good = train::training_json({});
    const auto added = [](const std::string& key) {
        return std::ranges::any_of(train::all_options(), [&](const auto& option) {
            return option.name == key && option.marked(Marks::added);
        });
    };
    for (const auto& [key, value] : good.items()) {
        Json bad = good;
        bad.erase(key);
        if (added(key)) {
            Json meant = good;
            if (key == "sampler") meant[key] = "plain";  // there was nothing else
            EXPECT_EQ(train::training_json(train::training_from_json(bad, "here")), meant)
                << "checkpoints of earlier versions lack " << key;
        } else {
            EXPECT_THROW(static_cast<void>(train::training_from_json(bad, "here")), Error) << key;
        }
        bad[key] = value.is_string() ? Json(3) : Json("text");
        try {
            static_cast<void>(train::training_from_json(bad, "here"));
            ADD_FAILURE() << key;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
            EXPECT_EQ(error.where(), "here");
        }
    }
    nn::NetworkOptions network;
    network.class_weights = {0.5F, 2.0F};
    network.objective = nn::Objective::regression;
    const Json json = train::network_json(network);
    EXPECT_EQ(json.at("objective"), "regression");
    EXPECT_EQ(train::network_json(train::network_from_json(json, "here")), json);
    for (const auto& [key, value] : json.items()) {
        Json bad = json;
        bad[key] = Json::object();
        EXPECT_THROW(static_cast<void>(train::network_from_json(bad, "here")), Error) << key;
    }
}

TEST(OptionTable, WordsAreThoseOfTheEnumerations) {
    TrainOptions o;
    const auto word = [&](std::string_view name) {
        for (const auto& option : train::all_options()) {
            if (option.name == name) return option.value(o).get<std::string>();
        }
        return std::string();
    };
    for (const auto p : {store::Precision::native, store::Precision::bfloat16,
                         store::Precision::int8, store::Precision::int4}) {
        o.precision = p;
        EXPECT_EQ(word("precision"), to_string(p));
    }
    o.task = train::TaskKind::vertex;
    EXPECT_EQ(word("task"), "vertex");
    o.task = train::TaskKind::link;
    EXPECT_EQ(word("task"), "link");
    o.links.scorer = nn::PairScorer::distmult;
    EXPECT_EQ(word("scorer"), "distmult");
    o.links.scorer = nn::PairScorer::network;
    EXPECT_EQ(word("scorer"), "mlp");
    o.links.loss = nn::LinkLoss::softmax;
    EXPECT_EQ(word("link-loss"), "softmax");
    o.links.loss = nn::LinkLoss::bpr;
    EXPECT_EQ(word("link-loss"), "bpr");
    o.shards = store::Shards::mapped;
    EXPECT_EQ(word("shards"), "mapped");
    o.shards = store::Shards::shared;
    EXPECT_EQ(word("shards"), "shared");
    o.seed_order = sample::SeedOrder::random;
    EXPECT_EQ(word("seed-order"), "random");
    o.seed_order = sample::SeedOrder::clustered;
    EXPECT_EQ(word("seed-order"), "clustered");
    for (const auto s : {buffer::BufferScope::host, buffer::BufferScope::rank}) {
        o.buffer_scope = s;
        EXPECT_EQ(word("buffer-scope"), to_string(s));
    }
    o.steer.scope = steer::AgentScope::rank;
    EXPECT_EQ(word("agent-scope"), "rank");
    o.steer.scope = steer::AgentScope::host;
    EXPECT_EQ(word("agent-scope"), "host");
    o.steer.scope = steer::AgentScope::job;
    EXPECT_EQ(word("agent-scope"), "job");
    for (const auto a : {steer::LlmApi::automatic, steer::LlmApi::openai, steer::LlmApi::ollama}) {
        o.steer.llm.api = a;
        EXPECT_EQ(word("llm-api"), to_string(a));
    }
}

}  // namespace
}  // namespace rudder::test
