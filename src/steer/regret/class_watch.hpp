// The declared class beside a run that is steered: what each of its rivals would have fetched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "buffer/shadow_buffer.hpp"
#include "rudder/core/fields.hpp"
#include "rudder/steer/helm_totals.hpp"

#include "rivals.hpp"

namespace rudder::steer {

/// What was fetched by a buffer that is steered, and by every rival as each of some groups of rows
/// tells it. Of several buffers it is added up.
struct ClassRows {
    std::uint64_t steps = 0;
    double fetched = 0;
    std::vector<double> rivals;  ///< by group, then rival; below 0: that one lacks a fact

    ClassRows& operator+=(const ClassRows& other);

    static constexpr auto fields =
        field_list(field("steps", &ClassRows::steps, FieldKind::plain),
                   field("fetched", &ClassRows::fetched, FieldKind::plain),
                   field("rivals", &ClassRows::rivals, FieldKind::plain));
};
static_assert(lists_all_fields<ClassRows>);

/// Nothing where no step was seen, or the best rival fetches nothing.
[[nodiscard]] std::optional<Regret> regret_of(const ClassRows& rows);

/// The rows that all rivals of all groups may look at in a step of so many rows, about: what
/// following the class costs. A look takes some 50 ns, so that is at most a tenth of a millisecond
/// per step, or 3 ns for each row of the step, where the run itself takes hundreds. A million looks
/// in a whole run are allowed, too.
[[nodiscard]] std::size_t rival_looks(std::size_t rows) noexcept;

/// Runs every rival on some groups of rows, as many steps behind as the class looks ahead, so that
/// nobody has to look ahead for them. Where the looks suffice for all rows there is one group, of
/// all of them; else four, which are as large as `rival_looks` allows.
class ClassWatch {
public:
    /// `scan`, which must outlive it, publishes steps to its feeds once it has begun.
    ClassWatch(const buffer::PolicyFacts& facts, buffer::SlotId slots, std::uint64_t first_step,
               buffer::ShadowScan& scan);
    ~ClassWatch();
    ClassWatch(ClassWatch&&) = delete;

    /// The rows of a step, in order; after the scan was told of them.
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows);
    /// A step of the real buffer was taken, with these counts.
    void taken(const Rows& step);
    /// What they come to by now; takes the steps that are still due, of those that the real buffer
    /// has taken. Nothing may be published after it.
    [[nodiscard]] ClassRows finish();

    /// Rows that rivals have looked at, in all.
    [[nodiscard]] std::uint64_t looked() const noexcept { return looked_; }

private:
    struct Group;

    /// How many rows are followed goes by the largest of the first steps.
    void begin();
    void catch_up();
    void advance();

    buffer::PolicyFacts facts_;
    buffer::SlotId slots_;
    buffer::ShadowScan& scan_;
    std::vector<std::vector<buffer::RowKey>> held_;  ///< the first steps, until it has begun
    std::vector<std::unique_ptr<Group>> groups_;     ///< none before that
    std::uint64_t first_;
    std::uint64_t horizon_;
    std::uint64_t published_;
    std::uint64_t advanced_;
    std::uint64_t taken_;
    std::uint64_t looked_ = 0;
    Rows real_;
};

}  // namespace rudder::steer
