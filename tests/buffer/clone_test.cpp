// Copies of buffers and shadows go on exactly as the originals would.
#include <gtest/gtest.h>

#include "buffer/shadow_buffer.hpp"
#include "buffer/trace_window.hpp"
#include "rudder/buffer/replay.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

const std::vector<std::string> every_policy{
    "none",
    "static-degree",
    "static-random",
    "static-vip",
    "lru",
    "lfu",
    "clock",
    "periodic,delta:4",
    "scored-faithful",
    "scored-faithful,every:3",
    "scored-faithful,listed",
    "scored",
    "scored,every:2",
    "window:1",
    "window:6",
    "window:16,distance:4",
    "window:8,inclusion",
    "optimal",
};

TEST(Clones, AreTriedOfEveryPolicy) {
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        EXPECT_TRUE(std::ranges::any_of(every_policy, [&](const std::string& text) {
            return buffer::PolicySpec::parse(text).name() == info->name;
        })) << info->name;
    }
}

/// Publishes a trace to a buffer, as far ahead as its policy wants.
struct Runner {
    const buffer::HostTrace* trace;
    buffer::TraceWindow* steps;
    std::unique_ptr<buffer::IdBuffer> buffer;
    std::uint64_t published = 0;

    /// The decision depends on the step alone, so that all copies get the same.
    buffer::StepPlan step() {
        const std::uint64_t now = buffer->next_step();
        for (; published < trace->steps() && published - now <= buffer->horizon(); ++published)
            buffer->publish(published, steps->step(published));
        return buffer->advance({now % 3 == 0, now % 2 == 0 ? 1.0 : 0.3});
    }
    [[nodiscard]] bool done() const { return buffer->next_step() == trace->steps(); }
    [[nodiscard]] Runner clone() const { return {trace, steps, buffer->clone(), published}; }
};

void expect_same(const buffer::StepPlan& a, const buffer::StepPlan& b, const std::string& what) {
    ASSERT_EQ(a.slots, b.slots) << what;
    ASSERT_EQ(a.leave, b.leave) << what;
    ASSERT_EQ(a.admit, b.admit) << what;
    ASSERT_EQ(a.replacement, b.replacement) << what;
    ASSERT_EQ(a.ahead, b.ahead) << what;
}

TEST(Clones, GoOnAsTheOriginalWould) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto trace = random_trace(seed).host();
        buffer::TraceWindow steps(*trace);
        const RandomStream stream({Purpose::test, seed, 0, 7});
        Draws draws(stream, 0);
        for (const std::string& text : every_policy) {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
            const auto slots = static_cast<buffer::SlotId>(draws.below(30));
            const auto make = [&] {
                return std::make_unique<buffer::IdBuffer>(spec, trace->facts(), slots, slots);
            };
            Runner original{trace.get(), &steps, make()};
            Runner reference{trace.get(), &steps, make()};
            const std::uint64_t at = draws.below(trace->steps());
            for (std::uint64_t i = 0; i < at; ++i) {
                original.step();
                reference.step();
            }
            // One copy outlives the original; another is led astray, which nobody may notice.
            Runner copy = original.clone();
            Runner astray = original.clone();
            astray.buffer->set_capacity(slots / 2);
            for (int i = 0; i < 5 && !astray.done(); ++i)
                astray.step();
            for (int i = 0; i < 3 && !original.done(); ++i)
                original.step();
            const Rows ahead = original.buffer->accounts();
            const std::uint64_t gone = original.buffer->next_step();
            original.buffer.reset();
            while (!reference.done()) {
                expect_same(copy.step(), reference.step(), text);
                if (HasFatalFailure()) return;
                if (reference.buffer->next_step() == gone) {
                    EXPECT_EQ(ahead, reference.buffer->accounts()) << text;
                }
            }
            EXPECT_EQ(copy.buffer->accounts(), reference.buffer->accounts()) << text;
            EXPECT_EQ(copy.buffer->unused(), reference.buffer->unused()) << text;
        }
    }
}

