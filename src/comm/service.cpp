#include "service.hpp"

#include <atomic>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/executor/patience.hpp"
#include "core/log.hpp"
#include "core/span.hpp"

namespace rudder::comm {

namespace {

/// While answers of this many bytes to one rank have not left, its further questions wait.
constexpr std::size_t leaving_at_once = std::size_t{512} << 10;

/// The kind of an answer.
Kind answered_in(Kind question) noexcept {
    return question == Kind::requests ? Kind::features : question;
}

/// Answers of training and of evaluation have a channel each: one channel keeps one order.
Channel answer_channel(Channel channel, Kind kind) noexcept {
    return channel + (kind == Kind::evaluation ? 2 : 1);
}

}  // namespace

struct Service::State : std::enable_shared_from_this<Service::State> {
    /// A rank that asks. Its questions wait while answers to it have not left: else they would fill
    /// the way to it, and our own questions would wait behind them.
    struct Peer {
        std::deque<Message> questions;
        std::atomic<std::size_t> leaving{0};  ///< bytes of answers
        std::atomic<bool> waiting{false};     ///< it has questions that wait for them
    };

    Communicator comm;
    Channel channel;
    Handler handler;
    std::vector<Peer> peers;
    /// Held while a question and the receive of its answer are posted: answers of one rank come in
    /// the order of its questions, so the receives must be posted in that order, too.
    Monitor order;

    State(const Communicator& c, Channel ch, Handler h)
        : comm(c),
          channel(ch),
          handler(std::move(h)),
          peers(static_cast<std::size_t>(comm.size())) {}

    /// Until the empty message that the rank sends to itself; others of its own name a rank whose
    /// answers have left.
    void serve() {
        wait_patiently();
        for (;;) {
            Message message = comm.receive_message(any_source, channel).take();
            if (message.source != comm.global_rank(comm.rank())) {
                const int from = comm.group_rank(message.source);
                peer(from).questions.push_back(std::move(message));
                answer_some(from);
            } else if (message.bytes.empty()) {
                return;
            } else {
                answer_some(message.as<int>().front());
            }
        }
    }

    [[nodiscard]] Peer& peer(int rank) { return peers[static_cast<std::size_t>(rank)]; }

    void answer_some(int to) {
        Peer& asks = peer(to);
        while (!asks.questions.empty()) {
            if (asks.leaving >= leaving_at_once) {
                asks.waiting = true;
                // The last of them may have left before it could see that.
                if (asks.leaving >= leaving_at_once || !asks.waiting.exchange(false)) return;
            }
            const Message question = std::move(asks.questions.front());
            asks.questions.pop_front();
            answer(to, question);
        }
    }

    void answer(int to, const Message& question) {
        const Span span("serving");
        auto bytes = handler(to, question.bytes);
        const std::size_t size = bytes.size();
        peer(to).leaving += size;
        const Request sent = comm.send_owned(to, answer_channel(channel, question.kind),
                                             answered_in(question.kind), std::move(bytes));
        sent.then([state = weak_from_this(), to, size](const std::exception_ptr&) {
            if (const auto self = state.lock()) self->has_left(to, size);
        });
    }

    /// Called by whoever makes progress: wakes the task if it held questions back.
    void has_left(int to, std::size_t bytes) {
        Peer& asks = peer(to);
        if (asks.leaving.fetch_sub(bytes) - bytes >= leaving_at_once) return;
        if (!asks.waiting.exchange(false)) return;
        std::vector<std::byte> text(sizeof(to));
        std::memcpy(text.data(), &to, sizeof(to));
        static_cast<void>(comm.send_owned(comm.rank(), channel, Kind::control, std::move(text)));
    }
};

Service::Service(const Communicator& comm, Channel channel, Handler handler)
    : state_(std::make_shared<State>(comm, channel, std::move(handler))) {
    RUDDER_CHECK(channel + service_channels <= channel_limit);
    task_ = Executor::current().spawn(fmt::format("service {}", channel),
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

}  // namespace rudder::comm
