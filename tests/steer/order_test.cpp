// Orders on their way to other ranks, and answers on their way to their step: there and back,
// damaged, and against slow and obvious bodies.
#include <cmath>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "steer/helm/helm.hpp"
#include "steer/helm/helm_state.hpp"

#include "random_actions.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

steer::Order random_order(std::uint64_t seed) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
    steer::Order order;
    order.effective_step = draws.below(1U << 30U);
    order.slots = draws.below(1U << 30U);
    order.action = random_action(draws);
    return order;
}

TEST(Orders, ArriveAsTheyWereSent) {
    std::size_t changes = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const steer::Order sent = random_order(seed);
        const steer::Order back = steer::unpack(steer::pack(sent));
        EXPECT_EQ(back.action, sent.action) << seed;
        EXPECT_EQ(back.effective_step, sent.effective_step);
        EXPECT_EQ(back.slots, sent.slots);
        changes += sent.action.knobs.size();
    }
    EXPECT_GT(changes, 2000U);
}

TEST(Orders, AllKnobsAtOnceFit) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 1}), 0);
    steer::Order order;
    for (const steer::Knob& k : steer::all_knobs())
        order.action.knobs.push_back(random_change(k.id, draws));
    order.action.kind = steer::ActionKind::set;
    EXPECT_EQ(steer::unpack(steer::pack(order)).action, order.action);
    order.action.knobs.push_back(order.action.knobs.back());
    EXPECT_THAT(refusal_of([&] { (void)steer::pack(order); }).problem, HasSubstr("too long"));
}

/// A policy may be as long as the schema of actions allows.
TEST(Orders, TheLongestPolicyFitsBesideAllKnobs) {
    std::string policy = "scored,every:4,decay:0.5";
    policy.append(200 - policy.size(), '0');
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 2}), 0);
    steer::Order order;
    order.action.kind = steer::ActionKind::set;
    for (const steer::Knob& k : steer::all_knobs())
        order.action.knobs.push_back(random_change(k.id, draws));
    order.action.knobs[0].value = policy;
    EXPECT_EQ(steer::unpack(steer::pack(order)).action, order.action);
    order.action.knobs[0].value = policy + std::string(200, '0');
    EXPECT_THAT(refusal_of([&] { (void)steer::pack(order); }).problem, HasSubstr("too long"));
}

TEST(Orders, WhatCannotBeMeantIsNotSent) {
    const auto refused = [](steer::Action action) {
        const Refusal refusal = refusal_of([&] {
            static_cast<void>(steer::pack({std::move(action), 1, 1}));
        });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        return refusal.problem;
    };
    using steer::Action;
    using steer::KnobId;
    using steer::Reason;
    for (const double fraction : {-0.1, 1.1, std::nan(""), 7.0})
        EXPECT_THAT(refused(Action::replace(Reason::none, fraction)), HasSubstr("fraction"));
    for (const steer::Knob& k : steer::all_knobs()) {
        if (k.kind == steer::KnobKind::text) continue;
        const std::string name(k.name);
        for (const double wrong : {k.minimum - 1, k.maximum * 2 + 1, std::nan("")})
            EXPECT_THAT(refused(Action::set({{k.id, wrong}}, Reason::none)), HasSubstr(name));
        EXPECT_THAT(refused(Action::set({{k.id, "text"}}, Reason::none)), HasSubstr(name));
    }
    EXPECT_THAT(refused(Action::set({{KnobId::policy, 3.0}}, Reason::none)), HasSubstr("policy"));
    EXPECT_THAT(refused(Action::set({{KnobId::policy, "widow"}}, Reason::none)),
                HasSubstr("widow"));
    EXPECT_THAT(refused(Action::set({{KnobId::policy, "optimal"}}, Reason::none)),
                HasSubstr("recorded trace"));
}

