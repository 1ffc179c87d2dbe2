// The model that is in the program, and model files, as a user meets them: train --agent llm.
#include <gmock/gmock.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class BuiltInModel : public CliTest {
protected:
    void SetUp() override {
        if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words train(const std::string& agent, const Words& more = {}) {
        Words words{"train",    "parts", "--ranks",  "2",      "--ranks-per-host", "1",
                    "--epochs", "4",     "--batch",  "20",     "--hidden",         "8",
                    "--fanout", "4,6",   "--policy", "scored", "--agent",          agent};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// Must be refused, by ranks: with that code and these words, and nothing is left.
    void refused(const std::string& agent, const Words& more, int code,
                 std::initializer_list<std::string> words) {
        Words all = train(agent, more);
        all.insert(all.end(), {"--quiet", "--out", "run"});
        const Outcome outcome = rudder(all, here());
        EXPECT_EQ(outcome.code, code) << testing::PrintToString(all) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("rudder: error: "));
        for (const std::string& word : words)
            EXPECT_THAT(outcome.err, HasSubstr(word));
        EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    }
    static std::string weights() {
        return bytes_of(std::filesystem::path(RUDDER_SOURCE_DIR) / "models/steering.safetensors");
    }
};

TEST_F(BuiltInModel, SteersARunAndTheClosingLinesSayWhichModelItWas) {
    const Json plain = ok_json(train("never", {"--quiet"}));
    // With sync nothing goes by the clock: all questions are put and answered.
    const Outcome outcome =
        rudder(train("llm:built-in,interval:2", {"--agent-mode", "sync", "--out", "run"}), here());
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::ContainsRegex("model +built-in \\([0-9.]+ M parameters, in "
                                                    "this process\\) was asked [0-9]+ times"));
    EXPECT_THAT(outcome.out, testing::ContainsRegex("agent +llm:built-in"));
    const Json run = read_json(folder_ / "run/summary.json");
    EXPECT_EQ(run.at("loss").at("digest"), plain.at("loss").at("digest"));
    const Json& agent = run.at("agent");
    EXPECT_GT(agent.at("decisions"), 10);
    EXPECT_EQ(agent.at("invalid"), 0);
    EXPECT_EQ(agent.at("late"), 0);
    ASSERT_EQ(agent.at("learned").size(), 2U) << "an agent for each host";
    // The same weights from a file.
    write("model.safetensors", weights());
    const Json again = ok_json(
        train("llm,file:model.safetensors,interval:2", {"--agent-mode", "sync", "--quiet"}));
    EXPECT_EQ(again.at("loss").at("digest"), plain.at("loss").at("digest"));
    EXPECT_EQ(again.at("agent").at("invalid"), 0);
    EXPECT_THAT(again.at("agent").at("learned").at(0).get<std::string>(),
                HasSubstr("model.safetensors ("));
}

/// Where nobody is named and no Ollama answers, it is the built-in one, and the lines say why.
TEST_F(BuiltInModel, StandsInWhereNoServerIsNamedOrFound) {
    RunOptions options = here();
    const Outcome outcome = rudder(train("llm,share:1", {"--agent-mode", "sync"}), options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("built-in ("));
    EXPECT_THAT(outcome.out, HasSubstr("no server was named or found"));
}

TEST_F(BuiltInModel, OptionsThatOnlyServersHaveAreWrongUse) {
    for (const Words& more : std::vector<Words>{
             {"--llm-url", "http://127.0.0.1:9"}, {"--llm-api", "ollama"}, {"--llm-insecure"}})
        refused("llm:built-in", more, 2, {more[0], "built-in", "leave out"});
    for (const std::string key :
         {"url:http://127.0.0.1:9", "api:openai", "temperature:0.5", "seed:3", "insecure"}) {
        const std::string name = key.substr(0, key.find(':'));
        refused("llm:built-in," + key, {}, 2, {"'" + name + "'", "built-in", "leave out"});
    }
    refused("llm:built-in,faithful", {}, 2, {"published protocol"});
    refused("llm:built-in,context:1000000", {}, 2, {"invalid context", "1000000"});
}

TEST_F(BuiltInModel, DamagedAndOtherFilesAreBadInput) {
    const std::string good = weights();
    const std::string version = R"("version": "1")";
    ASSERT_NE(good.find(version), std::string::npos);
    std::string other = good;
    other.replace(good.find(version), version.size(), R"("version": "2")");
    write("other.safetensors", other);
    refused("llm,file:other.safetensors", {}, 3,
            {"invalid model", "its version is '2', not '1'", "other.safetensors"});
    std::string damaged = good;
    damaged[damaged.size() - 1000] ^= 1;
    write("damaged.safetensors", damaged);
    refused("llm,file:damaged.safetensors", {}, 3,
            {"invalid model", "checksum", "damaged.safetensors"});
    write("short.safetensors", good.substr(0, good.size() / 2));
    refused("llm,file:short.safetensors", {}, 3, {"short.safetensors"});
    write("words.safetensors", "no model at all");
    refused("llm,file:words.safetensors", {}, 3, {"words.safetensors"});
    refused("llm,file:missing.safetensors", {}, 3, {"missing.safetensors"});
}

}  // namespace
}  // namespace rudder::test
