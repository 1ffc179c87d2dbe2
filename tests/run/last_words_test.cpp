// What is still done when a rank is ended from outside its working thread.
#include "run/last_words.hpp"

#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "core/log.hpp"

namespace rudder::run {
namespace {

int hook_calls = 0;

TEST(LastWordsOfARank, AreSpokenWhileTheyLive) {
    std::vector<std::string> heard;
    LastWords::speak(4, "before");
    {
        const LastWords words([&](int, const std::string& reason) { heard.push_back(reason); });
        EXPECT_TRUE(heard.empty());
        LastWords::speak(4, "rank 1 died");
        std::thread([] { LastWords::speak(4, "from the watchdog's thread"); }).join();
    }
    LastWords::speak(4, "after");
    EXPECT_EQ(heard, (std::vector<std::string>{"rank 1 died", "from the watchdog's thread"}));
}

TEST(LastWordsOfARank, OfOneRunAfterTheOther) {
    std::vector<int> heard;
    for (int run = 0; run < 3; ++run) {
        const LastWords words([&, run](int, const std::string&) { heard.push_back(run); });
        LastWords::speak(4, "");
    }
    EXPECT_EQ(heard, (std::vector<int>{0, 1, 2}));
}

TEST(LastWordsOfARank, TheTerminalIsClearedFirst) {
    hook_calls = 0;
    log::set_before([] { ++hook_calls; });
    int calls_then = -1;
    const LastWords words([&](int, const std::string&) { calls_then = hook_calls; });
    LastWords::speak(4, "");
    log::set_before(nullptr);
    EXPECT_EQ(calls_then, 1);
    LastWords::speak(4, "");
    EXPECT_EQ(hook_calls, 1);
}

}  // namespace
}  // namespace rudder::run
