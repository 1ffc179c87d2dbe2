// The golden traces: every figure of an independent program, exactly.
#include <filesystem>

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/buffer/replay.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

fs::path golden() {
    return fs::path(RUDDER_SOURCE_DIR) / "tests" / "data" / "golden";
}

class Golden : public testing::TestWithParam<const char*> {
protected:
    Golden() : trace_(buffer::read_trace(golden() / (std::string(GetParam()) + ".npz"))) {}
    buffer::Trace trace_;
};

TEST_P(Golden, EveryFigureExactly) {
    const Json expected = read_json(golden() / "expected.json").at(GetParam());
    ASSERT_GE(expected.size(), 20U);
    std::vector<buffer::ReplayCase> cases;
    for (const Json& row : expected) {
        const auto text = row.at("policy").get<std::string>();
        cases.push_back({buffer::PolicySpec::parse(text), {row.at("fraction").get<double>(), 0}});
        EXPECT_EQ(cases.back().policy.text(), text);
    }
    const auto results = buffer::replay(trace_, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(expected[i].dump());
        EXPECT_EQ(results[i].capacity, expected[i].at("capacity").get<std::uint64_t>());
        EXPECT_EQ(results[i].rows.demand, expected[i].at("demand").get<std::uint64_t>());
        EXPECT_EQ(results[i].rows.replacement, expected[i].at("replacement").get<std::uint64_t>());
        EXPECT_EQ(results[i].rows.ahead, 0U);
        EXPECT_EQ(results[i].rows.hit + results[i].rows.demand, results[i].rows.needed);
    }
}

TEST_P(Golden, WindowIsWithinTwoPercentOfTheFloor) {
    for (const double fraction : {0.05, 0.25}) {
        const buffer::BufferSize size{fraction, 0};
        const std::vector<buffer::ReplayCase> cases{
            {buffer::PolicySpec::parse("optimal"), size},
            {buffer::PolicySpec::parse("window:16"), size},
            {buffer::PolicySpec::parse("window:16,distance:0"), size},
            {buffer::PolicySpec::parse("window:16,distance:4"), size},
            {buffer::PolicySpec::parse("window:1000000"), size}};
        const auto results = buffer::replay(trace_, cases);
        const auto floor = static_cast<double>(results[0].rows.fetched());
        for (std::size_t i = 1; i < cases.size(); ++i) {
            SCOPED_TRACE(cases[i].policy.text());
            EXPECT_GE(results[i].rows.fetched(), results[0].rows.fetched());
            EXPECT_LE(static_cast<double>(results[i].rows.fetched()), 1.02 * floor);
            EXPECT_EQ(results[i].rows.replacement, 0U);
            EXPECT_EQ(results[i].rows.wasted, 0U);
        }
        EXPECT_EQ(results[4].rows.fetched(), results[0].rows.fetched());
    }
}

INSTANTIATE_TEST_SUITE_P(Traces, Golden, testing::Values("debian_500", "physics_500", "npm_1000"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rudder::test