// Whatever a rank of another version sends: an Error, or an order that could have been packed.
TEST(Orders, DamagedBytesAreRefusedOrStillAnOrder) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 9}), 0);
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        steer::PackedOrder packed = steer::pack(random_order(seed % 50));
        std::array<std::uint8_t, sizeof(packed)> bytes{};
        std::memcpy(bytes.data(), &packed, sizeof(packed));
        for (std::uint64_t k = 1 + draws.below(4); k > 0; --k)
            bytes.at(draws.below(bytes.size())) = static_cast<std::uint8_t>(draws.below(256));
        std::memcpy(&packed, bytes.data(), sizeof(packed));
        try {
            const steer::Order order = steer::unpack(packed);
            EXPECT_NO_THROW(static_cast<void>(steer::pack(order))) << seed;
        } catch (const Error&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
}

TEST(Orders, EveryNumberPastItsListIsRefused) {
    const auto damaged = [](const char* what, auto change) {
        steer::PackedOrder packed = steer::pack({steer::Action::keep(), 1, 1});
        change(packed);
        EXPECT_THROW(static_cast<void>(steer::unpack(packed)), Error) << what;
    };
    damaged("kind", [](auto& p) { p.kind = 3; });
    damaged("reason", [](auto& p) { p.reason = 19; });
    damaged("knobs", [](auto& p) { p.knobs = steer::knob_count + 1; });
    damaged("id", [](auto& p) { p.knobs = 1, p.ids[0] = steer::knob_count; });
    damaged("text", [](auto& p) { p.text_size = static_cast<std::uint8_t>(p.text.size() + 1); });
    damaged("fraction", [](auto& p) { p.fraction = 2; });
    damaged("nan", [](auto& p) { p.fraction = std::nan(""); });
    damaged("policy", [](auto& p) { p.knobs = 1, p.ids[0] = 0, p.text[0] = '?', p.text_size = 1; });
}

/// Answers on their way, kept in plain lists.
struct SlowPending {
    std::vector<steer::PendingAnswer> outgoing;
    std::vector<steer::PendingAnswer> due;

    static std::optional<std::uint64_t> pop(std::vector<steer::PendingAnswer>& from) {
        if (from.empty()) return std::nullopt;
        const std::uint64_t record = from.front().record;
        from.erase(from.begin());
        return record;
    }
};

TEST(Pending, DoesWhatPlainListsDo) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
        steer::PendingAnswers pending;
        SlowPending slow;
        std::uint64_t number = 0;
        for (std::uint64_t step = 0; step < 200; ++step) {
            const std::uint64_t what = draws.below(5);
            steer::PendingAnswer answer{{}, ++number, step + draws.below(3)};
            if (what == 0) {
                pending.add(answer);
                slow.due.push_back(answer);
            } else if (what == 1) {
                pending.add_outgoing(answer);
                slow.outgoing.push_back(answer);
            } else if (what == 2) {
                const steer::PendingAnswer* sent = pending.send(step + 4);
                ASSERT_EQ(sent != nullptr, !slow.outgoing.empty());
                if (sent == nullptr) continue;
                EXPECT_EQ(sent->record, slow.outgoing.front().record);
                EXPECT_EQ(sent->effective_step, step + 4);
                slow.due.push_back(slow.outgoing.front());
                slow.due.back().effective_step = step + 4;
                slow.outgoing.erase(slow.outgoing.begin());
            } else {
                while (!slow.due.empty() && slow.due.front().effective_step <= step) {
                    const auto taken = pending.take(step);
                    ASSERT_TRUE(taken);
                    EXPECT_EQ(taken->record, SlowPending::pop(slow.due));
                }
                EXPECT_FALSE(pending.take(step)) << "before its step, or out of order";
            }
            EXPECT_EQ(pending.empty(), slow.due.empty() && slow.outgoing.empty());
        }
        // At the end all are given up, those that were sent first.
        while (const auto left = pending.give_up())
            EXPECT_EQ(left->record, SlowPending::pop(slow.due.empty() ? slow.outgoing : slow.due));
        EXPECT_TRUE(slow.due.empty() && slow.outgoing.empty());
    }
}

}  // namespace
}  // namespace rudder::test
