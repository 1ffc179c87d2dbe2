// The buffer as a user sees it: training with any policy, traces, comparing, what is refused.
#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Buffered : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
    }
    static Words with(const std::string& verb, const Words& more) {
        Words words{verb,       "parts", "--epochs", "2",   "--batch", "20",
                    "--hidden", "16",    "--fanout", "4,6", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    Json train(const Words& more) { return ok_json(with("train", more)); }
    void refuse_train(const Words& more, std::initializer_list<std::string> said) {
        refuse(with("train", more), 2, said);
    }
};

TEST_F(Buffered, SamplesAreSharedUnlessDrawnWithReplacement) {
    const auto digest = [&](const Words& more) {
        return train(more).at("loss").at("digest").get<std::string>();
    };
    const std::string shared = digest({"--sampler", "shared"});
    EXPECT_EQ(digest({}), shared);
    EXPECT_NE(digest({"--sampler", "plain"}), shared);
    EXPECT_EQ(digest({"--with-replacement"}), digest({"--with-replacement", "--sampler", "plain"}));
    refuse_train({"--with-replacement", "--sampler", "shared"}, {"without replacement"});
    refuse_train({"--with-replacement", "--redraw", "4"}, {"redraw without shared samples"});
}

TEST_F(Buffered, DigestsAreEqualOnRanksThatShareAHostAndThatDoNot) {
    const std::string digest = train({"--policy", "none"}).at("loss").at("digest");
    const Json one = train({"--ranks", "2", "--ranks-per-host", "1"});
    const Json two = train({"--ranks", "4", "--ranks-per-host", "2"});
    const Json own = train({"--ranks", "4", "--ranks-per-host", "2", "--buffer-scope", "rank"});
    EXPECT_EQ(one.at("loss").at("digest"), digest);
    EXPECT_EQ(two.at("loss").at("digest"), digest);
    EXPECT_EQ(own.at("loss").at("digest"), digest);
    EXPECT_EQ(one.at("policy"), "window:16");
    // Two parts in one rank, or in two ranks of one host: the same rows travel.
    EXPECT_EQ(one.at("rows"), two.at("rows"));
    EXPECT_EQ(one.at("memory").at("buffer"), two.at("memory").at("buffer"));
    EXPECT_EQ(one.at("bytes").at("features"), two.at("bytes").at("features"));
    EXPECT_GT(one.at("rows").at("hit"), 0);
}

TEST_F(Buffered, ReplayOfATraceAgreesWithTheRunExactly) {
    for (const std::string policy : {"static-vip", "scored-faithful,every:2", "window:16"}) {
        SCOPED_TRACE(policy);
        const Json live = train({"--ranks", "2", "--ranks-per-host", "1", "--policy", policy,
                                 "--trace", "--out", "run", "--force"});
        const Json replayed = ok_json({"replay", "run", "--policy", policy, "--policy", "optimal"});
        const Json& rows = live.at("rows");
        EXPECT_EQ(rows.at("demand"), replayed.at(0).at("demand"));
        EXPECT_EQ(rows.at("replacement"), replayed.at(0).at("replacement"));
        EXPECT_EQ(rows.at("ahead"), replayed.at(0).at("ahead"));
        EXPECT_EQ(rows.at("hit"), replayed.at(0).at("hits"));
        EXPECT_EQ(rows.at("floor"), replayed.at(1).at("demand").get<std::uint64_t>() +
                                        replayed.at(1).at("ahead").get<std::uint64_t>() +
                                        replayed.at(1).at("replacement").get<std::uint64_t>());
    }
}

TEST_F(Buffered, CompareTrainsAllPoliciesAndFindsOneFloor) {
    const Json list = ok_json(with("compare", {"--ranks", "2", "--ranks-per-host", "1"}));
    ASSERT_EQ(list.size(), 5U);
    EXPECT_EQ(list.at(0).at("policy"), "none");
    EXPECT_EQ(list.at(4).at("policy"), "window:16");
    for (const Json& one : list) {
        EXPECT_EQ(one.at("loss").at("digest"), list.at(0).at("loss").at("digest"));
        EXPECT_EQ(one.at("accuracy"), list.at(0).at("accuracy"));
        EXPECT_GE(one.at("of_floor"), 1.0);
        const Json& rows = one.at("rows");
        EXPECT_EQ(
            (rows.at("demand").get<std::uint64_t>() + rows.at("replacement").get<std::uint64_t>() +
             rows.at("ahead").get<std::uint64_t>()) *
                one.at("row_bytes").get<std::uint64_t>(),
            one.at("bytes").at("features").get<std::uint64_t>());
        EXPECT_EQ(one.at("bytes").at("received_total"), one.at("bytes").at("sent_total"));
    }
    const std::string text = ok(with("compare", {"--policy", "none", "--policy", "lru"}));
    EXPECT_THAT(text, HasSubstr("All digests are equal"));
}

TEST_F(Buffered, RowsWithAndWithoutAnAgentStandInOneTable) {
    const std::string text = ok(with("compare", {"--policy", "none", "--policy", "window+bandit"}));
    EXPECT_THAT(text, HasSubstr("\nnone "));
    EXPECT_THAT(text, HasSubstr("\nwindow:16 + bandit "));
}

TEST_F(Buffered, RefusesWhatCannotBeMeant) {
    refuse_train({"--policy", "window:8", "--window", "4"}, {"two different windows"});
    refuse_train({"--policy", "optimal"}, {"recorded traces", "replay"});
    refuse_train({"--policy", "scored-faithful,listed"}, {"recorded trace"});
    refuse_train({"--policy", "lru,size:4"}, {"size"});
    refuse_train({"--policy", "periodic,alpha:7"}, {"alpha"});
    refuse_train({"--buffer", "-1"}, {"invalid buffer: '-1'"});
    refuse_train({"--buffer", "0.5", "--buffer-rows", "4"}, {"more than one buffer size"});
    refuse_train({"--buffer-bytes", "many"}, {"invalid buffer-bytes: 'many'"});
    refuse_train({"--buffer-bytes", "900TiB"}, {"the buffer needs", "the host has"});
    refuse_train({"--buffer-scope", "room"}, {"host, rank"});
    refuse_train({"--trace"}, {"--out"});
    refuse(with("compare", {"--policy", "magic"}), 2, {"unknown policy 'magic'"});
    refuse(with("compare", {"--policy", "lru+magic"}), 2, {"'magic'"});
    refuse(with("compare", {"--policy", "lru+"}), 2, {"agent"});
}

}  // namespace
}  // namespace rudder::test
