// What is written down of every step: times, rows, bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rudder/buffer/knobs.hpp"
#include "rudder/comm/bytes.hpp"
#include "rudder/core/rows.hpp"
#include "rudder/core/seconds.hpp"

namespace rudder::train {

/// One line of metrics.jsonl.
struct StepRecord {
    std::uint64_t step = 0;
    std::uint32_t epoch = 0;
    std::uint32_t rank = 0;
    float loss = 0;  ///< of all parts
    Seconds seconds;
    Rows rows;
    comm::Bytes bytes;                          ///< received since the step before
    std::vector<std::uint64_t> bytes_by_owner;  ///< of its feature rows, by rank
    std::uint64_t edges = 0;                    ///< sampled
    bool buffered = false;  ///< there is a buffer, which policy and capacity are of
    buffer::Knobs knobs;
    std::uint64_t learned = 0;  ///< of rows.demand

    static constexpr auto fields = field_list(
        field("step", &StepRecord::step, FieldKind::plain),
        field("epoch", &StepRecord::epoch, FieldKind::plain),
        field("rank", &StepRecord::rank, FieldKind::plain),
        field("loss", &StepRecord::loss, FieldKind::value, "Loss of the step over all parts"),
        field("seconds", &StepRecord::seconds), field("rows", &StepRecord::rows),
        field("bytes", &StepRecord::bytes),
        field("bytes_by_owner", &StepRecord::bytes_by_owner, FieldKind::plain),
        field("edges", &StepRecord::edges, FieldKind::count, "Edges sampled"),
        field("buffered", &StepRecord::buffered), field("knobs", &StepRecord::knobs),
        added_field("learned", &StepRecord::learned, FieldKind::count,
                    "Of rows fetched for the step alone, learned ones"));

    /// Steps the buffer looks ahead.
    [[nodiscard]] std::uint64_t window() const {
        return buffered ? buffer::horizon_of(knobs.policy) : 0;
    }
};
static_assert(lists_all_fields<StepRecord>);

/// Right answers out of all.
struct Score {
    std::uint64_t correct = 0;
    std::uint64_t answers = 0;
    double loss = 0;  ///< sum over the vertices

    static constexpr auto fields = field_list(field("correct", &Score::correct, FieldKind::count),
                                              field("answers", &Score::answers, FieldKind::count),
                                              field("loss", &Score::loss, FieldKind::value));
    Score& operator+=(const Score& other) noexcept { return add_fields(*this, other); }
    [[nodiscard]] double share() const noexcept {
        return answers == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(answers);
    }
};
static_assert(lists_all_fields<Score>);

/// How links ranked among other pairs: means over them.
struct LinkScore {
    std::uint64_t links = 0;
    double mrr = 0;  ///< of one over the rank
    // Shares of ranks up to so much.
    double hits_1 = 0;
    double hits_3 = 0;
    double hits_10 = 0;
    double hits_50 = 0;
    double hits_100 = 0;
    double auc = 0;  ///< chance that a link scores above another pair

    static constexpr auto fields =
        field_list(field("links", &LinkScore::links, FieldKind::count),
                   field("mrr", &LinkScore::mrr, FieldKind::value),
                   field("hits_1", &LinkScore::hits_1, FieldKind::value),
                   field("hits_3", &LinkScore::hits_3, FieldKind::value),
                   field("hits_10", &LinkScore::hits_10, FieldKind::value),
                   field("hits_50", &LinkScore::hits_50, FieldKind::value),
                   field("hits_100", &LinkScore::hits_100, FieldKind::value),
                   field("auc", &LinkScore::auc, FieldKind::value));
};
static_assert(lists_all_fields<LinkScore>);

/// The scores of one epoch. Training vertices are scored as they are trained on.
struct Scores {
    Score train;
    Score valid;
    Score test;
    bool evaluated = false;  ///< valid and test are known
    // Of links alone.
    std::optional<LinkScore> valid_links{};
    std::optional<LinkScore> test_links{};

    static constexpr auto fields = field_list(
        field("train", &Scores::train), field("valid", &Scores::valid),
        field("test", &Scores::test), field("evaluated", &Scores::evaluated, FieldKind::count),
        added_field("valid_links", &Scores::valid_links, FieldKind::plain, ""),
        added_field("test_links", &Scores::test_links, FieldKind::plain, ""));
};
static_assert(lists_all_fields<Scores>);

/// What an epoch came to, over all ranks.
struct EpochRecord {
    std::uint32_t epoch = 0;
    std::uint64_t steps = 0;
    double loss = 0;  ///< mean of its steps
    double seconds = 0;
    double evaluation_seconds = 0;
    Scores scores;
    bool regression = false;  ///< there is no accuracy

    static constexpr auto fields = field_list(
        field("epoch", &EpochRecord::epoch, FieldKind::count),
        field("steps", &EpochRecord::steps, FieldKind::count),
        field("loss", &EpochRecord::loss, FieldKind::value, "Mean loss of the last epoch's steps"),
        field("seconds", &EpochRecord::seconds, FieldKind::seconds,
              "Time of the last epoch, evaluation excluded"),
        field("evaluation_seconds", &EpochRecord::evaluation_seconds, FieldKind::seconds,
              "Time that training waited for the last epoch's evaluation"),
        field("", &EpochRecord::scores), field("regression", &EpochRecord::regression));

    // Shares of right answers, as far as there are any.
    [[nodiscard]] std::optional<double> train() const { return share(scores.train, true); }
    [[nodiscard]] std::optional<double> valid() const {
        return share(scores.valid, scores.evaluated);
    }
    [[nodiscard]] std::optional<double> test() const {
        return share(scores.test, scores.evaluated);
    }

private:
    [[nodiscard]] std::optional<double> share(const Score& score, bool known) const {
        if (!known || regression || score.answers == 0) return std::nullopt;
        return score.share();
    }
};

}  // namespace rudder::train
