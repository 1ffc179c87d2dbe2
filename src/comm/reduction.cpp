#include "reduction.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/core/element.hpp"

#include "gate.hpp"

namespace rudder::comm {

namespace {

constexpr Channel scatter_channels = channel_of(Talk::scatter);
constexpr Channel result_channels = channel_of(Talk::sums);
/// Floats per piece: large enough that a message's cost vanishes, small enough to pipeline.
constexpr std::size_t piece_floats = std::size_t{1} << 15;

struct Range {
    std::size_t begin;
    std::size_t end;
    [[nodiscard]] std::size_t size() const { return end - begin; }
};

/// The piece of the vector that a rank adds up.
Range segment_of(std::size_t count, int rank, int ranks) {
    const auto at = [&](int r) {
        return count * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
    };
    return {at(rank), at(rank + 1)};
}

std::size_t pieces_in(const Range& segment) {
    return (segment.size() + piece_floats - 1) / piece_floats;
}

Range piece_of(const Range& segment, std::size_t index) {
    const std::size_t begin = segment.begin + index * piece_floats;
    return {begin, std::min(begin + piece_floats, segment.end)};
}

/// A vector as it travels: its floats themselves, or their upper halves.
class WireFloats {
public:
    WireFloats() = default;
    WireFloats(std::byte* at, SumPrecision precision) : at_(at), precision_(precision) {}

    [[nodiscard]] static std::size_t width(SumPrecision precision) noexcept {
        return precision == SumPrecision::float32 ? sizeof(float) : sizeof(std::uint16_t);
    }
    [[nodiscard]] std::span<std::byte> bytes(std::size_t begin, std::size_t count) const {
        const std::size_t each = width(precision_);
        return {at_ + begin * each, count * each};
    }
    [[nodiscard]] bool narrow() const noexcept { return precision_ == SumPrecision::bfloat16; }

    /// Calls `f(i, value)` for the values from `begin` on.
    template <class F>
    void each(std::size_t begin, std::size_t count, F&& f) const {
        if (narrow()) {
            const auto* from = reinterpret_cast<const std::uint16_t*>(at_) + begin;
            for (std::size_t i = 0; i < count; ++i)
                f(i, bf16_to_float(from[i]));
        } else {
            const auto* from = reinterpret_cast<const float*>(at_) + begin;
            for (std::size_t i = 0; i < count; ++i)
                f(i, from[i]);
        }
    }
    /// Rounds values to where they travel from; of narrow ones alone.
    void round(std::size_t begin, std::span<const float> values) const {
        auto* to = reinterpret_cast<std::uint16_t*>(at_) + begin;
        for (std::size_t i = 0; i < values.size(); ++i)
            to[i] = float_to_bf16(values[i]);
    }

private:
    std::byte* at_ = nullptr;
    SumPrecision precision_ = SumPrecision::float32;
};

}  // namespace

/// One reduction under way. Callbacks of its messages keep it alive; the last one ends it.
struct OrderedReducer::Reduction : std::enable_shared_from_this<Reduction> {
    Reduction(const OrderedReducer& reducer, const std::vector<std::span<const float>>& given,
              std::span<float> result, Kind of_kind, std::uint32_t in_slot, SumPrecision in)
        : comm(reducer.comm_),
          coder(reducer.coder_),
          owner(reducer.owner_),
          of_rank(reducer.of_rank_),
          out(result),
          kind(of_kind),
          slot(in_slot),
          precision(in),
          segment(segment_of(out.size(), comm.rank(), comm.size())),
          inputs(owner.size()),
          pending(pieces_in(segment)),
          summed(pending.size()),
          operation(std::make_shared<Operation>(
              comm.transport(),
              OperationName{OperationName::Type::reduction, -1, 0, out.size_bytes()})) {
        prepare(reducer.own_, given);
    }

    /// Where everything travels from and to.
    void prepare(const std::vector<std::uint32_t>& own,
                 const std::vector<std::span<const float>>& given) {
        const std::size_t each = WireFloats::width(precision);
        if (precision == SumPrecision::float32) {
            sum = WireFloats(reinterpret_cast<std::byte*>(out.data()), precision);
            for (std::size_t i = 0; i < given.size(); ++i) {
                // Only read, as those of others are once they have come.
                auto* values = const_cast<float*>(given[i].data());
                inputs[own[i]] = {WireFloats(reinterpret_cast<std::byte*>(values), precision), 0};
            }
        } else {
            rounded.resize((given.size() + 1) * out.size() * each);
            const auto place = [&](std::size_t i) {
                return WireFloats(rounded.data() + i * out.size() * each, precision);
            };
            sum = place(given.size());
            for (std::size_t i = 0; i < given.size(); ++i) {
                place(i).round(0, given[i]);
                inputs[own[i]] = {place(i), 0};
            }
        }
        remote = owner.size() - given.size();
        scratch.resize(remote * segment.size() * each);
        std::size_t next = 0;
        for (std::size_t c = 0; c < owner.size(); ++c) {
            if (owner[c] == comm.rank()) continue;
            std::byte* at = scratch.data() + segment.size() * each * next++;
            inputs[c] = {WireFloats(at, precision), segment.begin};
        }
    }