TEST(Clones, OfShadowsOutliveThemAndTheirFeedsOwner) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto trace = random_trace(seed).host();
        buffer::TraceWindow steps(*trace);
        const RandomStream stream({Purpose::test, seed, 0, 8});
        Draws draws(stream, 0);
        for (const std::string& text : every_policy) {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
            const buffer::ShadowOptions options{1 + static_cast<std::uint32_t>(draws.below(3)), 0};
            auto feed = std::make_shared<buffer::ShadowFeed>(trace->facts(), options);
            auto shadow = std::make_unique<buffer::ShadowBuffer>(spec, feed, 20, 16);
            buffer::ShadowBuffer reference(spec, feed, 20, 16);
            const std::uint64_t at = draws.below(trace->steps());
            // The whole trace is published, so that what is kept is all the feed ever has.
            for (std::uint64_t i = 0; i < trace->steps(); ++i)
                feed->publish(i, steps.step(i));
            for (std::uint64_t i = 0; i < at; ++i) {
                shadow->advance({i % 2 == 0, 1});
                reference.advance({i % 2 == 0, 1});
            }
            const auto copy = shadow->clone();
            shadow.reset();
            for (std::uint64_t i = at; i < trace->steps(); ++i) {
                copy->advance({i % 2 == 0, 1});
                reference.advance({i % 2 == 0, 1});
                feed->forget(i + 1);
            }
            feed.reset();
            EXPECT_EQ(copy->counted(), reference.counted()) << text;
            EXPECT_EQ(copy->estimated(), reference.estimated()) << text;
        }
    }
}

TEST(Clones, ShareAFeedWithShadowsThatStartLater) {
    const auto trace = random_trace(5).host();
    buffer::TraceWindow steps(*trace);
    const auto feed =
        std::make_shared<buffer::ShadowFeed>(trace->facts(), buffer::ShadowOptions{2, 1});
    const buffer::PolicySpec lru = buffer::PolicySpec::parse("lru");
    buffer::ShadowBuffer early(lru, feed, 12, 12);
    std::unique_ptr<buffer::ShadowBuffer> late;
    for (std::uint64_t i = 0; i < trace->steps(); ++i) {
        feed->publish(i, steps.step(i));
        if (i == 10) late = std::make_unique<buffer::ShadowBuffer>(lru, feed, 12, 12, 10);
        early.advance();
        if (late) late->advance();
        feed->forget(i + 1);
    }
    EXPECT_EQ(late->counted().steps, trace->steps() - 10);
    EXPECT_EQ(early.counted().steps, trace->steps());
    EXPECT_EQ(late->next_step(), early.next_step());
}

TEST(Clones, ARefusedPolicyLeavesEverythingAsItWas) {
    PlainTrace plain = random_trace(2);
    plain.inclusion.clear();
    plain.degree.clear();
    plain.listed.clear();
    const auto trace = plain.host();
    for (const char* text : {"lru", "scored,every:2", "window:8", "scored-faithful,every:2"}) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        const auto make = [&] {
            return std::make_unique<buffer::IdBuffer>(spec, trace->facts(), 9, 9);
        };
        buffer::TraceWindow steps(*trace);
        Runner tried{trace.get(), &steps, make()};
        Runner reference{trace.get(), &steps, make()};
        while (!reference.done()) {
            for (const char* bad : {"static-vip", "static-degree", "periodic", "window,inclusion",
                                    "scored-faithful,listed"}) {
                EXPECT_THROW(tried.buffer->set_policy(buffer::PolicySpec::parse(bad)), Error)
                    << bad;
            }
            EXPECT_EQ(tried.buffer->spec(), spec);
            expect_same(tried.step(), reference.step(), text);
        }
        EXPECT_EQ(tried.buffer->accounts(), reference.buffer->accounts());
    }
}

}  // namespace
}  // namespace rudder::test
