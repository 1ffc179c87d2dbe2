// The account of steering: whoever changes what and how often, no more is fetched than the bound
// says, and rows are found where the plans say they lie.
#include "buffer/guarded_buffer.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "buffer/trace_window.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

using buffer::RowKey;
using buffer::SlotId;

/// Keeps rows as whoever carries plans out does, and finds out if a plan is wrong.
class Memory {
public:
    explicit Memory(SlotId slots) : most(slots), row_(slots, buffer::no_row) {}

    /// Places from this one on are gone.
    void cut(SlotId from) {
        most = from;
        std::fill(row_.begin() + from, row_.end(), buffer::no_row);
    }

    void carry_out(const buffer::StepPlan& plan, std::span<const RowKey> rows) {
        for (std::size_t i = 0; i < plan.slots.size(); ++i) {
            if (plan.slots[i] == buffer::no_slot) {
                ++fetched;
            } else {
                ASSERT_EQ(row_.at(plan.slots[i]), rows[i]) << "another row lies there";
            }
        }
        for (const buffer::Admitted& row : plan.admit) {
            ASSERT_EQ(plan.slots.at(row.position), buffer::no_slot);
            ASSERT_LT(row.slot, most);
            row_.at(row.slot) = rows[row.position];
        }
        for (const auto* list : {&plan.replacement, &plan.ahead}) {
            for (const buffer::Placed& row : *list) {
                ASSERT_LT(row.slot, most);
                row_.at(row.slot) = row.row;
            }
            fetched += list->size();
        }
    }

    std::uint64_t fetched = 0;
    SlotId most;

private:
    std::vector<RowKey> row_;
};

const std::vector<std::string> settings{"none",
                                        "static-degree",
                                        "lru",
                                        "lfu",
                                        "clock",
                                        "scored",
                                        "scored,every:2",
                                        "window:1",
                                        "window:6",
                                        "scored-faithful,every:3",
                                        "periodic,delta:2"};

/// One trace, a buffer that is steered, and the built-in rule by itself.
struct Steered {
    std::unique_ptr<const buffer::HostTrace> trace;
    buffer::TraceWindow steps;
    SlotId slots;
    buffer::GuardTerms terms;
    buffer::GuardedBuffer buffer;
    std::unique_ptr<buffer::IdBuffer> alone;  ///< the built-in rule
    Memory memory;
    std::uint64_t published = 0;
    std::uint64_t refused = 0;
    std::uint64_t went_back = 0;

    Steered(std::unique_ptr<const buffer::HostTrace> host, const std::string& policy, SlotId size,
            double share)
        : trace(std::move(host)),
          steps(*trace),
          slots(size),
          terms{.built_in = buffer::built_in_rule(buffer::PolicySpec::parse(policy)),
                .capacity = size,
                .share = share},
          buffer(buffer::PolicySpec::parse(policy), trace->facts(), slots, slots),
          memory(slots) {
        alone = std::make_unique<buffer::IdBuffer>(terms.built_in, trace->facts(), slots, slots);
        buffer.guard(terms);
        memory.carry_out(buffer.fill(), {});
    }

    [[nodiscard]] bool done() const { return alone->next_step() == trace->steps(); }

    void publish(std::uint64_t ahead) {
        const std::uint64_t now = alone->next_step();
        for (; published < trace->steps() && published - now <= ahead; ++published) {
            buffer.publish(published, steps.step(published));
            alone->publish(published, steps.step(published));
        }
    }

    void change(const buffer::BufferChange& change) {
        buffer.change(change, [&](const buffer::StepPlan& plan) { memory.carry_out(plan, {}); });
        note();
    }

    void cut(SlotId most) {
        memory.cut(most);
        buffer.cut(most, [&](const buffer::StepPlan& plan) { memory.carry_out(plan, {}); });
        alone->cut(most);
    }

    void step(const buffer::Decision& decision) {
        const auto rows = steps.step(alone->next_step());
        memory.carry_out(buffer.advance(decision), rows);
        alone->advance();
        note();
    }

    void note() {
        if (const auto what = buffer.take_overruled())
            ++(what->kind == buffer::Overruled::Kind::refused ? refused : went_back);
    }

