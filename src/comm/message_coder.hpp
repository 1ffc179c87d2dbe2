// Messages made shorter without loss, where that takes less time than the bytes it saves.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "rudder/comm/bytes.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/raw_vector.hpp"

namespace rudder::comm {

/// How a message is written: its first byte. A further way to write rows is one more of these, with
/// a pair of functions that write and read it beside those of `planes` (core/byte_planes).
enum class MessageForm : std::uint8_t { plain = 0, planes = 1 };

/// Whether messages have such a byte, and may be coded: where it pays, or (for tests) wherever it
/// makes them shorter.
enum class CodingMode : std::uint8_t { off, automatic, always };
/// Of "off" and "auto".
[[nodiscard]] CodingMode coding_mode(std::string_view text);

/// What coding is judged by.
struct CodingTerms {
    CodingMode mode = CodingMode::off;
    double bytes_per_second = 0;  ///< of the link; 0: so fast that nothing pays
    bool timed = true;            ///< false: coding takes no time (where time is simulated)
};
/// Collective: the rate is the modelled link's, else that of a few messages from each rank to the
/// next, the slowest of all ranks. Nothing is coded within one host.
[[nodiscard]] CodingTerms coding_terms(const Communicator& comm, CodingMode mode);

/// Whether messages of one kind are worth coding, by trials: the first few, and again a few now and
/// then, are coded, decoded and timed; what they took is held against the bytes they saved at the
/// rate of the link. Not safe from several threads.
class CodingJudge {
public:
    static constexpr unsigned messages_tried = 4;
    static constexpr unsigned messages_between = 512;

    explicit CodingJudge(const CodingTerms& terms) : terms_(terms) {}

    /// What is to be done about the next message.
    struct Verdict {
        bool code = false;
        bool trial = false;          ///< time it, and tell
        std::uint32_t planes = ~0U;  ///< that shrank when all were tried
    };
    [[nodiscard]] Verdict next() noexcept;
    /// What came of a trial.
    struct Trial {
        std::size_t plain = 0;
        std::size_t coded = 0;
        double seconds = 0;  ///< to code and decode
        std::uint32_t shrunk = 0;
    };
    void tell(const Trial& trial) noexcept;
    [[nodiscard]] bool coding() const noexcept { return coding_; }

private:
    CodingTerms terms_;
    unsigned begun_ = 0;  ///< messages of this round
    unsigned told_ = 0;   ///< trials of this round
    Trial sum_;
    bool coding_ = false;
    std::uint32_t planes_ = 0;
};

/// Writes and reads the messages of one kind of traffic on one rank. Safe from any thread.
class MessageCoder {
public:
    using Bytes = RawVector<std::byte>;

    explicit MessageCoder(const CodingTerms& terms) : terms_(terms), judge_(terms) {}

    /// `message` holds one byte of room, then elements of `width` bytes: codes it in place, if that
    /// pays.
    void encode(Bytes& message, std::size_t width);
    /// The same for bytes elsewhere.
    [[nodiscard]] Bytes encoded(std::span<const std::byte> plain, std::size_t width);

    // A message that is not what `encode` makes is an Error that names who sent it (`from`).
    // Both say what they count the message as.
    /// Of exactly the size of `plain`.
    CodedBytes decode(const Message& message, int from, std::span<std::byte> plain);
    /// Of any size; its bytes are put in the place of `plain`.
    CodedBytes decode_any(const Message& message, int from, Bytes& plain);
    [[nodiscard]] Bytes decoded(const Message& message, int from) {
        Bytes plain;
        decode_any(message, from, plain);
        return plain;
    }

    /// What has been received.
    [[nodiscard]] CodingTotals totals() const;

private:
    [[nodiscard]] bool code(std::span<const std::byte> plain, std::size_t width, Bytes& out);
    CodedBytes count(const Message& message, std::size_t plain, double seconds);

    CodingTerms terms_;
    std::mutex mutex_;  ///< guards the judge; held for a few instructions
    CodingJudge judge_;
    struct Counts {
        std::atomic<std::uint64_t> messages{0}, coded{0}, plain{0}, travelled{0};
    };
    std::array<Counts, kind_count> received_{};
    std::atomic<double> seconds_{0};
};

/// The coders of a rank's kinds of traffic; null where nothing is coded.
struct Coders {
    std::shared_ptr<MessageCoder> features;
    std::shared_ptr<MessageCoder> topology;
    std::shared_ptr<MessageCoder> gradients;

    Coders() = default;
    /// Collective.
    Coders(const Communicator& comm, CodingMode mode);
    [[nodiscard]] bool used() const noexcept { return features != nullptr; }
    [[nodiscard]] CodingTotals totals() const;
};

/// A message under way, put into place by `place` when it comes: done once it is there; an Error of
/// `place` is that of the request, and what it returns is what the request says that it decoded.
/// `bytes` (what it fills) names the request.
[[nodiscard]] Request place_message(const Communicator& comm, const Request& message, int from,
                                    std::size_t bytes,
                                    std::function<CodedBytes(const Message& came)> place);
/// The same by `coder`. `plain` must stay until then.
[[nodiscard]] Request place_decoded(const Communicator& comm, const Request& message, int from,
                                    const std::shared_ptr<MessageCoder>& coder,
                                    std::span<std::byte> plain);

}  // namespace rudder::comm
