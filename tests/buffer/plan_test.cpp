// Plans carried out slot by slot: what a live buffer would hold is what the policy believes.
#include <algorithm>

#include <gtest/gtest.h>

#include "buffer/trace_window.hpp"
#include "rudder/buffer/id_buffer.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

/// Slots that do what plans say, and nothing else.
class Slots {
public:
    explicit Slots(std::size_t slots) : rows_(slots, buffer::no_row) {}

    void carry_out(const buffer::StepPlan& plan, std::span<const buffer::RowKey> step) {
        ASSERT_TRUE(plan.slots.empty() || plan.slots.size() == step.size());
        std::uint32_t hits = 0;
        for (std::size_t i = 0; i < plan.slots.size(); ++i) {
            const bool here = std::find(rows_.begin(), rows_.end(), step[i]) != rows_.end();
            ASSERT_EQ(plan.slots[i] != buffer::no_slot, here);
            if (!here) continue;
            ASSERT_EQ(rows_[plan.slots[i]], step[i]);
            ++hits;
        }
        ASSERT_EQ(plan.hits, hits);
        for (const buffer::Placed& row : plan.leave) {
            ASSERT_EQ(rows_[row.slot], row.row);
            rows_[row.slot] = buffer::no_row;
        }
        for (const buffer::Admitted& row : plan.admit) {
            ASSERT_EQ(plan.slots[row.position], buffer::no_slot);
            put({step[row.position], row.slot});
        }
        for (const auto* fetched : {&plan.replacement, &plan.ahead}) {
            for (const buffer::Placed& row : *fetched)
                put(row);
        }
    }

    void expect(const buffer::Residents& residents) const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            ASSERT_EQ(residents.row_at(static_cast<buffer::SlotId>(i)), rows_[i]);
            if (rows_[i] == buffer::no_row) continue;
            ASSERT_EQ(residents.slot_of(rows_[i]), i);
            ++count;
        }
        ASSERT_EQ(residents.count(), count);
        ASSERT_LE(count, residents.capacity());
    }

private:
    void put(const buffer::Placed& row) {
        ASSERT_EQ(rows_[row.slot], buffer::no_row);
        ASSERT_EQ(std::find(rows_.begin(), rows_.end(), row.row), rows_.end());
        rows_[row.slot] = row.row;
    }
    std::vector<buffer::RowKey> rows_;
};

const std::vector<std::string> specs{"none",
                                     "static-degree",
                                     "static-random",
                                     "static-vip",
                                     "lru",
                                     "lfu",
                                     "clock",
                                     "periodic,delta:3",
                                     "scored-faithful,every:2",
                                     "scored-faithful",
                                     "scored,every:3",
                                     "scored,every:2,decay:0.9,fraction:0.2",
                                     "window:1",
                                     "window:4,distance:0",
                                     "window:8,distance:3",
                                     "window:30,inclusion",
                                     "optimal"};

/// What changes while a run goes on.
struct Changes {
    bool policy = false;
    bool capacity = false;
};

/// Runs a trace; steps are published up to `lead` ahead, whatever the policy wants.
void run(const buffer::HostTrace& trace, const std::string& first, std::uint64_t seed,
         Changes changes) {
    const RandomStream stream({Purpose::test, seed, 1});
    Draws draws(stream, 0);
    constexpr buffer::SlotId slots = 20;
    const auto start =
        static_cast<buffer::SlotId>(changes.capacity ? draws.below(slots + 1) : slots / 2);
    buffer::IdBuffer buffer(buffer::PolicySpec::parse(first), trace.facts(), slots, start);
    buffer::TraceWindow steps(trace);
    Slots memory(slots);
    memory.carry_out(buffer.fill(), {});
    memory.expect(buffer.residents());
    std::uint64_t published = 0;
    for (std::uint64_t step = 0; step < trace.steps(); ++step) {
        const std::uint64_t lead = draws.below(12);
        for (; published < trace.steps() && published <= step + lead; ++published)
            buffer.publish(published, steps.step(published));
        if (changes.policy && draws.below(3) == 0) {
            memory.carry_out(
                buffer.set_policy(buffer::PolicySpec::parse(specs[draws.below(specs.size())])), {});
        }
        if (changes.capacity && draws.below(3) == 0) {
            memory.carry_out(
                buffer.set_capacity(static_cast<buffer::SlotId>(draws.below(slots + 1))), {});
        }
        memory.expect(buffer.residents());
        const auto& plan = buffer.advance({draws.below(2) == 0, draws.uniform()});
        memory.carry_out(plan, steps.step(step));
        memory.expect(buffer.residents());
        if (testing::Test::HasFatalFailure()) {
            FAIL() << first << " seed " << seed << " step " << step << " now "
                   << buffer.spec().text();
        }
    }
    const Rows& rows = buffer.accounts();
    EXPECT_EQ(rows.needed, trace.needed());
    EXPECT_EQ(rows.needed, rows.hit + rows.demand);
}

TEST(Plans, SlotsHoldWhatPoliciesBelieve) {
    for (const std::string& spec : specs) {
        for (std::uint64_t seed = 0; seed < 10; ++seed)
            ASSERT_NO_FATAL_FAILURE(run(*random_trace(seed).host(), spec, seed, {}));
    }
}

TEST(Plans, PolicyAndCapacityMayChangeAtAnyStep) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const Changes changes{seed % 3 != 0, seed % 3 != 1};
        ASSERT_NO_FATAL_FAILURE(run(*random_trace(seed, {80, 60, 25}).host(),
                                    specs[seed % specs.size()], seed, changes));
    }
}

TEST(Plans, ASwitchKeepsWhatIsThere) {
    const auto trace = random_trace(7).host();
    buffer::TraceWindow steps(*trace);
    buffer::IdBuffer buffer(buffer::PolicySpec::parse("lru"), trace->facts(), 10, 10);
    for (std::uint64_t step = 0; step < 20; ++step) {
        buffer.publish(step, steps.step(step));
        buffer.advance();
    }
    const buffer::SlotId before = buffer.residents().count();
    for (const char* text : {"lfu", "scored", "window:16", "clock", "scored-faithful", "lru"}) {
        const buffer::StepPlan& plan = buffer.set_policy(buffer::PolicySpec::parse(text));
        EXPECT_TRUE(plan.leave.empty() && plan.replacement.empty()) << text;
        EXPECT_EQ(buffer.residents().count(), before);
    }
    EXPECT_EQ(buffer.set_capacity(4).leave.size(), before - 4U);
    EXPECT_TRUE(buffer.set_capacity(10).leave.empty());
}

TEST(Plans, WindowKeepsItsFloorThroughAChangeAndBack) {
    // A change makes it plan anew; with nothing really changed it must not fetch more for long.
    const auto trace = random_trace(11, {300, 200, 40}).host();
    buffer::TraceWindow steps(*trace);
    const auto rows = [&](bool change) {
        buffer::IdBuffer buffer(buffer::PolicySpec::parse("window:16"), trace->facts(), 60, 60);
        std::uint64_t published = 0;
        for (std::uint64_t step = 0; step < trace->steps(); ++step) {
            for (; published < trace->steps() && published <= step + 16; ++published)
                buffer.publish(published, steps.step(published));
            if (change && step % 5 == 0) buffer.set_capacity(60);
            buffer.advance();
        }
        return buffer.accounts().fetched();
    };
    EXPECT_LE(static_cast<double>(rows(true)), 1.05 * static_cast<double>(rows(false)));
}

}  // namespace
}  // namespace rudder::test