    /// After a step: the account is the truth, and within the bound.
    void expect_bound() const {
        const buffer::GuardAccount account = buffer.account();
        const std::uint64_t built_in = alone->accounts().fetched();
        ASSERT_EQ(account.fetched, memory.fetched);
        ASSERT_EQ(account.built_in, built_in);
        const auto allowed =
            static_cast<std::uint64_t>(terms.share * static_cast<double>(built_in));
        ASSERT_LE(account.fetched, built_in + allowed + slots);
        // And still if the built-in rule took over now.
        ASSERT_LE(account.fetched + account.refill, built_in + allowed + slots);
    }
};

/// Sees what is coming and does what makes the buffer fetch most, by trying.
buffer::BufferChange worst_change(const Steered& run, Draws& draws, std::uint64_t tries) {
    buffer::BufferChange worst;
    std::uint64_t most = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
        buffer::BufferChange change;
        change.policy = buffer::PolicySpec::parse(settings[draws.below(settings.size())]);
        if (draws.below(3) == 0)
            change.capacity = static_cast<SlotId>(draws.below(std::uint64_t{run.memory.most} + 1));
        const auto copy = run.buffer.ids().clone();
        const std::uint64_t before = copy->accounts().fetched();
        copy->set_policy(*change.policy);
        if (change.capacity) copy->set_capacity(*change.capacity);
        for (std::uint64_t s = copy->next_step(); s < run.published; ++s)
            copy->advance({true, 1.0});
        const std::uint64_t cost = copy->accounts().fetched() - before;
        if (i != 0 && cost < most) continue;
        most = cost;
        worst = change;
    }
    return worst;
}

struct Overrulings {
    std::uint64_t refused = 0;
    std::uint64_t went_back = 0;
};

/// `shortages`: now and then there is less memory.
Overrulings attack(std::uint64_t seed, bool shortages) {
    Draws draws(RandomStream({Purpose::test, seed, 0, 20}), 0);
    const std::string start = settings[draws.below(settings.size())];
    const double share = std::vector<double>{0.0, 0.01, 0.1}[draws.below(3)];
    const TraceShape shape{.vertices = 20 + draws.below(100),
                           .steps = 20 + draws.below(200),
                           .largest_step = 4 + draws.below(20)};
    Steered run(random_trace(seed, shape).host(), start, static_cast<SlotId>(draws.below(30)),
                share);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << start << ", " << run.slots
                                    << " slots, share " << share);
    const std::uint64_t every = 1 + draws.below(100);
    while (!run.done() && !testing::Test::HasFatalFailure()) {
        run.publish(8);
        if (draws.below(every) == 0) run.change(worst_change(run, draws, 4));
        if (shortages && run.memory.most > 0 && draws.below(30) == 0)
            run.cut(static_cast<SlotId>(draws.below(run.memory.most)));
        run.publish(std::max<std::uint64_t>(8, run.buffer.horizon()));
        run.step({draws.below(2) == 0, draws.below(2) == 0 ? 1.0 : 0.3});
        run.expect_bound();
    }
    return {run.refused, run.went_back};
}

void attack_often(std::uint64_t first, std::uint64_t count, bool shortages = false) {
    Overrulings all;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const Overrulings one = attack(seed, shortages);
        all.refused += one.refused;
        all.went_back += one.went_back;
        if (testing::Test::HasFatalFailure()) return;
    }
    std::printf("%llu changes refused, %llu taken back\n",
                static_cast<unsigned long long>(all.refused),
                static_cast<unsigned long long>(all.went_back));
    EXPECT_GT(all.refused, 0U);
    EXPECT_GT(all.went_back, 0U);
}

TEST(GuardedBuffer, AnAdversaryDoesNotPassTheBound) {
    attack_often(0, 1000);
}

/// And rows lie in the memory that is left.
TEST(GuardedBuffer, NorWhereMemoryIsTakenAway) {
    attack_often(40'000, 300, true);
}

TEST(LongGuardedBuffer, AnAdversaryDoesNotPassTheBoundOverThirtyThousandSeeds) {
    attack_often(1000, 30'000);
}

/// What a change costs and brings is left alone as long as it stays within the bound.
TEST(GuardedBuffer, LeavesAloneWhatIsBetter) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Steered run(random_trace(seed).host(), "lru", 20, 0.01);
        run.publish(8);
        run.change({.policy = buffer::PolicySpec::parse("window:6")});
        while (!run.done()) {
            run.publish(8);
            run.step({});
            run.expect_bound();
        }
        EXPECT_EQ(run.refused + run.went_back, 0U) << seed;
        EXPECT_LE(run.memory.fetched, run.alone->accounts().fetched() + run.slots) << seed;
    }
}

