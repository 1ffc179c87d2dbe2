// The sample of the rows that shadows follow: which rows, in which numbers, for how long.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "buffer/shadow_buffer.hpp"
#include "buffer/trace_window.hpp"
#include "rudder/buffer/replay.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

/// The vertices of a step that a feed follows.
std::vector<VertexId> followed(const buffer::ShadowFeed& feed, std::uint64_t step) {
    std::vector<VertexId> vertices;
    for (const buffer::RowKey row : feed.step(step)->rows)
        vertices.push_back(feed.facts().rows->vertex(row));
    return vertices;
}

TEST(ShadowSample, OfLargeBuffersIsSmaller) {
    EXPECT_EQ(buffer::sample_for(0, 16), 16U);
    EXPECT_EQ(buffer::sample_for(50'000, 16), 16U);
    EXPECT_EQ(buffer::sample_for(65'535, 16), 16U);
    EXPECT_EQ(buffer::sample_for(65'536, 16), 32U);
    EXPECT_EQ(buffer::sample_for(403'000, 16), 128U);
    EXPECT_EQ(buffer::sample_for(403'000, 4096), 4096U);
    EXPECT_EQ(buffer::sample_for(100, 1), 1U);
}

TEST(ShadowFeeds, FollowTheSameVerticesInEveryStep) {
    const PlainTrace plain = random_trace(2, {2000, 30, 400});
    const auto trace = plain.host();
    buffer::TraceWindow steps(*trace);
    for (const std::uint32_t sample : {1U, 2U, 5U, 16U}) {
        buffer::ShadowFeed feed(trace->facts(), {sample, 0});
        std::set<VertexId> in;
        std::set<VertexId> out;
        for (std::uint64_t s = 0; s < trace->steps(); ++s) {
            feed.publish(s, steps.step(s));
            const auto kept = followed(feed, s);
            EXPECT_EQ(feed.step(s)->size, plain.steps[s].size());
            // In the order of the step, and nothing else.
            auto at = kept.begin();
            for (const VertexId v : plain.steps[s]) {
                const bool is = at != kept.end() && *at == v;
                at += is ? 1 : 0;
                (is ? in : out).insert(v);
            }
            EXPECT_EQ(at, kept.end());
        }
        for (const VertexId v : in)
            EXPECT_FALSE(out.contains(v)) << v;
        const double share =
            static_cast<double>(in.size()) / static_cast<double>(in.size() + out.size());
        EXPECT_NEAR(share, 1.0 / sample, sample == 1 ? 0 : 0.06) << sample;
    }
}

TEST(ShadowFeeds, AnotherSaltFollowsOtherRows) {
    const PlainTrace plain = random_trace(3, {3000, 1, 3000});
    const auto trace = plain.host();
    buffer::TraceWindow steps(*trace);
    const auto of_salt = [&](std::uint32_t salt) {
        buffer::ShadowFeed feed(trace->facts(), {4, salt});
        feed.publish(0, steps.step(0));
        const auto list = followed(feed, 0);
        return std::set<VertexId>(list.begin(), list.end());
    };
    const auto first = of_salt(0);
    const auto second = of_salt(1);
    EXPECT_EQ(first, of_salt(0));
    EXPECT_NE(first, second);
    std::vector<VertexId> both;
    std::ranges::set_intersection(first, second, std::back_inserter(both));
    EXPECT_LT(both.size(), first.size() / 2);  // about a quarter
}

TEST(ShadowFeeds, PartsOfASaltShareTheRowsOut) {
    const PlainTrace plain = random_trace(3, {3000, 1, 3000});
    const auto trace = plain.host();
    buffer::TraceWindow steps(*trace);
    std::vector<VertexId> all;
    for (std::uint32_t part = 0; part < 4; ++part) {
        buffer::ShadowFeed feed(trace->facts(), {4, 9, part});
        feed.publish(0, steps.step(0));
        const auto list = followed(feed, 0);
        EXPECT_NEAR(static_cast<double>(list.size()),
                    static_cast<double>(plain.steps[0].size()) / 4,
                    0.1 * static_cast<double>(plain.steps[0].size()));
        all.insert(all.end(), list.begin(), list.end());
    }
    // Each once.
    EXPECT_EQ(all.size(), plain.steps[0].size());
    EXPECT_EQ(std::set<VertexId>(all.begin(), all.end()).size(), all.size());
    EXPECT_THROW(buffer::ShadowFeed(trace->facts(), {4, 9, 4}), InternalError);
}

/// What feeds are given does not depend on whether they look at the rows themselves; a scan looks
/// once at each, however many there are.
TEST(ShadowScans, GiveEveryFeedItsOwnRows) {
    const PlainTrace plain = random_trace(11, {900, 40, 200});
    const auto trace = plain.host();
    buffer::TraceWindow steps(*trace);
    const std::vector<buffer::ShadowOptions> options{{16, 0, 0}, {8, 0, 7}, {8, 0, 6}, {3, 5, 1}};
    buffer::ShadowScan scan;
    std::vector<std::shared_ptr<buffer::ShadowFeed>> scanned;
    std::vector<std::unique_ptr<buffer::ShadowFeed>> alone;
    std::uint64_t rows = 0;
    for (std::uint64_t s = 0; s < trace->steps(); ++s) {
        // One after the other joins, with what there was before; rows are new all the time.
        if (s % 5 == 0 && scanned.size() < options.size()) {
            const auto& of = options[scanned.size()];
            scanned.push_back(std::make_shared<buffer::ShadowFeed>(trace->facts(), of, s));
            alone.push_back(std::make_unique<buffer::ShadowFeed>(trace->facts(), of, s));
            scan.add(scanned.back());
        }
        scan.publish(s, steps.step(s));
        rows += steps.step(s).size();
        for (std::size_t i = 0; i < alone.size(); ++i) {
            alone[i]->publish(s, steps.step(s));
            EXPECT_EQ(followed(*scanned[i], s), followed(*alone[i], s)) << s << ' ' << i;
            EXPECT_EQ(scanned[i]->step(s)->size, plain.steps[s].size());
        }
    }
    EXPECT_EQ(scan.scanned(), rows);
    const auto late = std::make_shared<buffer::ShadowFeed>(trace->facts(), options[0], 7);
    EXPECT_THROW(scan.add(late), InternalError) << "it has not had all steps";
}

TEST(ShadowFeeds, TheChoiceDependsOnTheVertexAlone) {
    // Not on its row number: the same vertices come in another order in the second trace.
    PlainTrace plain = random_trace(4, {500, 6, 100});
    const auto trace = plain.host();
    buffer::TraceWindow steps(*trace);
    std::set<VertexId> first;
    buffer::ShadowFeed feed(trace->facts(), {3, 7});
    for (std::uint64_t s = 0; s < trace->steps(); ++s) {
        feed.publish(s, steps.step(s));
        for (const VertexId v : followed(feed, s))
            first.insert(v);
    }
    std::ranges::reverse(plain.steps);
    plain.halo.clear();
    plain.degree.clear();
    plain.inclusion.clear();
    const auto turned = plain.host();
    buffer::TraceWindow turned_steps(*turned);
    std::set<VertexId> second;
    buffer::ShadowFeed other(turned->facts(), {3, 7});
    for (std::uint64_t s = 0; s < turned->steps(); ++s) {
        other.publish(s, turned_steps.step(s));
        for (const VertexId v : followed(other, s))
            second.insert(v);
    }
    EXPECT_EQ(first, second);
}

TEST(ShadowFeeds, FactsAreThoseOfTheFollowedHalo) {
    const PlainTrace plain = random_trace(5, {400, 2, 50});
    const auto trace = plain.host();
    const buffer::ShadowFeed feed(trace->facts(), {4, 0});
    const buffer::PolicyFacts facts = feed.facts();
    ASSERT_GT(facts.rows->halo(), 0U);
    ASSERT_EQ(facts.halo_degree.size(), facts.rows->halo());
    ASSERT_EQ(facts.inclusion.size(), facts.rows->halo());
    VertexId before = 0;
    for (buffer::RowKey row = 0; row < facts.rows->halo(); ++row) {
        const VertexId v = facts.rows->vertex(row);
        EXPECT_TRUE(row == 0 || v > before);
        before = v;
        const auto at = std::ranges::lower_bound(plain.halo, v) - plain.halo.begin();
        ASSERT_EQ(plain.halo[static_cast<std::size_t>(at)], v);
        EXPECT_EQ(facts.halo_degree[row], plain.degree[static_cast<std::size_t>(at)]);
        EXPECT_EQ(facts.inclusion[row], plain.inclusion[static_cast<std::size_t>(at)]);
    }
    EXPECT_EQ(facts.listed.size(), plain.listed.size());
    EXPECT_EQ(facts.steps, trace->facts().steps);
}

TEST(ShadowFeeds, CapacitiesAreScaledAndRounded) {
    const auto trace = random_trace(1).host();
    const buffer::ShadowFeed sixteenth(trace->facts(), {16, 0});
    EXPECT_EQ(sixteenth.scaled(0), 0U);
    EXPECT_EQ(sixteenth.scaled(7), 0U);
    EXPECT_EQ(sixteenth.scaled(8), 1U);
    EXPECT_EQ(sixteenth.scaled(1600), 100U);
    const buffer::ShadowFeed all(trace->facts(), {1, 0});
    for (const buffer::SlotId capacity : {0U, 1U, 77U})
        EXPECT_EQ(all.scaled(capacity), capacity);
}

TEST(ShadowFeeds, ForgetWhatNobodyAsksForAnyMore) {
    const PlainTrace plain = random_trace(6);
    const auto trace = plain.host();
    buffer::TraceWindow steps(*trace);
    buffer::ShadowFeed feed(trace->facts(), {2, 0}, 100);
    EXPECT_EQ(feed.begin(), 100U);
    EXPECT_EQ(feed.end(), 100U);
    for (std::uint64_t s = 0; s < 10; ++s)
        feed.publish(100 + s, steps.step(s));
    EXPECT_EQ(feed.end(), 110U);
    const auto held = feed.step(104);
    const std::vector<buffer::RowKey> rows = held->rows;
    feed.forget(106);
    EXPECT_EQ(feed.begin(), 106U);
    EXPECT_THROW(static_cast<void>(feed.step(105)), InternalError);
    EXPECT_THROW(static_cast<void>(feed.step(110)), InternalError);
    // Memory is used again, but never that of a step which somebody still has.
    for (std::uint64_t s = 10; s < 30; ++s)
        feed.publish(100 + s, steps.step(s));
    EXPECT_EQ(held->rows, rows);
    feed.forget(1000);
    EXPECT_EQ(feed.begin(), feed.end());
    EXPECT_EQ(feed.end(), 130U);
}

TEST(ShadowFeeds, StepsComeInOrder) {
    const auto trace = random_trace(1).host();
    buffer::TraceWindow steps(*trace);
    buffer::ShadowFeed feed(trace->facts(), {2, 0}, 5);
    EXPECT_THROW(feed.publish(4, steps.step(0)), InternalError);
    EXPECT_THROW(feed.publish(6, steps.step(0)), InternalError);
    feed.publish(5, steps.step(0));
    EXPECT_THROW(feed.publish(5, steps.step(0)), InternalError);
    EXPECT_GT(feed.bytes(), 0U);
}

TEST(ShadowFeeds, OneServesManyShadows) {
    const auto trace = random_trace(8, {300, 60, 60}).host();
    buffer::TraceWindow steps(*trace);
    const auto feed =
        std::make_shared<buffer::ShadowFeed>(trace->facts(), buffer::ShadowOptions{1, 0});
    for (std::uint64_t s = 0; s < trace->steps(); ++s)
        feed->publish(s, steps.step(s));
    for (const char* text : {"lru", "clock", "scored,every:4", "window:8"}) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        buffer::ShadowBuffer shadow(spec, feed, 30, 20);
        for (std::uint64_t s = 0; s < trace->steps(); ++s)
            shadow.advance();
        EXPECT_EQ(shadow.counted(), buffer::replay_host(*trace, spec, 20)) << text;
        EXPECT_EQ(shadow.spec(), spec);
        EXPECT_EQ(shadow.next_step(), trace->steps());
    }
}

TEST(ShadowFeeds, AShadowThatBeginsLateSeesWhatIsLeft) {
    const auto trace = random_trace(9).host();
    buffer::TraceWindow steps(*trace);
    const auto feed =
        std::make_shared<buffer::ShadowFeed>(trace->facts(), buffer::ShadowOptions{1, 0});
    for (std::uint64_t s = 0; s < trace->steps(); ++s)
        feed->publish(s, steps.step(s));
    feed->forget(10);
    buffer::ShadowBuffer shadow(buffer::PolicySpec::parse("lru"), feed, 8, 8, 10);
    std::uint64_t needed = 0;
    for (std::uint64_t s = 10; s < trace->steps(); ++s) {
        shadow.advance();
        needed += steps.step(s).size();
    }
    EXPECT_EQ(shadow.counted().needed, needed);
    EXPECT_EQ(shadow.counted().steps, trace->steps() - 10);
}

TEST(ShadowFeeds, ACloneGoesOnAlike) {
    const auto trace = random_trace(12, {200, 50, 40}).host();
    buffer::TraceWindow steps(*trace);
    for (const char* text : {"lru", "scored,every:3", "window:6,distance:2"}) {
        const auto feed =
            std::make_shared<buffer::ShadowFeed>(trace->facts(), buffer::ShadowOptions{2, 1});
        for (std::uint64_t s = 0; s < trace->steps(); ++s)
            feed->publish(s, steps.step(s));
        buffer::ShadowBuffer shadow(buffer::PolicySpec::parse(text), feed, 40, 30);
        for (std::uint64_t s = 0; s < 20; ++s)
            shadow.advance();
        const auto copy = shadow.clone();
        for (std::uint64_t s = 20; s < trace->steps(); ++s) {
            if (s == 30) {
                shadow.set_capacity(16);
                copy->set_capacity(16);
            }
            shadow.advance({s % 5 == 0, 0.5});
            copy->advance({s % 5 == 0, 0.5});
            ASSERT_EQ(copy->counted(), shadow.counted()) << text << " step " << s;
        }
        EXPECT_EQ(copy->estimated(), shadow.estimated());
    }
}

}  // namespace
}  // namespace rudder::test
