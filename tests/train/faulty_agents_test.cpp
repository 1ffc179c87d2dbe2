// Agents at fault beside whole runs of the program, on threads and real ranks: the run ends well,
// not a bit of it differs from a run without an agent, and its log tells of the faults.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "steer/log/decision_log.hpp"

#include "support/mpirun.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

class FaultyAgents : public testing::Test {
protected:
    void SetUp() override {
        if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
        ok({"generate", "sbm", "graph", "--vertices", "800", "--seed", "5", "--quiet"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg", "--quiet"});
        plain_ = train("never", "plain", "async").summary;
    }

    /// The program with the agents at fault.
    Outcome faulty(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), RUDDER_FAULTY);
        RunOptions options;
        options.folder = folder_.path();
        return run(arguments, options);
    }
    void ok(const std::vector<std::string>& arguments) {
        const Outcome outcome = faulty(arguments);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    /// A run on two ranks.
    Outcome steered(const std::string& agent, const std::string& out, const std::string& mode,
                    const std::string& epochs = "3", const std::string& memory = "0",
                    const std::string& deadline = "0.01") {
        return faulty({"train",    "parts",   "--epochs",  epochs,         "--memory",
                       memory,     "--batch", "20",        "--hidden",     "8",
                       "--fanout", "4,6",     "--policy",  "scored",       "--agent",
                       agent,      "--out",   out,         "--agent-mode", mode,
                       "--ranks",  "2",       "--buffer",  "0.25",         "--agent-deadline",
                       deadline,   "--link",  "1ms,1gbit", "--eval-every", "1",
                       "--json"});
    }
    struct Ended {
        Json summary;
        std::string err;
        std::vector<steer::DecisionRecord> decisions;
    };
    /// The same, which must end with 0 within its limit.
    Ended train(const std::string& agent, const std::string& out, const std::string& mode,
                const std::string& epochs = "3", const std::string& memory = "0",
                const std::string& deadline = "0.01") {
        const Outcome outcome = steered(agent, out, mode, epochs, memory, deadline);
        EXPECT_EQ(outcome.code, 0) << agent << '\n' << outcome.err;
        Ended ended{{}, outcome.err, {}};
        ended.summary = parse_json(outcome.out, agent);
        if (agent != "never") ended.decisions = steer::read_decisions(folder_ / out);
        return ended;
    }

    /// What a run leaves that must not depend on who steered, by name.
    [[nodiscard]] std::map<std::string, std::string> results(const std::string& out) const {
        std::map<std::string, std::string> bytes;
        const auto checkpoints = folder_ / out / "checkpoints";
        for (const auto& entry : std::filesystem::recursive_directory_iterator(checkpoints)) {
            if (entry.path().extension() != ".safetensors") continue;
            std::ifstream in(entry.path(), std::ios::binary);
            bytes[entry.path().lexically_relative(checkpoints).string()] = {
                std::istreambuf_iterator<char>(in), {}};
        }
        return bytes;
    }

    /// No bit differs from the run without an agent.
    void expect_equal(const Ended& ended, const std::string& out) {
        for (const char* key : {"loss", "accuracy", "steps_per_epoch", "best_epoch"})
            EXPECT_EQ(ended.summary.at(key), plain_.at(key)) << out << key;
        const auto weights = results(out);
        EXPECT_GE(weights.size(), 4U);
        EXPECT_TRUE(weights == results("plain")) << out;
    }

    TempDir folder_;
    Json plain_;
};

TEST_F(FaultyAgents, OneThatThrowsIsSuspendedWithItsWordsInTheLog) {
    for (const char* mode : {"async", "sync"}) {
        const std::string out = std::string("throws-") + mode;
        const Ended ended = train("throws", out, mode);
        expect_equal(ended, out);
        const Json& agent = ended.summary.at("agent");
        EXPECT_GE(agent.at("invalid"), 3);
        EXPECT_EQ(agent.at("applied"), 0);
        EXPECT_GE(agent.at("breaker_openings"), 1);
        EXPECT_THAT(ended.err, HasSubstr("agent 'throws' suspended (3 failed answers); using "));
        ASSERT_EQ(ended.decisions.size(), agent.at("decisions").get<std::size_t>());
        std::size_t told = 0;
        for (const steer::DecisionRecord& record : ended.decisions) {
            if (record.status != steer::DecisionStatus::invalid) continue;
            EXPECT_EQ(record.problem, "planted: no idea");
            ++told;
        }
        EXPECT_EQ(told, agent.at("invalid").get<std::size_t>());
    }
}

TEST_F(FaultyAgents, OneThatAnswersNonsenseIsRefusedForEachReason) {
    const Ended ended = train("nonsense", "nonsense", "sync");
    expect_equal(ended, "nonsense");
    const Json& agent = ended.summary.at("agent");
    EXPECT_GE(agent.at("refused"), 3);
    EXPECT_EQ(agent.at("applied"), 0);
    EXPECT_THAT(ended.err, HasSubstr("agent 'nonsense' suspended (3 failed answers); using "));
    std::set<std::string> problems;
    for (const steer::DecisionRecord& record : ended.decisions) {
        if (record.status != steer::DecisionStatus::refused) continue;
        problems.insert(record.problem.substr(0, record.problem.find('\n')));
    }
    const auto some = [&](const char* word) {
        return std::ranges::any_of(problems, [&](const auto& p) { return p.find(word) != p.npos; });
    };
    EXPECT_TRUE(some("capacity") && some("bulk") && some("fraction"))
        << testing::PrintToString(problems);
}

TEST_F(FaultyAgents, OneThatNeverAnswersIsLateAndHoldsNobodyUp) {
    const Ended ended = train("silent", "silent", "async");
    expect_equal(ended, "silent");
    const Json& agent = ended.summary.at("agent");
    EXPECT_EQ(agent.at("applied"), 0);
    EXPECT_GE(agent.at("late"), 1);
    EXPECT_LT(agent.at("waited_seconds"), 0.5) << "training waited for it";
    ASSERT_FALSE(ended.decisions.empty());
    const auto late = std::ranges::count_if(ended.decisions, [](const auto& record) {
        return record.status == steer::DecisionStatus::late &&
               record.problem == "no answer within the deadline";
    });
    EXPECT_GE(late, 1);
}

/// Memory that runs out inside of a library that must not throw: the cause is told, too.
TEST_F(FaultyAgents, OneThatEndsTheProgramIsTold) {
    const Outcome outcome = steered("fatal", "fatal", "sync");
    // Both ranks have such an agent; where one is faster, the other sees it die.
    EXPECT_THAT(outcome.code, testing::AnyOf(1, 4)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rudder: error: out of memory"));
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr("terminate called")));
}

TEST_F(FaultyAgents, OneThatHoardsMemoryLeavesLessForTheBuffer) {
    plain_ = train("never", "plain-60", "async", "60").summary;
    const Ended ended = train("hoards", "hoards", "sync", "60", "256MiB", "30");
    for (const char* key : {"loss", "accuracy"})
        EXPECT_EQ(ended.summary.at(key), plain_.at(key));
    EXPECT_TRUE(results("hoards") == results("plain-60"));
    EXPECT_THAT(ended.err, HasSubstr(" of 256.0 MiB of memory are in use: the buffer has "));
    const auto rows = [](const Json& summary) {
        return summary.at("memory").at("buffer").get<double>();
    };
    EXPECT_LE(rows(ended.summary), rows(plain_) * 3 / 4);
    EXPECT_GT(rows(ended.summary), 0);
}

}  // namespace
}  // namespace rudder::test
