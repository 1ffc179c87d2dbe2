#include "service.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/executor/patience.hpp"
#include "core/log.hpp"
#include "core/span.hpp"

namespace rudder::comm {

namespace {

/// While answers of this many bytes to one rank have not left, its further questions wait; what is
/// not urgent waits for half as many, so that what is does not find the way full.
constexpr std::size_t leaving_at_once = std::size_t{512} << 10;

/// Questions in the order in which they are answered: those of steps, ahead of them, of evaluation.
enum class Turn : std::uint8_t { now, ahead, last };
constexpr std::size_t turns = 3;

Turn turn_of(Kind question) noexcept {
    if (question == Kind::requests_ahead) return Turn::ahead;
    return question == Kind::evaluation ? Turn::last : Turn::now;
}

constexpr std::size_t leaving_limit(Turn turn) noexcept {
    return turn == Turn::now ? leaving_at_once : leaving_at_once / 2;
}

/// The kind of an answer.
Kind answered_in(Kind question) noexcept {
    if (question == Kind::requests_ahead) return Kind::features_ahead;
    return question == Kind::requests ? Kind::features : question;
}

/// Answers of each turn have a channel: one channel keeps one order.
Channel answer_channel(Channel channel, Kind question) noexcept {
    static constexpr std::array<Channel, turns> answers{1, 3, 2};
    return channel + answers[static_cast<std::size_t>(turn_of(question))];
}

}  // namespace

struct Service::State : std::enable_shared_from_this<Service::State> {
    /// A rank that asks. Its questions wait while answers to it have not left: else they would fill
    /// the way to it, and our own questions would wait behind them.
    struct Peer {
        std::array<std::deque<Message>, turns> questions;
        std::atomic<std::size_t> leaving{0};  ///< bytes of answers
        std::atomic<bool> waiting{false};     ///< it has questions that wait for them
    };

    Communicator comm;
    Channel channel;
    Handler handler;
    std::vector<Peer> peers;
    std::size_t next_peer = 0;  ///< whose turn it is
    /// Memory of messages that have left. Of questions and of answers, which are longer: a question
    /// that took an answer's would leave it a short one to make longer.
    enum class Use : std::size_t { question, answer };
    struct Memory {
        std::vector<std::shared_ptr<Bytes>> left;
        std::size_t longest = 0;  ///< of all messages so far
    };
    std::mutex memory_mutex;  ///< guards `memory`; held for a few instructions
    std::array<Memory, 2> memory;
    /// Held while a question and the receive of its answer are posted: answers of one rank come in
    /// the order of its questions, so the receives must be posted in that order, too.
    Monitor order;

    State(const Communicator& c, Channel ch, Handler h)
        : comm(c),
          channel(ch),
          handler(std::move(h)),
          peers(static_cast<std::size_t>(comm.size())) {}

    /// What ends it otherwise than by that message ends this rank: the others wait for answers.
    void run() {
        try {
            serve();
        } catch (const std::exception&) {
            comm.transport().fail(std::current_exception());
            throw;
        }
    }

    /// Until the empty message that the rank sends to itself; others of its own only wake it, since
    /// answers have left. Whatever has come is taken before the next question is answered.
    void serve() {
        wait_patiently();
        while (true) {
            Request coming = comm.receive_message(any_source, channel);
            while (!coming.done() && answer_next()) {
            }
            Message message = coming.take();
            if (message.source != comm.global_rank(comm.rank())) {
                const int from = comm.group_rank(message.source);
                const auto turn = static_cast<std::size_t>(turn_of(message.kind));
                peer(from).questions[turn].push_back(std::move(message));
            } else if (message.bytes.empty()) {
                return;
            }
        }
    }

    [[nodiscard]] Peer& peer(int rank) { return peers[static_cast<std::size_t>(rank)]; }

    /// Answers one question, the most urgent; ranks take turns. False if none may be answered now.
    bool answer_next() {
        for (std::size_t turn = 0; turn < turns; ++turn) {
            for (std::size_t i = 0; i < peers.size(); ++i) {
                const std::size_t to = (next_peer + i) % peers.size();
                if (peers[to].questions[turn].empty()) continue;
                if (!may_answer(peers[to], leaving_limit(static_cast<Turn>(turn)))) continue;
                next_peer = (to + 1) % peers.size();
                const Message question = std::move(peers[to].questions[turn].front());
                peers[to].questions[turn].pop_front();
                answer(static_cast<int>(to), question);
                return true;
            }
        }
        return false;
    }

    /// Otherwise it is woken once enough have left.
    static bool may_answer(Peer& asks, std::size_t limit) {
        if (asks.leaving < limit) return true;
        asks.waiting = true;
        // The last of them may have left before it could see that.
        return asks.leaving < limit && asks.waiting.exchange(false);
    }

