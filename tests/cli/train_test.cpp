// Training as a user sees it: codes, messages, files, and the same digest however it is started.
#include <fstream>
#include <numeric>

#include <fmt/format.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class Train : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
    }

    /// A short run; what `train --json` prints.
    Json train(const Words& more) {
        Words words{"train",    "parts", "--epochs", "2",   "--batch", "40",
                    "--hidden", "16",    "--fanout", "4,6", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return ok_json(words);
    }
    static std::string digest(const Json& summary) { return summary.at("loss").at("digest"); }

    static std::uint64_t sum_of_kinds(const Json& bytes) {
        std::uint64_t sum = 0;
        for (const char* kind :
             {"features", "requests", "topology", "gradients", "evaluation", "control"}) {
            sum += bytes.at(kind).get<std::uint64_t>();
        }
        return sum;
    }
    static void expect_closed(const Json& s) {
        const Json& rows = s.at("rows");
        const auto row = [&](const char* key) { return rows.at(key).get<std::uint64_t>(); };
        EXPECT_EQ(row("needed"), row("local") + row("hit") + row("demand"));
        const Json& bytes = s.at("bytes");
        const Json& coding = s.at("coding");
        EXPECT_EQ((row("demand") + row("replacement") + row("ahead")) *
                      s.at("row_bytes").get<std::uint64_t>(),
                  (coding.is_null() ? bytes.at("features") : coding.at("features").at("plain"))
                      .get<std::uint64_t>());
        if (!coding.is_null()) {
            EXPECT_EQ(coding.at("features").at("travelled"), bytes.at("features"));
        }
        EXPECT_EQ(sum_of_kinds(bytes), bytes.at("received_total").get<std::uint64_t>());
        EXPECT_EQ(bytes.at("received_total"), bytes.at("sent_total"));
    }
};

TEST_F(Train, SummaryHasEveryKeyOfTheDesign) {
    const Json s = train({"--out", "run"});
    EXPECT_EQ(s.at("schema"), 1);
    for (const char* key : {"version", "ranks", "hosts", "seed", "epochs", "steps"})
        EXPECT_TRUE(s.contains(key)) << key;
    EXPECT_EQ(s.at("evaluations"), s.at("epochs"));
    EXPECT_EQ(s.at("eval_every"), 1);
    for (const char* set : {"train", "valid", "test"}) {
        EXPECT_TRUE(s.at("accuracy").at(set).is_number()) << set;
        EXPECT_TRUE(s.at("accuracy_last").at(set).is_number()) << set;
    }
    for (const char* key :
         {"total", "epoch", "sample", "fetch", "stall", "compute", "reduce", "cpu"})
        EXPECT_TRUE(s.at("seconds").at(key).is_number()) << key;
    const auto seconds = [&](const char* key) { return s.at("seconds").at(key).get<double>(); };
    const double waits = seconds("wait_rows") + seconds("wait_gradients") + seconds("wait_ranks") +
                         seconds("wait_agent");
    EXPECT_NEAR(waits, seconds("stall") + seconds("reduce"), 1e-6);
    EXPECT_GE(seconds("wait_rows") + seconds("wait_agent") + 1e-9, seconds("stall"));
    EXPECT_NEAR(seconds("compute") + waits + seconds("rest"), seconds("step"), 1e-6);
    for (const char* key :
         {"needed", "local", "hit", "demand", "replacement", "ahead", "wasted", "saved", "floor"}) {
        EXPECT_TRUE(s.at("rows").contains(key)) << key;
    }
    for (const char* key : {"name", "decisions", "applied", "late", "invalid", "correct", "regret"})
        EXPECT_TRUE(s.at("agent").contains(key)) << key;
    for (const char* key : {"peak_rss", "buffer", "in_flight"})
        EXPECT_TRUE(s.at("memory").contains(key)) << key;
    expect_closed(s);
    auto names = names_in(folder_ / "run");
    EXPECT_EQ(std::erase_if(names, [](const auto& n) { return n.starts_with("events.out."); }), 1U);
    EXPECT_EQ(names, (std::set<std::string>{"checkpoints", "config.toml", "epochs.jsonl",
                                            "metrics.jsonl", "run.json", "summary.json"}));
    EXPECT_EQ(read_json(folder_ / "run/summary.json"), s);
}

