#include "questions.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rudder/core/error.hpp"

namespace rudder::python {

namespace {

constexpr auto look_every = std::chrono::milliseconds(50);

Error nobody_answers() {
    return {ErrorKind::failed, "the interpreter has ended, or its thread for questions", "Python",
            "keep the program running until training has ended"};
}

}  // namespace

Questions& Questions::get() {
    static auto* const all = new Questions;  // tasks may outlive everything else
    return *all;
}

Reply Questions::ask(Question question, const std::function<bool()>& given_up) {
    const std::string who = question.name;
    std::unique_lock lock(mutex_);
    if (closed_) throw nobody_answers();
    question.number = ++last_;
    const auto mine = std::make_shared<Waiting>(Waiting{.number = question.number});
    waiting_.push_back(mine);
    queue_.push_back(std::move(question));
    asked_.notify_one();
    while (!answered_.wait_for(lock, look_every, [&] { return mine->done || closed_; })) {
        if (given_up && given_up()) break;
    }
    std::erase(waiting_, mine);
    if (!mine->done) {
        if (closed_) throw nobody_answers();
        throw Error(ErrorKind::failed, "the answer is not wanted any more", who, "nothing");
    }
    if (!mine->reply.problem.empty()) {
        throw Error(ErrorKind::failed, mine->reply.problem, who,
                    "fix what was registered under this name");
    }
    return std::move(mine->reply);
}

void Questions::tell(Question question) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    queue_.push_back(std::move(question));
    asked_.notify_one();
}

std::unique_ptr<Question> Questions::next(Poll poll) {
    std::unique_lock lock(mutex_);
    while (!asked_.wait_for(lock, look_every, [this] { return closed_ || !queue_.empty(); })) {
        lock.unlock();
        poll();
        lock.lock();
    }
    if (closed_) return nullptr;
    auto question = std::make_unique<Question>(std::move(queue_.front()));
    queue_.pop_front();
    return question;
}

void Questions::answer(std::uint64_t number, Reply reply) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(waiting_, number, [](const auto& w) { return w->number; });
    if (found == waiting_.end()) return;  // it was given up
    (*found)->reply = std::move(reply);
    (*found)->done = true;
    answered_.notify_all();
}

void Questions::close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    asked_.notify_all();
    answered_.notify_all();
}

}  // namespace rudder::python
