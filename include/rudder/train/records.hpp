// What is written down of every step: times, rows, bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rudder/buffer/row_counts.hpp"
#include "rudder/comm/accounts.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::train {

/// Seconds of one step or of a run. Only `step`, `stall`, `compute` and `reduce` are on the path of
/// the step; sampling and fetching happen beside it.
struct StepSeconds {
    double step = 0;     ///< from one step's end to the next's
    double sample = 0;   ///< drawing its blocks
    double fetch = 0;    ///< from the first request to the last row in place
    double stall = 0;    ///< waiting for its rows with nothing else to do
    double compute = 0;  ///< forward, backward, update
    double reduce = 0;   ///< waiting for gradients after the backward pass

    StepSeconds& operator+=(const StepSeconds& other) noexcept;
};

/// One line of metrics.jsonl.
struct StepRecord {
    std::uint64_t step = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rank = 0;
    float loss = 0;  ///< of all parts
    StepSeconds seconds;
    buffer::RowCounts rows;
    std::array<std::uint64_t, comm::kind_count> bytes{};  ///< received since the step before
    std::vector<std::uint64_t> bytes_by_owner;            ///< of its feature rows, by rank
    std::uint64_t edges = 0;                              ///< sampled
    std::string policy;                                   ///< of the buffer; empty: there is none
    std::uint64_t window = 0;                             ///< steps it looks ahead
    std::uint64_t capacity = 0;                           ///< rows it may hold
    std::uint64_t bulk = 0;                               ///< rows per message; 0: about 256 KiB
    std::uint64_t sample_threads = 0;
    std::uint64_t fetch_threads = 0;
};

/// One line of decisions.jsonl.
struct DecisionLine {
    std::uint64_t step = 0;
    std::uint32_t rank = 0;
    std::string text;  ///< without its end
};

/// Right answers out of all.
struct Score {
    std::uint64_t correct = 0;
    std::uint64_t answers = 0;
    double loss = 0;  ///< sum over the vertices

    Score& operator+=(const Score& other) noexcept {
        correct += other.correct;
        answers += other.answers;
        loss += other.loss;
        return *this;
    }
    [[nodiscard]] double share() const noexcept {
        return answers == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(answers);
    }
};

/// The scores of one epoch. Training vertices are scored as they are trained on.
struct Scores {
    Score train;
    Score valid;
    Score test;
    bool evaluated = false;  ///< valid and test are known
};

/// What an epoch came to, over all ranks.
struct EpochRecord {
    std::uint32_t epoch = 0;
    std::uint64_t steps = 0;
    double loss = 0;  ///< mean of its steps
    double seconds = 0;
    double evaluation_seconds = 0;
    Scores scores;
};

[[nodiscard]] Json to_json(const buffer::RowCounts& rows);
[[nodiscard]] Json to_json(const StepSeconds& seconds);
/// {"features": ..., "control": ...}.
[[nodiscard]] Json bytes_json(const std::array<std::uint64_t, comm::kind_count>& bytes);

}  // namespace rudder::train
