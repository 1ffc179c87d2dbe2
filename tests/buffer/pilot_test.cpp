// Pilots in replay: what they are told and when, and what they change.
#include <gtest/gtest.h>

#include "rudder/buffer/replay.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

/// Sees to it that calls come in the promised order, and keeps what it was shown.
class Witness : public buffer::BufferPilot {
public:
    explicit Witness(const buffer::HostTrace& trace, std::uint64_t horizon = 0)
        : trace_(trace), horizon_(horizon) {}

    void start(const buffer::PolicyFacts& facts, const buffer::BufferControl& control) override {
        EXPECT_EQ(starts_++, 0);
        EXPECT_EQ(facts.rows->halo(), trace_.halo());
        EXPECT_EQ(control.capacity(), control.slots());
    }
    [[nodiscard]] std::uint64_t horizon() const override { return horizon_; }
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override {
        EXPECT_EQ(step, known_.size());
        known_.push_back(rows);
    }
    void prepare(std::uint64_t step) override {
        EXPECT_EQ(step, prepared_++);
        EXPECT_GE(known_.size(), std::min(trace_.steps(), step + horizon_ + 1));
    }
    buffer::Decision before(std::uint64_t step, buffer::BufferControl& control) override {
        EXPECT_EQ(step + 1, prepared_);
        EXPECT_EQ(control.buffer().next_step(), step);
        return decide(step, control);
    }
    void after(std::uint64_t step, const buffer::RowAccounts& accounts) override {
        EXPECT_EQ(accounts.steps, step + 1);
        EXPECT_TRUE(std::ranges::equal(known_[step], trace_.step(step)));
        ++taken_;
    }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

protected:
    virtual buffer::Decision decide(std::uint64_t /*step*/, buffer::BufferControl& /*control*/) {
        return {};
    }

private:
    const buffer::HostTrace& trace_;
    std::uint64_t horizon_;
    int starts_ = 0;
    std::vector<std::span<const buffer::RowKey>> known_;
    std::uint64_t prepared_ = 0;
    std::uint64_t taken_ = 0;
};

/// Changes policy and capacity as a random stream says.
class Meddler final : public Witness {
public:
    Meddler(const buffer::HostTrace& trace, std::uint64_t seed, std::uint64_t horizon)
        : Witness(trace, horizon), stream_({Purpose::test, seed, 0, 3}), draws_(stream_, 0) {}

protected:
    buffer::Decision decide(std::uint64_t /*step*/, buffer::BufferControl& control) override {
        static const std::vector<std::string> choices{"none",  "lru",      "window:3",
                                                      "clock", "window:9", "scored"};
        if (draws_.below(4) == 0) {
            const buffer::PolicySpec spec =
                buffer::PolicySpec::parse(choices[draws_.below(choices.size())]);
            control.set_policy(spec);
            EXPECT_EQ(control.policy(), spec);
        }
        if (draws_.below(4) == 0) {
            const auto rows = static_cast<buffer::SlotId>(draws_.below(control.slots() + 1));
            control.set_capacity(rows);
            EXPECT_EQ(control.capacity(), rows);
        }
        return {draws_.below(3) == 0, 1};
    }

private:
    RandomStream stream_;
    Draws draws_;
};

TEST(Pilots, ThatDoNothingChangeNothing) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto trace = random_trace(seed).host();
        for (const char* text : {"lru", "window:4", "optimal", "scored,every:3"}) {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
            for (const std::uint64_t horizon : {0U, 7U, 1000U}) {
                Witness witness(*trace, horizon);
                EXPECT_EQ(buffer::replay_host(*trace, spec, 9, &witness),
                          buffer::replay_host(*trace, spec, 9));
                EXPECT_EQ(witness.taken(), trace->steps());
            }
        }
    }
}

TEST(Pilots, MayChangeAnythingBetweenSteps) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto trace = random_trace(seed).host();
        const buffer::PolicySpec spec = buffer::PolicySpec::parse("window:5");
        Meddler meddler(*trace, seed, seed % 6);
        const buffer::RowAccounts rows = buffer::replay_host(*trace, spec, 12, &meddler);
        EXPECT_EQ(meddler.taken(), trace->steps());
        EXPECT_EQ(rows.needed, rows.hits + rows.demand);
        EXPECT_GE(rows.fetched(),
                  buffer::replay_host(*trace, buffer::PolicySpec::parse("optimal"), 12).fetched());
    }
}

}  // namespace
}  // namespace rudder::test
