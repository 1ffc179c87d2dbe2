// Interrupts in the middle: exit code 5, nothing left, and the next run works.
#include <csignal>
#include <optional>
#include <thread>

#include "comm/process_handle.hpp"
#include "partition/metis_partitioner.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

class Interrupt : public CliTest, public testing::WithParamInterface<int> {
protected:
    /// Whether something hidden, an output under construction, is in the folder.
    [[nodiscard]] bool under_way() const {
        for (const std::string& name : names_in(folder_.path())) {
            if (name.starts_with('.')) return true;
        }
        return false;
    }

    /// Runs, sends the signal a while after the output was begun, and expects the folder as before.
    void interrupt(const Words& arguments, std::chrono::milliseconds pause) {
        const auto before = names_in(folder_.path());
        RunOptions options = here();
        bool sent = false;
        options.after = [&](pid_t child) {
            for (int i = 0; i < 5000 && !under_way(); ++i)
                std::this_thread::sleep_for(2ms);
            std::this_thread::sleep_for(pause);
            sent = under_way();
            ::kill(child, GetParam());
        };
        const Outcome outcome = rudder(arguments, options);
        ASSERT_TRUE(sent) << "it ended before the signal\n" << outcome.err;
        EXPECT_EQ(outcome.code, 5) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
        EXPECT_EQ(names_in(folder_.path()), before);
    }
};

TEST_P(Interrupt, GenerateOfALargeGraph) {
    interrupt({"generate", "rmat", "out", "--vertices", "2000000", "--features", "random:64"},
              300ms);
    ok({"generate", "rmat", "out", "--vertices", "1000"});
    ok({"info", "out", "--check"});
}

TEST_P(Interrupt, ImportOfALargeFile) {
    write("zeros.u32", "");
    std::filesystem::resize_file(folder_ / "zeros.u32", 1ULL << 30);  // a hole
    interrupt({"import", "zeros.u32", "out"}, 100ms);
    write("small.u32", raw<std::uint32_t>({0, 1, 1, 2}));
    ok({"import", "small.u32", "out"});
    ok({"info", "out", "--check"});
}

TEST_P(Interrupt, PartitionWithMetis) {
    if (!partition::metis_has_processes && GetParam() == SIGTERM)
        GTEST_SKIP() << "under sanitizers METIS is called in the program, and takes SIGTERM itself";
    ok({"generate", "rmat", "data", "--vertices", "130000"});
    interrupt({"partition", "data", "out", "--parts", "8"}, 300ms);
    ok({"partition", "data", "out", "--parts", "8", "--method", "hash"});
    ok({"info", "out"});
}

/// A process that this one has started; none: there is none yet.
std::optional<comm::ProcessHandle> child_of(pid_t parent) {
    std::error_code code;
    const std::filesystem::path tasks = "/proc/" + std::to_string(parent) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, code)) {
        std::ifstream in(task.path() / "children");
        pid_t child = 0;
        if (in >> child) return comm::ProcessHandle::open(child);
    }
    return std::nullopt;
}

using KilledPartition = CliTest;
TEST_F(KilledPartition, TakesTheProcessOfMetisWithIt) {
    if (!partition::metis_has_processes)
        GTEST_SKIP() << "under sanitizers METIS is called in the program";
    ok({"generate", "rmat", "data", "--vertices", "130000"});
    std::optional<comm::ProcessHandle> metis;
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        for (int i = 0; i < 5000 && !metis; ++i) {
            std::this_thread::sleep_for(2ms);
            metis = child_of(pid);
        }
        ASSERT_TRUE(metis) << "METIS never began";
        EXPECT_FALSE(metis->ended());
        ::kill(pid, SIGKILL);
    };
    const Outcome outcome = rudder({"partition", "data", "out", "--parts", "8"}, options);
    EXPECT_EQ(outcome.signal, SIGKILL);
    ASSERT_TRUE(metis);
    for (int i = 0; i < 1000 && !metis->ended(); ++i)
        std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(metis->ended());
    metis->signal(SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, testing::Values(SIGINT, SIGTERM),
                         [](const auto& i) { return i.param == SIGINT ? "SIGINT" : "SIGTERM"; });

}  // namespace
}  // namespace rudder::test
