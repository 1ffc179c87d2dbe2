// A model with random weights in this process: every reply can be used, whatever it was asked.
#include "steer/llm/local/local_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/executor/thread_executor.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/question_pace.hpp"
#include "steer/llm/reply.hpp"
#include "steer/steered_replay.hpp"

#include "../../../buffer/random_trace.hpp"
#include "../seen.hpp"
#include "random_model.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using steer::ChatMessage;
using steer::ChatRole;
using steer::LocalModel;
using testing::HasSubstr;
using testing::Not;

constexpr auto no_deadline = LocalModel::Clock::time_point::max();

/// What models are asked, so that pieces are of use.
std::string some_prompts() {
    steer::Observation o = seen(160);
    o.history.push_back(past(144));
    return steer::system_message(some_facts()) + steer::user_message(o, 5, {}, {4000}).text +
           reply_schema(o, some_facts().built_in).dump();
}

const std::vector<std::string>& prompt_pieces() {
    static const std::vector<std::string> pieces = pieces_with(pieces_of_text(some_prompts(), 300));
    return pieces;
}

steer::SteeringModel small_model(std::uint64_t seed, std::size_t context = 4096) {
    return random_model({.layers = 1,
                         .width = 16,
                         .heads = 2,
                         .kv_heads = 1,
                         .hidden = 24,
                         .context = context,
                         .rope_base = 10000,
                         .norm_eps = 1e-5},
                        prompt_pieces(), seed);
}

std::vector<ChatMessage> question(const steer::Observation& o) {
    return {{ChatRole::system, steer::system_message(some_facts())},
            {ChatRole::user, steer::user_message(o, 5, {}, {100000}).text}};
}

TEST(LocalModel, EveryReplyCanBeUsed) {
    std::set<std::string> texts;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        LocalModel model(small_model(seed), 0, 256);
        for (std::uint64_t step = 16; step <= 128; step += 16) {
            steer::Observation o = seen(step);
            o.takes_decisions = step % 32 == 0;
            const Json schema = reply_schema(o, some_facts().built_in);
            const std::string text = model.chat(question(o), schema, no_deadline);
            EXPECT_NO_THROW(static_cast<void>(parse_reply(text, schema, o, "it"))) << text;
            texts.insert(text);
        }
    }
    EXPECT_GT(texts.size(), 8U) << "different models say different things";
}

TEST(LocalModel, WhatWasReadBeforeChangesNoReply) {
    LocalModel kept(small_model(3), 0, 256);
    std::uint64_t computed = 0;
    for (std::uint64_t step = 16; step <= 160; step += 16) {
        const steer::Observation o = seen(step);
        const Json schema = reply_schema(o, some_facts().built_in);
        LocalModel fresh(small_model(3), 0, 256);
        EXPECT_EQ(kept.chat(question(o), schema, no_deadline),
                  fresh.chat(question(o), schema, no_deadline));
        computed += fresh.counts().read;
        EXPECT_EQ(fresh.counts().kept, 0U);
    }
    EXPECT_EQ(kept.counts().read + kept.counts().kept, computed);
    EXPECT_GT(kept.counts().kept, 2 * kept.counts().read) << "the first message is read once";
    EXPECT_THAT(kept.work(), HasSubstr(std::to_string(kept.counts().kept) + " more kept"));
}

TEST(LocalModel, EndsWhenItIsToldTo) {
    const steer::Observation o = seen(16);
    const Json schema = reply_schema(o, some_facts().built_in);
    LocalModel late(small_model(1), 0, 256);
    EXPECT_THAT(refusal_of([&] { (void)late.chat(question(o), schema, {}); }).problem,
                HasSubstr("deadline"));
    EXPECT_FALSE(late.chat(question(o), schema, no_deadline).empty()) << "the next one is answered";
    late.cancel();
    EXPECT_THROW((void)late.chat(question(o), schema, no_deadline), Error);
    LocalModel narrow(small_model(1, 600), 0, 256);
    EXPECT_THAT(refusal_of([&] { (void)narrow.chat(question(o), schema, no_deadline); }).problem,
                HasSubstr("more than the context of 600"));
    LocalModel brief(small_model(1), 0, 10);
    EXPECT_THAT(refusal_of([&] { (void)brief.chat(question(o), schema, no_deadline); }).problem,
                HasSubstr("may need 17 tokens"));
}

/// The agent, with a model file of its own.
class LocalAgent : public testing::Test {
protected:
    std::string spec(steer::SteeringModel model, const std::string& more = {}) {
        write_model(file_, model);
        return "llm,file:" + file_.string() + more;
    }
    static std::unique_ptr<steer::Agent> make(const std::string& text,
                                              const steer::AgentFacts& facts = some_facts()) {
        return steer::make_agent(steer::AgentSpec::parse(text), facts);
    }
    /// The words and the exit code of what keeps it from being made.
    static Refusal refused(const std::string& text, const steer::AgentFacts& facts = some_facts()) {
        return refusal_of([&] { (void)make(text, facts); });
    }

    TempDir folder_;
    std::filesystem::path file_ = folder_ / "tiny.safetensors";
};