TEST_F(Train, MetricsHaveALinePerStepAndRank) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json s = train({"--ranks", "2", "--ranks-per-host", "1", "--out", "run"});
    std::ifstream in(folder_ / "run/metrics.jsonl");
    std::uint64_t lines = 0;
    std::uint64_t demand = 0;
    for (std::string text; std::getline(in, text); ++lines) {
        const Json line = parse_json(text, "metrics.jsonl");
        EXPECT_EQ(line.at("step"), lines / 2);
        EXPECT_EQ(line.at("rank"), lines % 2);
        for (const char* key :
             {"epoch", "loss", "seconds", "rows", "bytes", "bytes_by_owner", "knobs"})
            EXPECT_TRUE(line.contains(key)) << key;
        EXPECT_EQ(line.at("bytes_by_owner").size(), 2U);
        demand += line.at("rows").at("demand").get<std::uint64_t>();
    }
    EXPECT_EQ(lines, s.at("steps").get<std::uint64_t>() * 2);
    EXPECT_EQ(demand, s.at("rows").at("demand").get<std::uint64_t>());
    EXPECT_GT(demand, 0U);
}

TEST_F(Train, TheDigestIsTheSameHoweverItIsStarted) {
    const std::string alone = digest(train({}));
    EXPECT_EQ(digest(train({"--threads", "1"})), alone);
    EXPECT_EQ(digest(train({"--threads", "4", "--window", "1"})), alone);
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    for (const Words& how :
         {Words{"--ranks", "4"}, Words{"--ranks", "2", "--topology", "partitioned"},
          Words{"--ranks", "4", "--ranks-per-host", "1", "--topology", "partitioned"},
          Words{"--ranks", "4", "--link", "100us,1gbit", "--in-flight", "3", "--paranoid"},
          Words{"--ranks", "4", "--ranks-per-host", "1", "--coding", "off"},
          Words{"--ranks", "2", "--link", "100us,100mbit", "--coding", "auto", "--topology",
                "partitioned"},
          Words{"--ranks", "4", "--ranks-per-host", "1", "--coding", "auto"}}) {
        const Json s = train(how);
        EXPECT_EQ(digest(s), alone) << testing::PrintToString(how);
        expect_closed(s);
    }
}

TEST_F(Train, CodedMessagesAreShorterOnASlowLink) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Words slow{"--ranks", "2", "--link", "100us,10mbit"};
    const Json plain = train(slow);
    EXPECT_TRUE(plain.at("coding").is_null());
    Words words = slow;
    words.insert(words.end(), {"--coding", "auto", "--out", "run"});
    const Json coded = train(words);
    EXPECT_EQ(digest(coded), digest(plain));
    expect_closed(coded);
    const Json& gradients = coded.at("coding").at("gradients");
    EXPECT_GT(gradients.at("coded").get<std::uint64_t>(), 0U);
    EXPECT_LT(gradients.at("travelled").get<std::uint64_t>(),
              gradients.at("plain").get<std::uint64_t>());
    EXPECT_EQ(gradients.at("plain"), plain.at("bytes").at("gradients"));
    EXPECT_EQ(gradients.at("travelled"), coded.at("bytes").at("gradients"));
    ok({"report", "run", "--quiet"});
    EXPECT_THAT(bytes_of(folder_ / "run/report.html"), HasSubstr("Coded, they took"));
    const Json plan = ok_json(
        {"train", "parts", "--plan", "--ranks", "2", "--link", "100us,10mbit", "--coding", "auto"});
    EXPECT_EQ(plan.at("epoch").at("before_coding"), true);
}

TEST_F(Train, ALinkThatChangesIsFeltFromItsStepOn) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json same = train({"--ranks", "2", "--ranks-per-host", "1", "--policy", "none"});
    const Json s = train({"--ranks", "2", "--ranks-per-host", "1", "--policy", "none", "--out",
                          "run", "--link", "1ms,1gbit;step:4:60ms,1gbit"});
    EXPECT_EQ(digest(s), digest(same));
    double before = 1e9;
    double after = 1e9;
    std::ifstream in(folder_ / "run/metrics.jsonl");
    for (std::string line; std::getline(in, line);) {
        const Json record = parse_json(line, "metrics");
        const double seconds = record.at("seconds").at("step");
        const auto step = record.at("step").get<std::uint64_t>();
        if (step < 4) before = std::min(before, seconds);
        if (step > 4) after = std::min(after, seconds);
    }
    EXPECT_LT(before, 0.06);
    EXPECT_GE(after, 0.06) << "every step fetches and sums up: 60 ms at least";
    for (const char* link : {"1ms,1gbit;step:4", "1ms;step:4:1ms,1gbit"})
        refuse({"train", "parts", "--ranks", "2", "--link", link}, 2, {"--link"});
}

