// Ranks of links: known answers, ties, and the area against sorting all scores.
#include "train/evaluation/link_ranking.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::test {
namespace {

using train::LinkRanking;
using train::LinkScores;

TEST(LinkRanking, RanksAreKnown) {
    LinkRanking ranking;
    ranking.add(5, std::vector<float>{1, 2, 3});     // rank 1
    ranking.add(2.5, std::vector<float>{1, 2, 3});   // rank 2
    ranking.add(0, std::vector<float>{1, 2, 3, 4});  // rank 5
    const LinkScores scores = ranking.scores();
    EXPECT_EQ(scores.links, 3U);
    EXPECT_NEAR(scores.mrr, (1 + 0.5 + 0.2) / 3, 1e-9);
    EXPECT_THAT(scores.hits, testing::ElementsAre(testing::DoubleEq(1 / 3.0),
                                                  testing::DoubleEq(2 / 3.0), 1, 1, 1));
}

TEST(LinkRanking, OneScoreForAllIsInTheMiddle) {
    LinkRanking ranking;
    ranking.add(1, std::vector<float>(9, 1.F));
    EXPECT_NEAR(ranking.scores().mrr, 1 / 5.5, 1e-9);
    EXPECT_DOUBLE_EQ(ranking.scores().auc, 0.5);
    EXPECT_DOUBLE_EQ(ranking.scores().auc_error, 0.5) << "all in one bin";
}

TEST(LinkRanking, NoLinkIsNoScore) {
    const LinkScores scores = LinkRanking().scores();
    EXPECT_EQ(scores.links, 0U);
    EXPECT_EQ(scores.mrr, 0);
    EXPECT_EQ(scores.auc, 0);
}

TEST(LinkRanking, TheAreaIsThatOfSortedScores) {
    std::mt19937_64 random(3);
    std::normal_distribution<float> above(0.5F, 1);
    std::normal_distribution<float> below(-0.5F, 1);
    LinkRanking ranking;
    std::vector<float> links;
    std::vector<float> others;
    for (int i = 0; i < 500; ++i) {
        std::vector<float> beside(7);
        std::ranges::generate(beside, [&] { return below(random); });
        links.push_back(above(random));
        ranking.add(links.back(), beside);
        others.insert(others.end(), beside.begin(), beside.end());
    }
    double won = 0;
    for (const float link : links) {
        for (const float other : others)
            won += link > other ? 1 : link == other ? 0.5 : 0;
    }
    const LinkScores scores = ranking.scores();
    const double exact = won / static_cast<double>(links.size() * others.size());
    EXPECT_NEAR(scores.auc, exact, scores.auc_error);
    EXPECT_LT(scores.auc_error, 0.002);
}

TEST(LinkRanking, AnyOrderAndAnyDivisionGiveTheSame) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<float> draw(-2, 2);
    LinkRanking whole;
    std::array<LinkRanking, 3> parts;
    LinkRanking told;
    for (int i = 0; i < 300; ++i) {
        std::vector<float> beside(static_cast<std::size_t>(i % 11));
        std::ranges::generate(beside, [&] { return draw(random); });
        const float link = draw(random);
        whole.add(link, beside);
        parts[static_cast<std::size_t>(i % 3)].add(link, beside);
    }
    told.add_numbers(parts[2].numbers());
    told.add_numbers(parts[1].numbers());
    told += parts[0];
    EXPECT_EQ(told.numbers(), whole.numbers());
}

}  // namespace
}  // namespace rudder::test
