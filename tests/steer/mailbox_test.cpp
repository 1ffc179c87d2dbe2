// The mailbox under every kind of agent, on seeded schedules and on threads.
#include "steer/helm/mailbox.hpp"

#include <map>

#include <gtest/gtest.h>

#include "core/executor/seeded_executor.hpp"
#include "core/executor/thread_executor.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const steer::Observation> question(std::uint64_t sequence) {
    auto observation = std::make_shared<steer::Observation>();
    observation->sequence = sequence;
    return observation;
}

/// A reply that says, in its note, which question it is really for.
steer::Reply reply_to(std::uint64_t sequence) {
    return {.sequence = sequence, .answer = {.note = std::to_string(sequence)}};
}

template <class Body>
void on_threads(Body body) {
    ThreadExecutor executor;
    executor.spawn("main", [&] { body(executor); }).join();
}

TEST(Mailboxes, OneQuestionOneAnswer) {
    on_threads([](Executor& executor) {
        steer::Mailbox box;
        EXPECT_FALSE(box.open());
        EXPECT_FALSE(box.poll());
        box.ask(question(1), executor.now() + 10s);
        EXPECT_TRUE(box.open());
        EXPECT_FALSE(box.poll());
        EXPECT_EQ(box.take()->sequence, 1U);
        steer::Reply reply = reply_to(1);
        reply.failure = "planted";
        box.reply(reply);
        const auto answer = box.poll();
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->answer.note, "1");
        EXPECT_EQ(answer->failure, "planted");
        EXPECT_GE(answer->seconds, 0);
        EXPECT_FALSE(box.open());
        EXPECT_FALSE(box.poll());
        const steer::MailCounts counts = box.counts();
        EXPECT_EQ(counts.posted, 1U);
        EXPECT_EQ(counts.answered, 1U);
        EXPECT_EQ(counts.late + counts.stale, 0U);
        EXPECT_GT(counts.spent, 0);
        EXPECT_EQ(counts.waited, 0);
    });
}

TEST(Mailboxes, ANewQuestionReplacesOneThatNobodyTook) {
    on_threads([](Executor& executor) {
        steer::Mailbox box;
        box.ask(question(1), executor.now() + 10s);
        box.ask(question(2), executor.now() + 10s);
        EXPECT_EQ(box.take()->sequence, 2U);
        box.reply(reply_to(1));
        EXPECT_FALSE(box.poll());
        EXPECT_TRUE(box.open());
        box.reply(reply_to(2));
        EXPECT_EQ(box.poll()->answer.note, "2");
        const steer::MailCounts counts = box.counts();
        EXPECT_EQ(counts.posted, 2U);
        EXPECT_EQ(counts.answered, 1U);
        EXPECT_EQ(counts.late, 1U);
        EXPECT_EQ(counts.stale, 1U);
    });
}

TEST(Mailboxes, TheFirstReplyStaysAndOldOnesDoNotTakeItsPlace) {
    on_threads([](Executor& executor) {
        steer::Mailbox box;
        box.ask(question(4), executor.now() + 10s);
        steer::Reply second = reply_to(4);
        second.answer.note = "again";
        box.reply(reply_to(4));
        box.reply(second);
        box.reply(reply_to(3));
        EXPECT_EQ(box.poll()->answer.note, "4");
        box.reply(second);
        EXPECT_FALSE(box.poll());
        EXPECT_EQ(box.counts().stale, 3U);
        EXPECT_EQ(box.counts().late, 0U);
    });
}