    void answer(int to, const Message& question) {
        const Span span("serving");
        std::shared_ptr<Answer> bytes = take_memory(Use::answer);
        handler(to, question.bytes, *bytes);
        peer(to).leaving += bytes->size();
        const Request sent =
            comm.send(to, answer_channel(channel, question.kind), answered_in(question.kind),
                      std::span<const std::byte>(*bytes));
        sent.then([state = weak_from_this(), to, bytes](const std::exception_ptr&) {
            if (const auto self = state.lock()) self->has_left(to, bytes);
        });
    }

    void send_question(int to, Kind kind, const std::shared_ptr<Bytes>& question) {
        comm.send(to, channel, kind, std::span<const std::byte>(*question))
            .then([state = weak_from_this(), question](const std::exception_ptr&) {
                if (const auto self = state.lock()) self->give_back(Use::question, question);
            });
    }

    /// The same once the receive of its answer is posted. Without the question that would take the
    /// answer to another one, so this rank ends.
    void send_or_fail(int to, Kind kind, const std::shared_ptr<Bytes>& question) {
        try {
            send_question(to, kind, question);
        } catch (const std::exception&) {
            comm.transport().fail(std::current_exception());
            throw;
        }
    }

    void give_back(Use use, const std::shared_ptr<Bytes>& bytes) {
        const std::scoped_lock lock(memory_mutex);
        Memory& of_use = memory[static_cast<std::size_t>(use)];
        of_use.longest = std::max(of_use.longest, bytes->size());
        of_use.left.push_back(bytes);
    }

    /// With room for a message somewhat longer than any before: lengths vary from step to step, and
    /// memory that is seldom used would otherwise have to grow now and then.
    [[nodiscard]] std::shared_ptr<Bytes> take_memory(Use use) {
        std::shared_ptr<Bytes> bytes;
        std::size_t room = 0;
        {
            const std::scoped_lock lock(memory_mutex);
            Memory& of_use = memory[static_cast<std::size_t>(use)];
            room = of_use.longest;
            if (!of_use.left.empty()) {
                bytes = std::move(of_use.left.back());
                of_use.left.pop_back();
            }
        }
        if (bytes == nullptr) bytes = std::make_shared<Bytes>();
        bytes->clear();
        if (bytes->capacity() < room) bytes->reserve(room + room / 4);
        return bytes;
    }

    /// Called by whoever makes progress: wakes the task if it held questions back.
    void has_left(int to, const std::shared_ptr<Answer>& answer) {
        const std::size_t bytes = answer->size();
        give_back(Use::answer, answer);
        Peer& asks = peer(to);
        if (asks.leaving.fetch_sub(bytes) - bytes >= leaving_limit(Turn::last)) return;
        if (!asks.waiting.exchange(false)) return;
        static_cast<void>(comm.send_owned(comm.rank(), channel, Kind::control, {std::byte{1}}));
    }
};

Service::Service(const Communicator& comm, Channel channel, Handler handler)
    : state_(std::make_shared<State>(comm, channel, std::move(handler))) {
    RUDDER_CHECK(channel + service_channels <= channel_limit);
    task_ = Executor::current().spawn(fmt::format("service {}", channel),
                                      [state = state_] { state->run(); });
}

Service::~Service() {
    // What has been thrown may be the end of ranks that a question waits for.
    if (std::uncaught_exceptions() > 0) task_.cancel();
    if (!task_.done()) send_end();
    task_.settle();
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

std::shared_ptr<Service::Bytes> Service::memory() const {
    return state_->take_memory(State::Use::question);
}

Request Service::ask(int to, Kind kind, const std::shared_ptr<Bytes>& question,
                     std::span<std::byte> answer) const {
    RUDDER_CHECK(to != state_->comm.rank());
    Monitor::Lock lock(state_->order);
    Request answered =
        state_->comm.receive(to, answer_channel(state_->channel, kind), answer, answered_in(kind));
    state_->send_or_fail(to, kind, question);
    return answered;
}

Request Service::ask(int to, Kind kind, std::vector<std::byte> question) const {
    RUDDER_CHECK(to != state_->comm.rank());
    const std::shared_ptr<Bytes> bytes = memory();
    bytes->assign(question.begin(), question.end());
    return ask_message(to, kind, bytes);
}

Request Service::ask_message(int to, Kind kind, const std::shared_ptr<Bytes>& question) const {
    RUDDER_CHECK(to != state_->comm.rank());
    Monitor::Lock lock(state_->order);
    Request answered = state_->comm.receive_message(to, answer_channel(state_->channel, kind));
    state_->send_or_fail(to, kind, question);
    return answered;
}

/// The empty message that ends the task.
void Service::send_end() {
    const Communicator& comm = state_->comm;
    static_cast<void>(comm.send_owned(comm.rank(), state_->channel, Kind::control, {}));
}

void Service::stop() {
    if (!task_.valid()) return;
    send_end();
    task_.finish();
}

}  // namespace rudder::comm
