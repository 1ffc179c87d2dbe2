// Questions that tasks of the engine have for Python, and the one thread there that answers them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker.hpp"

namespace rudder::python {

/// What is asked for.
enum class QuestionKind : std::uint8_t {
    make_agent,   ///< of `name`, `text` its parameters; the answer's number is its handle
    decide,       ///< `text` is the observation; the answer's text the decision
    learned,      ///< the answer's text
    make_policy,  ///< of `name`, `text` its parameters and facts; the number is its handle
    copy,         ///< of a policy; the number is the copy's handle
    advance,      ///< of a policy; the answer's ids are the rows to hold
    drop          ///< nothing is answered
};

struct Question {
    QuestionKind what = QuestionKind::drop;
    std::int64_t handle = 0;  ///< of the object that is asked
    std::string name{};
    std::string text{};
    std::uint64_t step = 0;
    std::uint64_t capacity = 0;
    std::vector<std::int64_t> rows{};    ///< of the step
    std::vector<std::int64_t> missed{};  ///< those of them that are not held
    std::vector<std::int64_t> held{};
    std::uint64_t number = 0;  ///< given when it is asked
};

struct Reply {
    std::int64_t number = 0;
    std::string text{};
    std::vector<std::int64_t> ids{};
    std::string problem{};  ///< empty: none
};

/// Tasks never take the interpreter's lock: they ask here and wait.
class Questions {
public:
    [[nodiscard]] static Questions& get();

    /// Waits for the answer. An Error where there was a problem, or nobody answers (any more), or
    /// `given_up` says so; that is looked at now and then.
    [[nodiscard]] Reply ask(Question question, const std::function<bool()>& given_up = {});
    /// Does not wait.
    void tell(Question question);

    /// The next question, for the thread that answers; waits. Null: there will be no more.
    [[nodiscard]] std::unique_ptr<Question> next(Poll poll);
    void answer(std::uint64_t number, Reply reply);
    /// Nobody answers from now on.
    void close();

private:
    struct Waiting {
        std::uint64_t number;
        bool done = false;
        Reply reply{};
    };

    std::mutex mutex_;
    std::condition_variable asked_;
    std::condition_variable answered_;
    std::deque<Question> queue_;
    std::deque<std::shared_ptr<Waiting>> waiting_;
    std::uint64_t last_ = 0;
    bool closed_ = false;
};

}  // namespace rudder::python