TEST(Mailboxes, LateIsLateOnce) {
    SeededExecutor executor(1);
    executor.spawn("main", [&] {
        steer::Mailbox box;
        box.ask(question(1), executor.now() + 10ms);
        executor.sleep_for(11ms);
        EXPECT_FALSE(box.open());
        EXPECT_FALSE(box.open());
        box.reply(reply_to(1));
        EXPECT_FALSE(box.poll());
        EXPECT_EQ(box.counts().late, 1U);
        EXPECT_EQ(box.counts().stale, 0U) << "its question counts";
        box.reply(reply_to(1));
        EXPECT_FALSE(box.poll());
        EXPECT_EQ(box.counts().stale, 1U);

        // In time, but looked at later: the agent is not to blame.
        box.ask(question(2), executor.now() + 10ms);
        executor.sleep_for(10ms);
        box.reply(reply_to(2));
        executor.sleep_for(5ms);
        EXPECT_TRUE(box.open());
        const auto reply = box.poll();
        ASSERT_TRUE(reply);
        EXPECT_DOUBLE_EQ(reply->seconds, 0.010);

        box.ask(question(3), executor.now() + 10ms);
        box.close();
        EXPECT_FALSE(box.open());
        EXPECT_EQ(box.take(), nullptr);
        EXPECT_EQ(box.counts().posted, 3U);
        EXPECT_EQ(box.counts().late, 2U);
        EXPECT_EQ(box.counts().answered, 1U);
    });
    executor.run();
}

TEST(Mailboxes, WaitingEndsWithTheAnswerOrTheDeadline) {
    SeededExecutor executor(1);
    executor.spawn("main", [&] {
        steer::Mailbox box;
        Task agent = executor.spawn("agent", [&] {
            while (const auto asked = box.take()) {
                box.reply(reply_to(asked->sequence - 1));
                executor.sleep_for(std::chrono::milliseconds(asked->sequence));
                box.reply(reply_to(asked->sequence));
            }
        });
        box.ask(question(5), executor.now() + 10ms);
        EXPECT_EQ(box.wait()->answer.note, "5");
        EXPECT_EQ(executor.now(), 5ms);
        box.ask(question(20), executor.now() + 10ms);
        EXPECT_FALSE(box.wait());
        EXPECT_EQ(executor.now(), 15ms);
        EXPECT_DOUBLE_EQ(box.counts().waited, 0.015);
        EXPECT_EQ(box.counts().late, 1U);
        EXPECT_FALSE(box.wait()) << "nothing is open";
        box.close();
        agent.join();
    });
    executor.run();
}

/// How one agent behaves, by draws.
enum class Manner : std::uint8_t { good, slow, twice, old, mute, wild, count };

/// An agent in some manner; counts its replies.
void serve(steer::Mailbox& box, Manner manner, Executor& executor, Draws draws,
           std::atomic<std::uint64_t>& replies) {
    const auto rest = [&](std::uint64_t most) {
        executor.sleep_for(std::chrono::microseconds(draws.below(most)));
    };
    const auto send = [&](std::uint64_t sequence) {
        ++replies;
        box.reply(reply_to(sequence));
    };
    std::uint64_t last = 0;
    while (const auto asked = box.take()) {
        const std::uint64_t sequence = asked->sequence;
        const Manner now =
            manner == Manner::wild
                ? static_cast<Manner>(draws.below(static_cast<std::uint64_t>(Manner::wild)))
                : manner;
        rest(now == Manner::slow ? 3000 : 300);
        if (now == Manner::mute) continue;
        if (now == Manner::old && last != 0) send(last);
        if (now != Manner::old || draws.below(2) == 0) send(sequence);
        if (now == Manner::twice) {
            rest(300);
            send(sequence);
        }
        last = sequence;
    }
}

