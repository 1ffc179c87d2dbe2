#include "host_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/executor/patience.hpp"
#include "rudder/buffer/policy.hpp"
#include "rudder/core/check.hpp"

namespace rudder::buffer {

namespace {

constexpr comm::Channel to_first = comm::channel_of(comm::Talk::to_first);
constexpr comm::Channel from_first = comm::channel_of(comm::Talk::from_first);
constexpr std::size_t places = 2;
constexpr std::size_t piece_bytes = std::size_t{512} << 10;

enum class Word : std::uint64_t { publish, want, taken, piece, complete, look, looked, end };

struct Head {
    Word word;
    std::uint64_t step = 0;
    /// Remote ids; first row of a piece; the place taken; steps ahead; the last step published.
    std::uint64_t a = 0;
    std::uint64_t b = 0;  ///< local ids; rows of a piece
    std::uint64_t c = 0;  ///< repeats; the place of a piece
    Delivered with{};
};

std::vector<std::byte> pack(const Head& head, std::span<const VertexId> one = {},
                            std::span<const VertexId> two = {}) {
    std::vector<std::byte> bytes(sizeof(Head) + one.size_bytes() + two.size_bytes());
    std::memcpy(bytes.data(), &head, sizeof(Head));
    if (!one.empty()) std::memcpy(bytes.data() + sizeof(Head), one.data(), one.size_bytes());
    if (!two.empty()) {
        std::memcpy(bytes.data() + sizeof(Head) + one.size_bytes(), two.data(), two.size_bytes());
    }
    return bytes;
}

/// The last of so many steps after one.
std::uint64_t last_seen(std::uint64_t step, std::uint64_t ahead) {
    return ahead > whole_trace - step ? whole_trace : step + ahead;
}

Head head_of(const comm::Message& message) {
    RUDDER_CHECK(message.bytes.size() >= sizeof(Head));
    Head head{};
    std::memcpy(&head, message.bytes.data(), sizeof(Head));
    return head;
}

RankNeeds needs_of(const comm::Message& message, const Head& head) {
    const std::size_t ids = (message.bytes.size() - sizeof(Head)) / sizeof(VertexId);
    RUDDER_CHECK(head.a <= ids && head.b == ids - head.a &&
                 message.bytes.size() == sizeof(Head) + ids * sizeof(VertexId));
    RankNeeds needs;
    needs.remote.resize(head.a);
    needs.local.resize(head.b);
    needs.repeats = head.c;
    const std::byte* at = message.bytes.data() + sizeof(Head);
    if (head.a != 0) std::memcpy(needs.remote.data(), at, head.a * sizeof(VertexId));
    at += head.a * sizeof(VertexId);
    if (head.b != 0) std::memcpy(needs.local.data(), at, head.b * sizeof(VertexId));
    return needs;
}

}  // namespace

HostExchange::HostExchange(const comm::Communicator& host, std::size_t row_bytes, Events events)
    : host_(host),
      row_bytes_(row_bytes),
      piece_rows_(std::max<std::size_t>(1, piece_bytes / row_bytes)),
      events_(std::move(events)),
      busy_(static_cast<std::size_t>(host.size()), std::vector<bool>(places, false)) {
    const auto members = static_cast<std::size_t>(host.size() - 1);
    window_ = host.share<std::byte>(members * places * piece_rows_ * row_bytes_);
    const auto start = [&](const std::string& name, std::function<void()> body) {
        tasks_.spawn(name, [this, body = std::move(body)] {
            try {
                wait_patiently();
                body();
            } catch (const Cancelled&) {
                throw;
            } catch (...) {
                const std::exception_ptr failure = std::current_exception();
                {
                    Monitor::Lock lock(monitor_);
                    if (failure_ == nullptr) failure_ = failure;
                    monitor_.notify_all();
                }
                if (events_.failed) events_.failed(failure);
            }
        });
    };
    if (!first()) start("buffer of the host", [this] { hear_first(); });
    for (int member = 1; first() && member < size(); ++member)
        start(fmt::format("buffer member {}", member), [this, member] { hear_member(member); });
}

HostExchange::~HostExchange() = default;

std::span<std::byte> HostExchange::place(int member, std::size_t which) {
    const std::size_t bytes = piece_rows_ * row_bytes_;
    const std::size_t index = static_cast<std::size_t>(member - 1) * places + which;
    return window_->subspan(index * bytes, bytes);
}

void HostExchange::send(int to, std::vector<std::byte> bytes) {
    const comm::Channel channel = first() ? from_first : to_first;
    static_cast<void>(host_.send_owned(to, channel, comm::Kind::control, std::move(bytes)));
}

// ---- members -----------------------------------------------------------------------------------

void HostExchange::publish(std::uint64_t step, const RankNeeds& needs) {
    const Head head{Word::publish, step, needs.remote.size(), needs.local.size(), needs.repeats};
    send(0, pack(head, needs.remote, needs.local));
}

std::uint64_t HostExchange::want(std::uint64_t step, std::shared_ptr<Landing> into,
                                 std::uint64_t ahead) {
    std::uint64_t told = ahead;
    {
        // What is told from here on is followed by whoever hears it.
        Monitor::Lock lock(monitor_);
        incoming_[step].into = std::move(into);
        wanted_ = step;
        told = steps_ahead_.value_or(ahead);
    }
    send(0, pack({Word::want, step, last_seen(step, ahead)}));
    return told;
}

void HostExchange::looked(std::uint64_t step) {
    send(0, pack({Word::looked, step}));
}

/// Steps that were wanted before it was said so are looked beyond here.
void HostExchange::follow_first(std::uint64_t ahead) {
    std::optional<std::uint64_t> last;
    {
        Monitor::Lock lock(monitor_);
        const bool further = ahead > std::exchange(steps_ahead_, ahead).value_or(0);
        if (further) last = wanted_;
    }
    if (!last) return;
    events_.look(*last, ahead);
    looked(last_seen(*last, ahead));
}

bool HostExchange::wait(std::uint64_t step, Delivered& with) {
    Monitor::Lock lock(monitor_);
    Incoming& mine = incoming_.at(step);
    monitor_.wait(lock, "rows from the host's first rank",
                  [&] { return mine.complete || halted_ || failure_ != nullptr; });
    if (!mine.complete) {
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        return false;
    }
    with = mine.with;
    incoming_.erase(step);
    return true;
}

std::optional<std::uint64_t> HostExchange::steps_ahead() const {
    Monitor::Lock lock(monitor_);
    return steps_ahead_;
}

Rows HostExchange::leftover() {
    Monitor::Lock lock(monitor_);
    Rows sum;
    for (const auto& [step, mine] : incoming_)
        sum += mine.with.counts;
    incoming_.clear();
    return sum;
}

void HostExchange::hear_first() {
    while (true) {
        const comm::Message message = host_.receive_message(0, from_first).take();
        const Head head = head_of(message);
        if (head.word == Word::end) return;
        if (head.word == Word::look) {
            follow_first(head.a);
            continue;
        }
        Monitor::Lock lock(monitor_);
        Incoming& mine = incoming_.at(head.step);
        if (head.word == Word::complete) {
            mine.with = head.with;
            mine.complete = true;
            monitor_.notify_all();
            continue;
        }
        const auto from = place(host_.rank(), head.c).subspan(0, head.b * row_bytes_);
        std::memcpy(mine.into->rows.data() + head.a * row_bytes_, from.data(), from.size());
        send(0, pack({Word::taken, head.step, head.c}));
    }
}

// ---- the first ---------------------------------------------------------------------------------

void HostExchange::hear_member(int member) {
    while (true) {
        const comm::Message message = host_.receive_message(member, to_first).take();
        const Head head = head_of(message);
        if (head.word == Word::end) return;
        if (head.word == Word::publish) {
            events_.published(member, head.step, needs_of(message, head));
        } else if (head.word == Word::want) {
            events_.looked(member, head.a);
            events_.wanted(member, head.step);
        } else if (head.word == Word::looked) {
            events_.looked(member, head.step);
        } else {
            Monitor::Lock lock(monitor_);
            busy_[static_cast<std::size_t>(member)][head.a] = false;
            monitor_.notify_all();
        }
    }
}

void HostExchange::deliver(int member, std::uint64_t step, std::span<const std::byte* const> rows,
                           const Delivered& with) {
    std::vector<bool>& busy = busy_[static_cast<std::size_t>(member)];
    for (std::size_t at = 0; at < rows.size(); at += piece_rows_) {
        std::size_t which = 0;
        {
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "a member to take its rows", [&] {
                return failure_ != nullptr || std::ranges::find(busy, false) != busy.end();
            });
            if (failure_ != nullptr) std::rethrow_exception(failure_);
            which = static_cast<std::size_t>(std::ranges::find(busy, false) - busy.begin());
            busy[which] = true;
        }
        const std::size_t count = std::min(piece_rows_, rows.size() - at);
        std::byte* to = place(member, which).data();
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(to + i * row_bytes_, rows[at + i], row_bytes_);
        send(member, pack({Word::piece, step, at, count, which}));
    }
    Head head{Word::complete, step};
    head.with = with;
    send(member, pack(head));
}

void HostExchange::tell_ahead(std::uint64_t steps) {
    if (std::exchange(told_, steps) == steps) return;
    for (int member = 1; member < size(); ++member)
        send(member, pack({Word::look, 0, steps}));
}

// ---- the end -----------------------------------------------------------------------------------

void HostExchange::halt() {
    Monitor::Lock lock(monitor_);
    halted_ = true;
    monitor_.notify_all();
}

void HostExchange::finish() {
    if (first()) {
        for (int member = 1; member < size(); ++member)
            send(member, pack({Word::end}));
    }
    // A member hears the first out before it says that nothing more comes from itself.
    tasks_.join();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (!first()) send(0, pack({Word::end}));
}

}  // namespace rudder::buffer
