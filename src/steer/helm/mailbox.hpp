// The only way between training and an agent: one slot each way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/executor/monitor.hpp"
#include "rudder/steer/agent.hpp"

namespace rudder::steer {

/// What came back for a question.
struct Reply {
    std::uint64_t sequence = 0;  ///< of the question
    Answer answer;
    std::string failure;  ///< why there is no answer; empty: there is one
    double seconds = 0;   ///< from the question to the answer; the mailbox sets it
};

/// Counts of what became of questions: each ends as answered or late, once. Replies that were
/// dropped are stale, but for the first to a last question that was too late: its question counts.
struct MailCounts {
    std::uint64_t posted = 0;
    std::uint64_t answered = 0;  ///< in time
    std::uint64_t late = 0;      ///< after their deadline, replaced by another, or never
    std::uint64_t stale = 0;     ///< answers to a question that was not the last one, or again
    double waited = 0;           ///< seconds that training waited (sync)
    double spent = 0;            ///< seconds in calls of the training side
};

/// One question and one answer at most. The training side posts and polls and never blocks; a new
/// question replaces one that nobody has taken. The agent's side waits for questions and posts
/// replies, any of them, whenever it likes, from any task. A reply counts only if its sequence is
/// that of the last question and it came before its deadline; all others are dropped and counted.
/// A second reply to a question never takes the place of the first.
class Mailbox {
public:
    Mailbox();
    ~Mailbox();

    // The training side: one call at a time.
    /// Posts a question to be answered by `deadline` (of the executor's time). Its sequence must be
    /// higher than that of the one before.
    void ask(std::shared_ptr<const Observation> question, Duration deadline);
    /// Whether a question is open: posted, not answered, its deadline not passed. Notes, once, when
    /// the deadline has passed.
    [[nodiscard]] bool open();
    /// The answer to the open question, if it has come.
    [[nodiscard]] std::optional<Reply> poll();
    /// The same, waiting for it until the deadline.
    [[nodiscard]] std::optional<Reply> wait();
    /// No more questions: the agent's wait ends. An open question counts as late.
    void close();
    [[nodiscard]] MailCounts counts() const;

    // The agent's side.
    /// The next question, which it waits for; null once closed. On threads it looks now and then,
    /// ever more rarely (10 ms at most), since to be woken would cost training microseconds.
    [[nodiscard]] std::shared_ptr<const Observation> take();
    void reply(Reply reply);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::steer