/// The shortest step of a kind says how long it takes at least: other work on the machine only
/// adds.
TEST_F(Train, ARankCanBeMadeSlow) {
    const auto train_in_many_steps = [&](const Words& more) {
        Words words{"train", "parts",    "--epochs", "2",      "--batch",
                    "10",    "--hidden", "16",       "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return ok_json(words);
    };
    const Json plain = train_in_many_steps({});
    const auto shortest = [&](const std::string& slow, std::uint64_t from, std::uint64_t to) {
        const Json s = train_in_many_steps({"--out", "run", "--force", "--slow", slow});
        EXPECT_EQ(digest(s), digest(plain)) << slow;
        std::pair<double, double> found{1e9, 1e9};  // of these steps, and of the others
        std::ifstream in(folder_ / "run/metrics.jsonl");
        for (std::string line; std::getline(in, line);) {
            const Json record = parse_json(line, "metrics");
            const auto step = record.at("step").get<std::uint64_t>();
            double& seconds = step >= from && step < to ? found.first : found.second;
            seconds = std::min(seconds, record.at("seconds").at("compute").get<double>());
        }
        return found;
    };
    const auto [slowed, others] = shortest("0:40:8-16", 8, 16);
    EXPECT_GT(slowed, 5 * others);
    const auto [same, rest] = shortest("3:40:8-16", 8, 16);
    EXPECT_LT(same, 5 * rest) << "there is no such rank";
    for (const char* text : {"0", "0:0.5", "0:x", "x:2", "0:2:5", "0:2:9-3", "0:2:1-2:3", "0:1e9"})
        refuse({"train", "parts", "--slow", text}, 2, {"invalid slow", "RANK:FACTOR"});
}

TEST_F(Train, ConfigOfARunMakesItAgain) {
    const Json first = train({"--out", "run"});
    const Json again = ok_json({"train", "parts", "--config", "run/config.toml", "--out", "again"});
    EXPECT_EQ(digest(again), digest(first));
}

TEST_F(Train, PlanPrintsMemoryAndTrafficAndStops) {
    const Json plan = ok_json({"train", "parts", "--plan", "--out", "run"});
    EXPECT_GT(plan.at("memory").at("needed").get<std::uint64_t>(), 0U);
    EXPECT_EQ(plan.at("epoch").at("remote_rows"), 0);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    EXPECT_GT(plan.at("bytes").at("per_edge").get<double>(), 4);
    const std::string text = ok({"train", "parts", "--plan"});
    for (const char* words : {"traffic per epoch", "bytes for each of", "remote rows", "edges"})
        EXPECT_THAT(text, HasSubstr(words));
}

TEST_F(Train, ALinePerEpochAndWhereTheTimeWent) {
    const std::string text =
        ok({"train", "parts", "--epochs", "2", "--hidden", "8", "--batch", "50"});
    for (const char* words : {"epoch 1/2", "epoch 2/2", "accuracy", "digest", "computing", "rest"})
        EXPECT_THAT(text, HasSubstr(words));
}

TEST_F(Train, EvaluationsAsOftenAsAsked) {
    const Json some = train({"--eval-every", "2"});
    EXPECT_EQ(some.at("evaluations"), 1);
    EXPECT_EQ(some.at("eval_every"), 2);
    const Json none = train({"--eval-every", "0"});
    EXPECT_EQ(none.at("evaluations"), 0);
    EXPECT_EQ(none.at("eval_every"), 0);
    EXPECT_TRUE(none.at("accuracy").at("test").is_null());
    const Json paced = train({"--eval-every", "auto"});
    EXPECT_EQ(paced.at("evaluations"), 2);
    EXPECT_TRUE(paced.at("accuracy_last").at("test").is_number());
    EXPECT_THAT(ok({"train", "parts", "--epochs", "5", "--hidden", "8", "--eval-every", "3"}),
                HasSubstr("2 of 5 epochs, lately every 3"));
    EXPECT_THAT(ok({"train", "parts", "--print-config"}), HasSubstr("eval-every = 'auto'"));
    for (const char* wrong : {"often", "-1", "1.5", ""})
        refuse({"train", "parts", "--eval-every", wrong}, 2, {"eval-every", "or auto"});
}

TEST_F(Train, WrongUseIsRefused) {
    refuse({"train", "parts", "--model", "sag"}, 2, {"unknown model 'sag'", "sage"});
    refuse({"train", "parts", "--policy", "magic"}, 2, {"unknown policy 'magic'", "none"});
    refuse({"train", "parts", "--precision", "float8"}, 2, {"float8", "bfloat16"});
    refuse({"train", "parts", "--topology", "ring"}, 2, {"ring", "replicated"});
    refuse({"train", "parts", "--seed-order", "odd"}, 2, {"odd", "clustered"});
    refuse({"train", "parts", "--optimizer", "lion"}, 2, {"lion", "adamw"});
    refuse({"train", "parts", "--lr-schedule", "zigzag"}, 2, {"zigzag", "cosine"});
    refuse({"train", "parts", "--fanout", "0,25"}, 2, {"invalid fanout: '0'", "--fanout"});
    refuse({"train", "parts", "--fanout", "5,5", "--layers", "3"}, 2, {"2 fan-outs for 3 layers"});
    refuse({"train", "parts", "--batch", "0"}, 2, {"--batch"});
    refuse({"train", "parts", "--memory", "12parsec"}, 2, {"12parsec", "8GiB"});
    refuse({"train", "parts", "--memory", "1k"}, 2, {"exact inference needs", "--memory"});
    refuse({"train", "parts", "--memory", "1k", "--eval", "sampled"}, 2,
           {"more than the limit of"});
    refuse({"train", "parts", "--link", "100us"}, 2, {"--link"});
    refuse({"train", "parts", "--link", "100us,1gbat"}, 2, {"gbat"});
    refuse({"train", "parts", "--dropout", "1"}, 2, {"--dropout"});
    refuse({"train", "parts", "--ranks", "3"}, 2, {"3 ranks cannot share 4 parts", "1, 2, 4"});
    refuse({"train", "parts", "--epoch", "3"}, 2, {"unknown option '--epoch'", "--epochs"});
    write("there/file", "");
    refuse({"train", "parts", "--out", "there"}, 2, {"exists already", "--force"});
}

TEST_F(Train, BadDataIsRefused) {
    refuse({"train", "nowhere"}, 3, {"nowhere"});
    refuse({"train", "graph"}, 3, {"graph"});
    ok({"generate", "rmat", "bare", "--vertices", "64"});
    ok({"partition", "bare", "bare-parts", "--parts", "1"});
    refuse({"train", "bare-parts"}, 3, {"no"});
}

TEST_F(Train, ACorruptPartOnOneRankIsNamedByAll) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const auto part = folder_ / "parts/part-00002";
    // One flipped bit in the middle of an array.
    for (const auto& entry : std::filesystem::directory_iterator(part)) {
        if (entry.path().filename().string().find("neighbours") == std::string::npos) continue;
        std::string bytes = bytes_of(entry.path());
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        std::ofstream(entry.path(), std::ios::binary) << bytes;
    }
    const Outcome outcome = rudder({"train", "parts", "--ranks", "4", "--quiet"}, here());
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 2"));
    EXPECT_THAT(outcome.err, HasSubstr("part-00002"));
    std::filesystem::remove_all(part);
    const Outcome missing = rudder({"train", "parts", "--ranks", "4", "--quiet"}, here());
    EXPECT_EQ(missing.code, 3) << missing.err;
    EXPECT_THAT(missing.err, HasSubstr("rank 2"));
    EXPECT_THAT(missing.err, HasSubstr("part-00002"));
}

