#include "rudder/comm/service.hpp"

#include <fmt/format.h>

#include "rudder/core/executor/monitor.hpp"
#include "rudder/core/log.hpp"

namespace rudder {

namespace {

/// The kind of an answer.
Kind answered_in(Kind question) noexcept {
    return question == Kind::requests ? Kind::features : question;
}

/// Answers of training and of evaluation have a channel each: one channel keeps one order.
Channel answer_channel(Channel channel, Kind kind) noexcept {
    return channel + (kind == Kind::evaluation ? 2 : 1);
}

}  // namespace

struct Service::State {
    Communicator comm;
    Channel channel;
    Handler handler;
    /// Held while a question and the receive of its answer are posted: answers of one rank come in
    /// the order of its questions, so the receives must be posted in that order, too.
    Monitor order;

    State(const Communicator& c, Channel ch, Handler h)
        : comm(c), channel(ch), handler(std::move(h)) {}

    /// Until the empty message that the rank sends to itself.
    void serve() {
        for (;;) {
            const Message question = comm.receive_message(any_source, channel).take();
            if (question.source == comm.global_rank(comm.rank())) return;
            answer(question);
        }
    }

    void answer(const Message& question) {
        const int from = comm.group_rank(question.source);
        auto bytes = handler(from, question.bytes);
        static_cast<void>(comm.send_owned(from, answer_channel(channel, question.kind),
                                          answered_in(question.kind), std::move(bytes)));
    }
};

Service::Service(const Communicator& comm, Channel channel, Handler handler)
    : state_(std::make_shared<State>(comm, channel, std::move(handler))) {
    RUDDER_CHECK(channel >= user_channels && channel + 2 < channel_limit);
    task_ = Executor::current().spawn(
        fmt::format("rank {}: service {}", comm.global_rank(comm.rank()), channel),
        [state = state_] { state->serve(); });
}

Service::~Service() {
    try {
        stop();
    } catch (const std::exception& error) {
        log::debug(fmt::format("a service ended with: {}", error.what()));
    } catch (...) {
        // Cancelled: whoever destroys this is being unwound itself.
        task_.cancel();
    }
}

Request Service::ask(int to, Kind kind, std::vector<std::byte> question,
                     std::span<std::byte> answer) const {
    RUDDER_CHECK(to != state_->comm.rank());
    Monitor::Lock lock(state_->order);
    Request answered =
        state_->comm.receive(to, answer_channel(state_->channel, kind), answer, answered_in(kind));
    static_cast<void>(state_->comm.send_owned(to, state_->channel, kind, std::move(question)));
    return answered;
}

Request Service::ask(int to, Kind kind, std::vector<std::byte> question) const {
    RUDDER_CHECK(to != state_->comm.rank());
    Monitor::Lock lock(state_->order);
    Request answered = state_->comm.receive_message(to, answer_channel(state_->channel, kind));
    static_cast<void>(state_->comm.send_owned(to, state_->channel, kind, std::move(question)));
    return answered;
}

void Service::stop() {
    if (!task_.valid()) return;
    const Communicator& comm = state_->comm;
    static_cast<void>(comm.send_owned(comm.rank(), state_->channel, Kind::control, {}));
    Task task = std::move(task_);
    task_ = Task();
    task.join();
}

}  // namespace rudder