    /// One message more or one less to wait for; the reduction ends with the last.
    void begin_one() { left.fetch_add(1, std::memory_order_relaxed); }
    void end_one(const std::exception_ptr& error = nullptr) {
        if (error != nullptr) {
            const std::scoped_lock lock(failure_mutex);
            if (failure == nullptr) failure = error;
        }
        if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) operation->complete(failure);
    }
    void start() {
        operation->on_withdraw([self = weak_from_this()] {
            if (const auto reduction = self.lock()) reduction->withdraw();
        });
        begin_one();  // keeps it open until everything has been posted
        try {
            receive_results();
            receive_contributions();
            send_contributions();
        } catch (...) {
            withdraw();  // what was posted must not write where nobody waits any more
            throw;
        }
        end_one();
    }

    /// Bytes as they leave: as they lie, or written by the coder to memory of their own.
    struct Written {
        std::span<const std::byte> bytes;
        std::shared_ptr<const MessageCoder::Bytes> memory;
    };
    [[nodiscard]] Written written(std::span<const std::byte> bytes) const {
        if (coder == nullptr) return {bytes, nullptr};
        auto memory = std::make_shared<const MessageCoder::Bytes>(
            coder->encoded(bytes, WireFloats::width(precision)));
        return {*memory, memory};
    }
    void send(int to, Channel channel, const Written& message) {
        begin_one();
        comm.send(to, channel, kind, message.bytes)
            .then([self = shared_from_this(), memory = message.memory](
                      const std::exception_ptr& error) { self->end_one(error); });
    }
    [[nodiscard]] Request receive(int from, Channel channel, std::span<std::byte> into) {
        Request request =
            coder == nullptr
                ? comm.receive(from, channel, into, kind)
                : place_decoded(comm, comm.receive_message(from, channel), from, coder, into);
        receives.emplace_back(request.operation());
        return request;
    }

    /// Neither what was handed in nor where the sum was to go is touched any more.
    void withdraw() {
        gate.close();
        for (const auto& receive : receives) {
            if (const auto posted = receive.lock()) posted->withdraw();
        }
    }

    void receive_results() {
        for (int r = 0; r < comm.size(); ++r) {
            if (r == comm.rank()) continue;
            const Range theirs = segment_of(out.size(), r, comm.size());
            for (std::size_t i = 0; i < pieces_in(theirs); ++i) {
                const Range piece = piece_of(theirs, i);
                begin_one();
                receive(r, result_channels + slot, sum.bytes(piece.begin, piece.size()))
                    .then([self = shared_from_this(), piece](const std::exception_ptr& error) {
                        if (error == nullptr && self->sum.narrow())
                            self->gate.pass([&] { self->widen(piece); });
                        self->end_one(error);
                    });
            }
        }
    }

    void receive_contributions() {
        for (auto& count : pending)
            count.store(remote + 1, std::memory_order_relaxed);
        for (std::size_t i = 0; i < pending.size(); ++i) {
            const Range piece = piece_of(segment, i);
            for (std::size_t c = 0; c < owner.size(); ++c) {
                if (owner[c] == comm.rank()) continue;
                begin_one();
                receive(owner[c], scatter_channels + slot, inputs[c].bytes(piece))
                    .then([self = shared_from_this(), i](const std::exception_ptr& error) {
                        self->gate.pass([&] { self->arrived(i); });
                        self->end_one(error);
                    });
            }
            arrived(i);  // the own contributions are here already
        }
    }

    void send_contributions() {
        const auto& own = of_rank[static_cast<std::size_t>(comm.rank())];
        for (int step = 1; step < comm.size(); ++step) {
            const int to = (comm.rank() + step) % comm.size();
            const Range theirs = segment_of(out.size(), to, comm.size());
            for (std::size_t i = 0; i < pieces_in(theirs); ++i) {
                const Range piece = piece_of(theirs, i);
                for (const std::uint32_t c : own)
                    send(to, scatter_channels + slot, written(inputs[c].bytes(piece)));
            }
        }
    }