TEST_F(LocalAgent, DecidesAndSaysWhatItDid) {
    const auto agent = make(spec(small_model(5), ",interval:8"));
    EXPECT_EQ(agent->interval(), 8U);
    EXPECT_EQ(agent->learned(), "");
    for (std::uint64_t step = 16; step <= 64; step += 16)
        EXPECT_EQ(problem_of(*agent, seen(step)), "");
    EXPECT_EQ(agent->interval(), 8U) << "asked by plain calls: nothing goes by the clock";
    EXPECT_THAT(agent->learned(),
                HasSubstr("tiny.safetensors (0.01 M parameters, in this process) was asked 4 times "
                          "and answered 4, in "));
    EXPECT_THAT(agent->learned(), HasSubstr(" tokens read, "));
    EXPECT_THAT(agent->learned(), HasSubstr(" written"));
    EXPECT_THAT(agent->learned(), Not(HasSubstr("did not fit")));
    const auto faithful = make(spec(small_model(5), ",faithful,tokens:400"));
    for (std::uint64_t step = 16; step <= 64; step += 16)
        EXPECT_EQ(problem_of(*faithful, seen(step)), "");
}

TEST_F(LocalAgent, OldestDecisionsAreLeftOutByTheModelsOwnCount) {
    const LocalModel counts(small_model(5), 0, 256);
    const std::uint64_t first = counts.tokens(steer::system_message(some_facts()));
    steer::Observation o = seen(1600);
    const std::uint64_t bare = counts.tokens(steer::user_message(o, 0, {}, {100000}).text);
    for (std::uint64_t step = 16; step <= 1584; step += 16)
        o.history.push_back(past(step));
    const std::uint64_t line = counts.tokens(steer::history_line(o.history.back()));
    // Room for some of a hundred past decisions.
    const std::size_t context = first + bare + 256 + 600 + 8 * line;
    const auto agent = make(spec(small_model(5, context), ",history:100"));
    EXPECT_EQ(problem_of(*agent, o), "");
    const std::string said = agent->learned();
    const std::size_t at = said.find(" past decisions did not fit into its context of ");
    ASSERT_NE(at, std::string::npos) << said;
    const int left_out = std::stoi(said.substr(said.rfind(' ', at - 1)));
    EXPECT_LT(left_out, 92);
    EXPECT_GT(left_out, 10);
}

TEST_F(LocalAgent, WhatIsForServersIsWrongUse) {
    const std::string good = spec(small_model(1));
    for (const char* more : {",model:a", ",url:http://127.0.0.1:1", ",api:openai", ",insecure",
                             ",seed:3", ",temperature:0.5"}) {
        const Refusal refusal = refused(good + more);
        EXPECT_EQ(refusal.kind, ErrorKind::usage) << more;
        EXPECT_THAT(refusal.problem, HasSubstr("is for servers")) << more;
    }
    EXPECT_NO_THROW((void)make(good + ",temperature:0"));
    for (const steer::LlmOptions& options :
         {steer::LlmOptions{.url = "http://127.0.0.1:1"}, steer::LlmOptions{.model = "a"},
          steer::LlmOptions{.api = steer::LlmApi::ollama}, steer::LlmOptions{.insecure = true}}) {
        steer::AgentFacts facts = some_facts();
        facts.llm = options;
        EXPECT_EQ(refused(good, facts).kind, ErrorKind::usage);
        EXPECT_THAT(refused(good, facts).problem, HasSubstr("'--llm-"));
    }
    EXPECT_THAT(refused("llm,url:http://127.0.0.1:1,share:0.1").problem, HasSubstr("'share'"));
    EXPECT_THAT(refused(good + ",context:100000").problem, HasSubstr("above the model's 4096"));
    EXPECT_THAT(refused(good + ",tokens:16").problem, HasSubstr("a reply may need 17"));
    EXPECT_THAT(refused(spec(small_model(1, 900))).problem,
                HasSubstr("a context of 900 tokens is too short for the prompt"));
    EXPECT_EQ(refused("llm,file:" + (folder_ / "none").string()).kind, ErrorKind::input);
    std::ofstream(file_) << "no model at all, but long enough";
    EXPECT_EQ(refused("llm,file:" + file_.string()).kind, ErrorKind::input);
}

TEST_F(LocalAgent, SteersAReplayWithoutOneInvalidReply) {
    buffer::Trace trace;
    trace.push_back(random_trace(4, {.vertices = 400, .steps = 600, .largest_step = 60}).host());
    std::uint64_t decisions = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const std::string agent = spec(small_model(seed), ",interval:6");
        const auto run = [&](const std::string& text) {
            steer::SteeredOptions options;
            options.sample = 1;
            return steer::steered_replay(trace,
                                         {.policy = buffer::PolicySpec::parse("scored"),
                                          .size = {.fraction = 0.25, .rows = 0},
                                          .agent = steer::AgentSpec::parse(text)},
                                         options);
        };
        const steer::SteeredResult result = run(agent);
        EXPECT_EQ(result.agent.invalid, 0U);
        EXPECT_EQ(result.agent.late, 0U);
        EXPECT_GT(result.agent.decisions, 30U);
        decisions += result.agent.decisions;
        ASSERT_EQ(result.learned.size(), 1U);
        EXPECT_THAT(result.learned[0], HasSubstr("in this process"));
        EXPECT_EQ(run(agent).rows, result.rows) << "the same questions get the same answers";
    }
    EXPECT_GT(decisions, 100U);
}

