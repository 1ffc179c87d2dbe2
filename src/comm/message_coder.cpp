#include "message_coder.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/byte_planes.hpp"
#include "core/executor/executor.hpp"
#include "rudder/core/error.hpp"

#include "gate.hpp"
#include "measure.hpp"

namespace rudder::comm {

namespace {

/// Shorter ones are not worth looking at.
constexpr std::size_t least_coded = 256;

/// Seconds of the clock, or none where time is simulated.
class CodingWatch {
public:
    explicit CodingWatch(bool timed) : timed_(timed) {
        if (timed_) begin_ = std::chrono::steady_clock::now();
    }
    [[nodiscard]] double passed() const {
        if (!timed_) return 0;
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    bool timed_;
    std::chrono::steady_clock::time_point begin_{};
};

[[noreturn]] void refuse_message(int from, const char* what) {
    throw Error(ErrorKind::rank, fmt::format("invalid message: {}", what),
                fmt::format("rank {}", from),
                "the ranks disagree about what they send each other; start all of them with the "
                "same program and options",
                from);
}

MessageForm form_of(const Message& message, int from) {
    if (message.bytes.empty()) refuse_message(from, "it is empty");
    const auto form = std::to_integer<std::uint8_t>(message.bytes.front());
    if (form > static_cast<std::uint8_t>(MessageForm::planes))
        refuse_message(from, "it is written in a way that is not known here");
    return static_cast<MessageForm>(form);
}

}  // namespace

CodingMode coding_mode(std::string_view text) {
    if (text == "off") return CodingMode::off;
    return CodingMode::automatic;
}

CodingTerms coding_terms(const Communicator& comm, CodingMode mode) {
    CodingTerms terms{mode, 0, !Executor::current().simulated()};
    if (mode == CodingMode::automatic && comm.hosts().hosts() < 2) terms.mode = CodingMode::off;
    if (terms.mode != CodingMode::automatic) return terms;
    terms.bytes_per_second = comm.transport().bytes_per_second();
    if (terms.bytes_per_second == 0) terms.bytes_per_second = measure_rate(comm);
    return terms;
}

// ---- the judge ----------------------------------------------------------------------------------

CodingJudge::Verdict CodingJudge::next() noexcept {
    if (terms_.mode == CodingMode::always) return {true, false, ~0U};
    if (begun_ == messages_tried + messages_between) begun_ = told_ = 0;
    const bool trial = begun_++ < messages_tried;
    if (trial) return {true, true, ~0U};
    return {coding_, false, planes_};
}

void CodingJudge::tell(const Trial& trial) noexcept {
    if (told_++ == 0) sum_ = {};
    sum_.plain += trial.plain;
    sum_.coded += std::min(trial.plain, trial.coded);
    sum_.seconds += trial.seconds;
    sum_.shrunk |= trial.shrunk;
    if (told_ < messages_tried) return;
    const auto saved = static_cast<double>(sum_.plain - sum_.coded);
    coding_ = terms_.bytes_per_second > 0 && sum_.seconds * terms_.bytes_per_second < saved;
    planes_ = sum_.shrunk;
}

// ---- writing ------------------------------------------------------------------------------------

/// Writes the coded form to `out`; false if the plain one is to travel.
bool MessageCoder::code(std::span<const std::byte> plain, std::size_t width, Bytes& out) {
    if (plain.size() < least_coded || plain.size() > std::numeric_limits<std::uint32_t>::max())
        return false;
    CodingJudge::Verdict verdict;
    {
        const std::scoped_lock lock(mutex_);
        verdict = judge_.next();
    }
    if (!verdict.code) return false;
    const CodingWatch watch(terms_.timed);
    out.assign(1, static_cast<std::byte>(MessageForm::planes));
    const std::uint32_t shrunk = encode_planes(plain, width, verdict.planes, out);
    double coded = watch.passed();
    if (verdict.trial) {
        Bytes back(plain.size());
        const CodingWatch other_way(terms_.timed);
        RUDDER_CHECK(decode_planes(std::span(out).subspan(1), back));
        const std::scoped_lock lock(mutex_);
        judge_.tell({plain.size(), out.size(), coded + other_way.passed(), shrunk});
        coded = watch.passed();
    }
    seconds_.fetch_add(coded, std::memory_order_relaxed);
    return out.size() < plain.size() + 1;
}

void MessageCoder::encode(Bytes& message, std::size_t width) {
    message.front() = static_cast<std::byte>(MessageForm::plain);
    Bytes coded;
    if (code(std::span(message).subspan(1), width, coded)) message.swap(coded);
}

MessageCoder::Bytes MessageCoder::encoded(std::span<const std::byte> plain, std::size_t width) {
    Bytes message;
    if (code(plain, width, message)) return message;
    message.resize(plain.size() + 1);
    message.front() = static_cast<std::byte>(MessageForm::plain);
    std::ranges::copy(plain, message.begin() + 1);
    return message;
}

// ---- reading ------------------------------------------------------------------------------------

CodedBytes MessageCoder::count(const Message& message, std::size_t plain, double seconds) {
    Counts& counts = received_[static_cast<std::size_t>(counted_as(message.kind))];
    const bool coded = message.bytes.front() != static_cast<std::byte>(MessageForm::plain);
    counts.messages.fetch_add(1, std::memory_order_relaxed);
    counts.coded.fetch_add(coded ? 1 : 0, std::memory_order_relaxed);
    counts.plain.fetch_add(plain, std::memory_order_relaxed);
    counts.travelled.fetch_add(message.bytes.size(), std::memory_order_relaxed);
    seconds_.fetch_add(seconds, std::memory_order_relaxed);
    return {1, coded ? 1U : 0U, plain, message.bytes.size()};
}

CodedBytes MessageCoder::decode(const Message& message, int from, std::span<std::byte> plain) {
    const CodingWatch watch(terms_.timed);
    const MessageForm form = form_of(message, from);
    const auto body = std::span<const std::byte>(message.bytes).subspan(1);
    if (form == MessageForm::plain) {
        if (body.size() != plain.size())
            refuse_message(from, "it has not the size that was asked for");
        std::ranges::copy(body, plain.begin());
    } else if (!decode_planes(body, plain)) {
        refuse_message(from, "it cannot be decoded to what was asked for");
    }
    return count(message, plain.size(), form == MessageForm::plain ? 0 : watch.passed());
}

CodedBytes MessageCoder::decode_any(const Message& message, int from, Bytes& plain) {
    const auto body = [&] { return std::span<const std::byte>(message.bytes).subspan(1); };
    std::size_t size = 0;
    if (form_of(message, from) == MessageForm::plain) {
        size = body().size();
    } else if (const auto told = planes_size(body())) {
        size = *told;
    } else {
        refuse_message(from, "it cannot be decoded");
    }
    plain.resize(size);
    return decode(message, from, plain);
}

CodingTotals MessageCoder::totals() const {
    const auto of = [this](Kind kind) {
        const Counts& counts = received_[static_cast<std::size_t>(kind)];
        return CodedBytes{counts.messages, counts.coded, counts.plain, counts.travelled};
    };
    return {of(Kind::features), of(Kind::topology), of(Kind::gradients), of(Kind::evaluation),
            seconds_};
}

// ---- coders of a rank ---------------------------------------------------------------------------

Coders::Coders(const Communicator& comm, CodingMode mode) {
    const CodingTerms terms = coding_terms(comm, mode);
    if (terms.mode == CodingMode::off) return;
    features = std::make_shared<MessageCoder>(terms);
    topology = std::make_shared<MessageCoder>(terms);
    gradients = std::make_shared<MessageCoder>(terms);
}

CodingTotals Coders::totals() const {
    CodingTotals sum;
    for (const auto& coder : {features, topology, gradients})
        if (coder != nullptr) sum += coder->totals();
    return sum;
}

Request place_message(const Communicator& comm, const Request& message, int from, std::size_t bytes,
                      std::function<CodedBytes(const Message& came)> place) {
    auto placed = std::make_shared<Operation>(
        comm.transport(),
        OperationName{OperationName::Type::receive, comm.global_rank(from), 0, bytes});
    auto gate = std::make_shared<Gate>();
    placed->on_withdraw([gate] { gate->close(); });
    message.then_message(
        [placed, gate, place = std::move(place)](std::exception_ptr failure, const Message& came) {
            if (failure == nullptr) {
                placed->received = came.bytes.size();
                try {
                    gate->pass([&] { placed->decoded = place(came); });
                } catch (...) {
                    failure = std::current_exception();
                }
            }
            placed->complete(std::move(failure));
        });
    return Request(placed);
}

Request place_decoded(const Communicator& comm, const Request& message, int from,
                      const std::shared_ptr<MessageCoder>& coder, std::span<std::byte> plain) {
    return place_message(
        comm, message, from, plain.size(),
        [from, coder, plain](const Message& came) { return coder->decode(came, from, plain); });
}

}  // namespace rudder::comm
