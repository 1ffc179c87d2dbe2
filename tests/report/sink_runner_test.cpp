// The task behind the sinks, under many schedules.
#include "report/sink_runner.hpp"

#include <gmock/gmock.h>

#include "core/executor/seeded_executor.hpp"
#include "core/log.hpp"
#include "rudder/core/error.hpp"

#include "frames.hpp"

namespace rudder::test {
namespace {

/// Writes down what it is told; fails at a step.
class Notes final : public report::MetricSink {
public:
    Notes(std::vector<std::string>& notes, std::uint64_t fails_at)
        : notes_(notes), fails_at_(fails_at) {}
    [[nodiscard]] std::string_view name() const override { return "notes"; }
    void steps(std::span<const train::StepRecord> steps) override {
        Executor::current().yield();
        if (steps.front().step >= fails_at_)
            throw system_error("cannot write the file", "somewhere", 28);
        notes_.push_back("steps " + std::to_string(steps.front().step));
    }
    void epoch(const train::EpochRecord& epoch) override {
        notes_.push_back("epoch " + std::to_string(epoch.epoch));
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        notes_.push_back("decisions " + std::to_string(decisions.size()));
    }
    void close() override { notes_.emplace_back("close"); }

private:
    std::vector<std::string>& notes_;
    std::uint64_t fails_at_;
};

constexpr std::uint64_t never = ~std::uint64_t{0};

TEST(SinkRunner, InOrderAndFlushedWhenToldUnderAnySchedule) {
    log::set_level(log::Level::error);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::vector<std::string> good;
        std::vector<std::string> bad;
        SeededExecutor executor(seed);
        executor.spawn("training", [&] {
            std::vector<std::unique_ptr<report::MetricSink>> sinks;
            sinks.push_back(std::make_unique<Notes>(bad, 20));
            sinks.push_back(std::make_unique<Notes>(good, never));
            report::SinkRunner runner(std::move(sinks));
            std::vector<std::string> told;
            for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
                runner.steps(some_steps(epoch, 1, 1));
                told.push_back("steps " + std::to_string(epoch));
                runner.epoch({.epoch = static_cast<std::uint32_t>(epoch)});
                told.push_back("epoch " + std::to_string(epoch));
                if (epoch % 7 != 0) continue;
                runner.decisions(std::vector<steer::DecisionRecord>(3));
                told.emplace_back("decisions 3");
                runner.flush();
                EXPECT_EQ(good, told);
            }
            runner.close();
            told.emplace_back("close");
            EXPECT_EQ(good, told);
            const report::SinkTotals totals = runner.totals();
            EXPECT_EQ(totals.names, (std::vector<std::string>{"notes", "notes"}));
            EXPECT_EQ(totals.lines, 50U);
        });
        executor.run();
        EXPECT_EQ(bad.back(), "epoch 19");
    }
    log::set_level(log::Level::info);
}

TEST(SinkRunner, SaysOnceThatASinkFails) {
    testing::internal::CaptureStderr();
    std::vector<std::string> notes;
    {
        std::vector<std::unique_ptr<report::MetricSink>> sinks;
        sinks.push_back(std::make_unique<Notes>(notes, 2));
        report::SinkRunner runner(std::move(sinks));
        for (std::uint64_t step = 0; step < 9; ++step)
            runner.steps(some_steps(step, 1, 1));
        runner.flush();  // which does not wait for ever
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "rudder: warning: notes ends before step 2: cannot write the file: No space left on "
              "device (somewhere); training continues without it\n");
    EXPECT_EQ(notes, (std::vector<std::string>{"steps 0", "steps 1"}));
}

}  // namespace
}  // namespace rudder::test