TEST(QuestionPace, AnswersTakeAtMostTheirShareOfTheRun) {
    for (const double cost : {0.001, 0.03, 0.7}) {
        for (const double step_seconds : {0.0002, 0.05, 2.0}) {
            steer::QuestionPace pace(4, 0.02);
            double spent = 0;
            std::uint64_t asked = 0;
            std::uint64_t last = 0;
            std::uint64_t longest = 0;
            for (std::uint64_t step = 4; step < 4000000 && asked < 20; ++step) {
                const double now = step_seconds * static_cast<double>(step);
                if (step < last + pace.interval(now)) continue;
                spent += cost;
                pace.answered(cost);
                // What the first one takes nobody knows before.
                if (asked++ > 0) {
                    EXPECT_LE(spent, 0.02 * now + 1e-9);
                    longest = step - last;
                }
                last = step;
            }
            EXPECT_EQ(asked, 20U);
            const double due = cost / (0.02 * step_seconds);
            EXPECT_LE(static_cast<double>(longest), std::max(4.0, due + 2)) << "and no less often";
        }
    }
    steer::QuestionPace free(4, 1);
    free.answered(100);
    EXPECT_EQ(free.interval(0), 4U) << "a share of 1 bounds nothing";
    steer::QuestionPace bound(4, 0.5);
    EXPECT_EQ(bound.interval(0), 4U);
    bound.answered(1);
    EXPECT_EQ(bound.interval(3.9), steer::QuestionPace::not_yet);
    EXPECT_EQ(bound.interval(4), 4U);
    EXPECT_EQ(bound.interval(4, 0.01), steer::QuestionPace::not_yet)
        << "shadows count as answers do";
}

/// A run of so many steps with an agent that has shadows: what it spends in all, and its questions.
struct PacedRun {
    double spent = 0;
    double seconds = 0;
    std::uint64_t asked = 0;
    std::uint64_t unseen =
        0;                   ///< asked before shadows had run for two windows, the first one apart
    double least_gap = 1e9;  ///< windows between questions

    PacedRun(double share, double step_seconds, double answer, double shadow_step,
             std::uint64_t steps) {
        using Turn = steer::QuestionPace::Turn;
        steer::QuestionPace pace(16, share, true);
        double shadows = 0;
        double answers = 0;
        std::uint64_t since = 0;  ///< step at which shadows began; 0: they rest
        std::uint64_t last = 0;
        std::uint64_t last_asked = 0;
        for (std::uint64_t step = 1; step <= steps; ++step) {
            seconds = step_seconds * static_cast<double>(step);
            if (since != 0) shadows += shadow_step;
            if (step >= last + pace.interval(seconds, shadows)) {
                last = step;
                const Turn turn = pace.turn(seconds, shadows);
                if (turn == Turn::begin) since = step;
                if (turn == Turn::rest) since = 0;
                if (turn == Turn::ask) {
                    if (asked > 0) {
                        unseen += since == 0 || step < since + 32 ? 1U : 0U;
                        least_gap =
                            std::min(least_gap, static_cast<double>(step - last_asked) / 16);
                    }
                    last_asked = step;
                    ++asked;
                    answers += answer;
                    pace.answered(answer);
                    if (pace.rests(seconds, shadows)) {
                        since = 0;
                    } else if (since == 0) {
                        since = step;
                    }
                }
            }
            spent = answers + shadows;
        }
    }
};

TEST(QuestionPace, ShadowsRestWhereTheirWorkWouldExceedTheShare) {
    for (const double step_seconds : {0.001, 0.025}) {
        for (const double answer : {0.0005, 0.005}) {
            for (const double shadow : {1e-6, 2e-5, 0.0006}) {
                const PacedRun run(0.02, step_seconds, answer, shadow, 200'000);
                EXPECT_LE(run.spent, 0.02 * run.seconds * 1.05 + 2 * answer + 32 * shadow)
                    << step_seconds << ' ' << answer << ' ' << shadow;
                EXPECT_EQ(run.unseen, 0U);
                // What it may spend is spent, if questions every 16 steps would take as much.
                const double all = 200'000 * (shadow + answer / 16);
                EXPECT_GE(run.spent, 0.5 * std::min(0.02 * run.seconds, all));
                EXPECT_GT(run.asked, 10U);
            }
        }
    }
    // Where all of it is affordable, nothing rests, and questions come as often as asked for.
    const PacedRun cheap(0.02, 0.1, 0.001, 1e-6, 10'000);
    EXPECT_EQ(cheap.least_gap, 1);
    EXPECT_GT(cheap.asked, 500U);
}

}  // namespace
}  // namespace rudder::test