    /// A contribution of piece i is here; with the last one the piece is added up and sent out.
    void arrived(std::size_t i) {
        if (pending[i].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        add_up(piece_of(segment, i));
        // Pieces may be complete in any order (a short one before a long one); they are received
        // in theirs, so that is how they must leave.
        const std::scoped_lock lock(mutex);
        summed[i] = true;
        for (; next_out < summed.size() && summed[next_out]; ++next_out)
            send_result(piece_of(segment, next_out));
    }

    void send_result(const Range& piece) {
        if (comm.size() == 1) return;
        const Written bytes = written(sum.bytes(piece.begin, piece.size()));
        for (int step = 1; step < comm.size(); ++step)
            send((comm.rank() + step) % comm.size(), result_channels + slot, bytes);
    }

    void add_up(const Range& piece) {
        float* total = out.data() + piece.begin;
        const std::size_t count = piece.size();
        if (owner.empty()) std::fill_n(total, count, 0.0F);
        for (std::size_t c = 0; c < owner.size(); ++c) {
            const Input& term = inputs[c];
            if (c == 0) {
                term.wire.each(piece.begin - term.begin, count,
                               [=](std::size_t j, float value) { total[j] = value; });
            } else {
                term.wire.each(piece.begin - term.begin, count,
                               [=](std::size_t j, float value) { total[j] += value; });
            }
        }
        if (!sum.narrow()) return;
        sum.round(piece.begin, {total, count});
        widen(piece);
    }

    /// The rounded sum, as all ranks have it.
    void widen(const Range& piece) const {
        float* to = out.data() + piece.begin;
        sum.each(piece.begin, piece.size(), [=](std::size_t j, float value) { to[j] = value; });
    }

    /// A contribution, from the position `begin` of the whole vector on.
    struct Input {
        WireFloats wire;
        std::size_t begin = 0;
        [[nodiscard]] std::span<std::byte> bytes(const Range& piece) const {
            return wire.bytes(piece.begin - begin, piece.size());
        }
    };

    Communicator comm;
    std::shared_ptr<MessageCoder> coder;  ///< null: messages are the floats alone
    std::vector<int> owner;
    std::vector<std::vector<std::uint32_t>> of_rank;
    std::span<float> out;
    Kind kind;
    std::uint32_t slot;
    SumPrecision precision;
    Range segment;
    std::vector<Input> inputs;  ///< by contribution
    WireFloats sum;
    std::vector<std::atomic<std::size_t>> pending;  ///< contributions missing, per piece
    std::size_t remote = 0;                         ///< contributions of others
    std::vector<std::byte> scratch;  ///< where those land: this rank's segment of each
    std::vector<std::byte> rounded;  ///< own ones and the sum, where they are narrower than given
    std::mutex mutex;                // guards the next two
    std::vector<bool> summed;        ///< pieces that can leave
    std::size_t next_out = 0;        ///< the first that has not
    std::mutex failure_mutex;        // innermost
    std::exception_ptr failure;
    std::atomic<std::size_t> left{0};
    Gate gate;  ///< to what the caller owns
    /// Not held: what hangs on them holds this.
    std::vector<std::weak_ptr<Operation>> receives;
    std::shared_ptr<Operation> operation;
};

OrderedReducer::OrderedReducer(const Communicator& comm, std::span<const std::uint32_t> indices,
                               std::shared_ptr<MessageCoder> coder)
    : comm_(comm),
      coder_(std::move(coder)),
      own_(indices.begin(), indices.end()),
      under_way_(slots) {
    of_rank_ = comm_.all_gather(std::span<const std::uint32_t>(own_));
    std::size_t total = 0;
    for (const auto& list : of_rank_)
        total += list.size();
    owner_.assign(total, -1);
    for (std::size_t r = 0; r < of_rank_.size(); ++r) {
        RUDDER_CHECK(std::ranges::is_sorted(of_rank_[r]));
        for (const std::uint32_t c : of_rank_[r]) {
            RUDDER_CHECK(c < total && owner_[c] == -1);
            owner_[c] = static_cast<int>(r);
        }
    }
}

Request OrderedReducer::reduce(const std::vector<std::span<const float>>& contributions,
                               std::span<float> out, Kind kind, SumPrecision precision) {
    const Span span("reduce");
    RUDDER_CHECK(contributions.size() == own_.size());
    for (const auto& values : contributions)
        RUDDER_CHECK(values.size() == out.size());
    comm_.agree("reduction", 0, out.size_bytes());
    const std::uint32_t slot = (*comm_.reductions_)++ % slots;
    under_way_[slot].wait();
    auto reduction = std::make_shared<Reduction>(*this, contributions, out, kind, slot, precision);
    reduction->start();
    under_way_[slot] = Request(reduction->operation);
    return under_way_[slot];
}

}  // namespace rudder::comm