TEST_F(Train, ABrokenLossStopsWithOneAndNamesStepAndRank) {
    const Outcome alone =
        rudder({"train", "parts", "--optimizer", "sgd", "--lr", "1e30", "--quiet", "--hidden", "8"},
               here());
    EXPECT_EQ(alone.code, 1);
    EXPECT_THAT(alone.err, HasSubstr("NaN or infinite at step"));
    EXPECT_THAT(alone.err, HasSubstr("rank 0"));
}

TEST_F(Train, InterruptStopsCleanlyWithFive) {
    const auto interrupt = [&](const std::string& out, const Words& how) {
        RunOptions options = here();
        options.after = [&](pid_t pid) {
            // Once the first lines are there, training is under way.
            const auto metrics = folder_ / out / "metrics.jsonl";
            for (int i = 0; i < 600; ++i) {
                std::error_code code;
                if (std::filesystem::file_size(metrics, code) > 0 && !code) break;
                ::usleep(50'000);
            }
            ::kill(pid, SIGINT);
        };
        Words words{"train",    "parts", "--epochs", "100000", "--batch", "50",
                    "--hidden", "8",     "--out",    out,      "--quiet"};
        words.insert(words.end(), how.begin(), how.end());
        const Outcome outcome = rudder(words, options);
        EXPECT_EQ(outcome.code, 5) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(folder_ / out / "summary.json"));
        const std::string metrics = bytes_of(folder_ / out / "metrics.jsonl");
        EXPECT_EQ(metrics.back(), '\n');
    };
    interrupt("alone", {});
    if (no_mpirun().empty()) interrupt("ranks", {"--ranks", "2"});
}

}  // namespace
}  // namespace rudder::test
