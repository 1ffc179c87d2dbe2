// The list of channels: no two talks share one, and sources name talks, not numbers.
#include "rudder/comm/channels.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace rudder::test {
namespace {

using comm::Talk;

TEST(Channels, NoneIsUsedTwice) {
    std::set<comm::Channel> used;
    for (std::size_t i = 0; i < comm::talk_widths.size(); ++i) {
        const comm::Channel first = comm::channel_of(static_cast<Talk>(i));
        ASSERT_GT(comm::talk_widths[i], 0U) << "talk " << i << " has no width";
        for (comm::Channel c = first; c < first + comm::talk_widths[i]; ++c)
            EXPECT_TRUE(used.insert(c).second) << "channel " << c << " of talk " << i;
    }
    EXPECT_EQ(*used.rbegin() + 1, comm::user_channels);
    EXPECT_LT(comm::user_channels, comm::channel_limit);
}

TEST(Channels, ServicesHaveRoomForTheirAnswers) {
    for (const Talk talk : {Talk::draws, Talk::feature_rows, Talk::even_layer_rows,
                            Talk::odd_layer_rows, Talk::predictions})
        EXPECT_EQ(comm::talk_widths[static_cast<std::size_t>(talk)], comm::service_channels);
    for (const Talk talk : {Talk::scatter, Talk::sums})
        EXPECT_EQ(comm::talk_widths[static_cast<std::size_t>(talk)], comm::reduction_channels);
}

/// A number of one's own would not be in the list, and could be another's.
TEST(Channels, SourcesTakeThemFromTheList) {
    const std::filesystem::path src = std::filesystem::path(RUDDER_SOURCE_DIR) / "src";
    int seen = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(src)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path());
        std::ostringstream text;
        text << in.rdbuf();
        EXPECT_EQ(text.str().find("user_channels"), std::string::npos) << entry.path();
        if (text.str().find("channel_of(") != std::string::npos) ++seen;
    }
    EXPECT_GE(seen, 10) << "the sources were not found";
}

}  // namespace
}  // namespace rudder::test
