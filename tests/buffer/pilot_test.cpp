// Pilots in replay: what they are told and when, and what they change.
#include <gtest/gtest.h>

#include "buffer/trace_window.hpp"
#include "rudder/buffer/replay.hpp"
#include "rudder/core/error.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

/// Sees to it that calls come in the promised order, and keeps what it was shown.
class Witness : public buffer::BufferPilot {
public:
    explicit Witness(const buffer::HostTrace& trace, std::uint64_t horizon = 0)
        : trace_(trace), steps_(trace), horizon_(horizon) {}

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override {
        EXPECT_EQ(starts_++, 0);
        EXPECT_EQ(facts.rows->halo(), trace_.halo());
        EXPECT_EQ(buffer.residents().capacity(), buffer.residents().slots());
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
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override {
        EXPECT_EQ(step + 1, prepared_);
        EXPECT_EQ(buffer.next_step(), step);
        return decide(buffer);
    }
    void after(std::uint64_t step, const Rows& accounts) override {
        EXPECT_EQ(accounts.steps, step + 1);
        EXPECT_TRUE(std::ranges::equal(known_[step], steps_.step(step)));
        ++taken_;
    }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

protected:
    virtual buffer::PilotOrder decide(const buffer::IdBuffer& /*buffer*/) { return {}; }

private:
    const buffer::HostTrace& trace_;
    buffer::TraceWindow steps_;
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
    buffer::PilotOrder decide(const buffer::IdBuffer& buffer) override {
        static const std::vector<std::string> choices{"none",  "lru",      "window:3",
                                                      "clock", "window:9", "scored"};
        if (wanted_.policy) {
            EXPECT_EQ(buffer.spec(), *wanted_.policy);
        }
        if (wanted_.capacity) {
            EXPECT_EQ(buffer.residents().capacity(), *wanted_.capacity);
        }
        buffer::BufferChange change;
        if (draws_.below(4) == 0)
            change.policy = buffer::PolicySpec::parse(choices[draws_.below(choices.size())]);
        if (draws_.below(4) == 0) {
            const std::uint64_t slots = buffer.residents().slots();
            change.capacity = static_cast<buffer::SlotId>(draws_.below(slots + 1));
        }
        if (change.policy) wanted_.policy = change.policy;
        if (change.capacity) wanted_.capacity = change.capacity;
        return {.decision = {draws_.below(3) == 0, 1}, .changes = {change}};
    }

private:
    RandomStream stream_;
    Draws draws_;
    buffer::BufferChange wanted_;  ///< and done by the next step
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
        const Rows rows = buffer::replay_host(*trace, spec, 12, &meddler);
        EXPECT_EQ(meddler.taken(), trace->steps());
        EXPECT_EQ(rows.needed, rows.hit + rows.demand);
        EXPECT_GE(rows.fetched(),
                  buffer::replay_host(*trace, buffer::PolicySpec::parse("optimal"), 12).fetched());
    }
}

/// Orders what it is given at one step.
class OneOrder final : public Witness {
public:
    OneOrder(const buffer::HostTrace& trace, buffer::PilotOrder order)
        : Witness(trace), order_(std::move(order)) {}

protected:
    buffer::PilotOrder decide(const buffer::IdBuffer& buffer) override {
        return buffer.next_step() == 5 ? order_ : buffer::PilotOrder{};
    }

private:
    buffer::PilotOrder order_;
};

TEST(Pilots, OrdersAreDoneInTheirOrderBeforeTheStep) {
    const auto trace = random_trace(2).host();
    buffer::TraceWindow steps(*trace);
    const auto lru = buffer::PolicySpec::parse("lru");
    const auto degree = buffer::PolicySpec::parse("window:3");
    const buffer::PilotOrder order{
        .changes = {{.policy = lru, .capacity = 3}, {.policy = degree, .capacity = 1000000}}};
    OneOrder pilot(*trace, order);
    const auto start = buffer::PolicySpec::parse("window:5");
    const Rows steered = buffer::replay_host(*trace, start, 12, &pilot);

    buffer::IdBuffer by_hand(start, trace->facts(), 12, 12);
    for (std::uint64_t step = 0; step < trace->steps(); ++step)
        by_hand.publish(step, steps.step(step));
    for (std::uint64_t step = 0; step < trace->steps(); ++step) {
        if (step == 5) {
            by_hand.set_policy(lru);
            by_hand.set_capacity(3);
            by_hand.set_policy(degree);
            by_hand.set_capacity(12);
        }
        by_hand.advance();
    }
    EXPECT_EQ(steered, by_hand.accounts());
}

TEST(Pilots, APolicyThatLacksFactsIsRefusedBeforeAnythingChanges) {
    const auto trace = random_trace(2).host();
    buffer::PolicyFacts facts = trace->facts();
    facts.halo_degree = {};
    ASSERT_GT(facts.rows->halo(), 0U);
    EXPECT_THROW(buffer::check_policy(buffer::PolicySpec::parse("static-degree"), facts), Error);
    EXPECT_NO_THROW(buffer::check_policy(buffer::PolicySpec::parse("lru"), facts));
}

}  // namespace
}  // namespace rudder::test