/// From the moment the built-in rule takes over, both fetch the same.
TEST(GuardedBuffer, WhatWentBackDoesAsTheBuiltInRule) {
    std::uint64_t seen = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        Steered run(random_trace(seed).host(), "window:6", 12, 0.0);
        run.publish(8);
        run.change({.policy = buffer::PolicySpec::parse("none")});
        std::optional<std::uint64_t> excess;
        while (!run.done()) {
            run.publish(8);
            run.step({});
            run.expect_bound();
            const std::uint64_t now = run.memory.fetched - run.alone->accounts().fetched();
            EXPECT_EQ(now, excess.value_or(now)) << seed;
            if (run.went_back > 0 && !excess) excess = now;
        }
        seen += run.went_back;
    }
    EXPECT_GT(seen, 10U);
}

/// Going back by one's own decision, too.
TEST(GuardedBuffer, ReturningToTheBuiltInRuleTakesOverWhatItHolds) {
    for (const std::string text : {"lru", "clock", "scored-faithful,every:3", "window:6", "lfu"}) {
        Steered run(random_trace(3).host(), text, 15, 10.0);
        const auto home = buffer::PolicySpec::parse(text);
        for (std::uint64_t n = 0; !run.done(); ++n) {
            run.publish(8);
            if (n % 10 == 2) run.change({.policy = buffer::PolicySpec::parse("static-degree")});
            if (n % 10 == 6) {
                run.change({.policy = home});
                EXPECT_FALSE(run.buffer.account().beside);
            }
            run.step({});
            run.expect_bound();
        }
        EXPECT_EQ(run.refused + run.went_back, 0U) << text;
    }
}

/// A change is made on a copy, which is thrown away: the buffer goes on in the same slots.
TEST(GuardedBuffer, AChangeThatIsRefusedLeavesTheBufferAsItWas) {
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Steered run(random_trace(seed).host(), "lru", 12, 0.0);
        for (std::uint64_t n = 0; !run.done(); ++n) {
            run.publish(8);
            // Filling it anew and filling it once more would be twice what is allowed.
            const bool full = run.alone->residents().room() == 0;
            if (full) run.change({.policy = buffer::PolicySpec::parse("static-degree")});
            if (run.buffer.account().beside) break;  // so many of those rows are here: allowed
            EXPECT_EQ(run.buffer.ids().spec(), run.alone->spec());
            EXPECT_EQ(run.buffer.advance().slots, run.alone->advance().slots) << seed;
        }
        refused += run.refused;
    }
    EXPECT_GT(refused, 20U);
}

TEST(GuardedBuffer, CountsTheTimeThatTheGuardTakes) {
    Steered run(random_trace(4).host(), "lru", 20, 10.0);
    const auto steps = [&](std::uint64_t count) {
        for (std::uint64_t n = 0; n < count; ++n) {
            run.publish(8);
            run.step({});
        }
        return run.buffer.account().cpu_seconds;
    };
    EXPECT_EQ(steps(5), 0);  // nothing beside
    run.publish(8);
    run.change({.policy = buffer::PolicySpec::parse("window:6")});
    const double changed = run.buffer.account().cpu_seconds;
    EXPECT_GT(changed, 0);
    const double beside = steps(5);
    EXPECT_GT(beside, changed);  // the built-in rule takes its steps, too
    run.change({.policy = run.terms.built_in});
    const double back = run.buffer.account().cpu_seconds;
    EXPECT_GT(back, beside);
    EXPECT_EQ(steps(5), back);
}

TEST(GuardedBuffer, WithoutTermsItIsAPlainBuffer) {
    const auto trace = random_trace(5).host();
    buffer::TraceWindow steps(*trace);
    const auto spec = buffer::PolicySpec::parse("lru");
    buffer::GuardedBuffer guarded(spec, trace->facts(), 10, 10);
    buffer::IdBuffer plain(spec, trace->facts(), 10, 10);
    for (std::uint64_t s = 0; s < trace->steps(); ++s) {
        guarded.publish(s, steps.step(s));
        plain.publish(s, steps.step(s));
        if (s == 4) {
            guarded.change({.policy = buffer::PolicySpec::parse("clock"), .capacity = 4});
            plain.set_policy(buffer::PolicySpec::parse("clock"));
            plain.set_capacity(4);
        }
        EXPECT_EQ(guarded.advance().slots, plain.advance().slots);
    }
    EXPECT_EQ(guarded.ids().accounts(), plain.accounts());
    EXPECT_FALSE(guarded.account().beside);
}

}  // namespace
}  // namespace rudder::test