/// Training of some steps over one mailbox, with one or two agents behind it.
void train(Executor& executor, std::uint64_t seed, std::uint64_t steps) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    steer::Mailbox box;
    std::atomic<std::uint64_t> replies{0};
    const auto manners = static_cast<std::uint64_t>(Manner::count);
    std::vector<Task> agents;
    for (std::uint64_t i = 0; i < 1 + draws.below(2); ++i) {
        agents.push_back(executor.spawn("agent", [&, i, manner = (seed + i * 3) % manners] {
            serve(box, static_cast<Manner>(manner), executor, Draws(stream, i + 1), replies);
        }));
    }
    const bool waits = draws.below(4) == 0;      // sync
    const bool impatient = draws.below(4) == 0;  // asks over an open question
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
    std::map<std::uint64_t, int> answers;
    for (std::uint64_t step = 0; step < steps; ++step) {
        executor.sleep_for(std::chrono::microseconds(draws.below(400)));
        const auto reply = waits && box.open() && draws.below(2) == 0 ? box.wait() : box.poll();
        if (reply) {
            EXPECT_EQ(reply->sequence, asked);
            EXPECT_EQ(reply->answer.note, std::to_string(asked)) << "for another question";
            EXPECT_EQ(++answers[reply->sequence], 1) << "applied twice";
            ++answered;
        }
        const bool open = box.open();  // which notices a deadline that has just passed
        const steer::MailCounts counts = box.counts();
        EXPECT_EQ(counts.posted, asked);
        EXPECT_EQ(counts.answered, answered);
        EXPECT_EQ(counts.answered + counts.late + (open ? 1 : 0), counts.posted);
        if (box.open() && !(impatient && draws.below(8) == 0)) continue;
        box.ask(question(++asked), executor.now() + std::chrono::microseconds(draws.below(2500)));
    }
    box.close();
    for (Task& agent : agents)
        agent.join();
    while (box.counts().answered + box.counts().stale < replies) {
        const steer::MailCounts before = box.counts();
        EXPECT_FALSE(box.poll());
        if (box.counts().stale == before.stale) break;  // the rest came late
    }
    const steer::MailCounts counts = box.counts();
    EXPECT_EQ(counts.posted, asked);
    EXPECT_EQ(counts.answered + counts.late, counts.posted);
    EXPECT_LE(counts.answered + counts.stale, replies);
    EXPECT_GE(counts.answered + counts.stale + counts.late, replies);
}

void simulate(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        SeededExecutor executor(seed);
        executor.spawn("training", [&] { train(executor, seed, 200); });
        ASSERT_NO_THROW(executor.run()) << "seed " << seed;
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
}

TEST(Mailboxes, SimulatedSchedules) {
    simulate(0, 40);
}

TEST(LongMailboxes, AThousandSimulatedSchedules) {
    simulate(0, 1000);
}

TEST(Mailboxes, Threads) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        on_threads([&](Executor& executor) { train(executor, seed, 200); });
    }
}

/// As fast as it goes: several tasks answer at once while training polls without rest.
TEST(Mailboxes, ThreadsWithoutRest) {
    constexpr std::uint64_t rounds = 200;
    on_threads([&](Executor& executor) {
        steer::Mailbox box;
        std::atomic<std::uint64_t> last{0};
        std::atomic<bool> over{false};
        std::atomic<std::uint64_t> replies{0};
        std::vector<Task> agents;
        for (std::uint64_t i = 0; i < 3; ++i) {
            agents.push_back(executor.spawn("agent", [&, i] {
                while (!over) {
                    executor.yield();
                    const std::uint64_t now = last;
                    if (now <= i) continue;
                    ++replies;
                    box.reply(reply_to(now - i));
                }
            }));
        }
        for (std::uint64_t sequence = 1; sequence <= rounds; ++sequence) {
            box.ask(question(sequence), executor.now() + 60s);
            last = sequence;
            std::optional<steer::Reply> reply;
            while (!reply) {
                executor.yield();
                reply = box.poll();
            }
            EXPECT_EQ(reply->sequence, sequence);
            EXPECT_EQ(reply->answer.note, std::to_string(sequence));
        }
        over = true;
        for (Task& agent : agents)
            agent.join();
        EXPECT_FALSE(box.poll()) << "nothing is open";
        EXPECT_EQ(box.counts().answered, rounds);
        EXPECT_EQ(box.counts().stale, replies - rounds);
    });
}

}  // namespace
}  // namespace rudder::test
