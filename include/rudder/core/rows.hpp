// Feature rows of a step, a stretch or a run, by the way they came (design section 10).
#pragma once

#include "rudder/core/fields.hpp"

namespace rudder {

/// needed = local + hit + demand. Where ids alone are counted, `local` and `saved` are 0.
struct Rows {
    std::uint64_t steps = 0;  ///< that were counted, where they are
    std::uint64_t needed = 0;
    std::uint64_t local = 0;
    std::uint64_t hit = 0;
    std::uint64_t demand = 0;
    std::uint64_t replacement = 0;
    std::uint64_t ahead = 0;
    std::uint64_t wasted = 0;  ///< replacement or ahead, and left before any use
    std::uint64_t saved = 0;   ///< further uses in the same step

    static constexpr auto fields = field_list(
        field("steps", &Rows::steps),
        field("needed", &Rows::needed, FieldKind::count, "Input rows the step read"),
        field("local", &Rows::local, FieldKind::count, "Of these, rows of the host itself"),
        field("hit", &Rows::hit, FieldKind::count, "Of these, rows found in the buffer"),
        field("demand", &Rows::demand, FieldKind::count,
              "Of these, rows fetched for this step alone"),
        field("replacement", &Rows::replacement, FieldKind::count, "Rows fetched by a replacement"),
        field("ahead", &Rows::ahead, FieldKind::count, "Rows fetched ahead of their use"),
        field("wasted", &Rows::wasted, FieldKind::count,
              "Rows fetched for the buffer and dropped unused"),
        field("saved", &Rows::saved, FieldKind::count,
              "Further uses of rows within the step, which count once"));

    [[nodiscard]] std::uint64_t fetched() const noexcept { return demand + replacement + ahead; }
    Rows& operator+=(const Rows& other) noexcept { return add_fields(*this, other); }
    friend Rows operator-(const Rows& a, const Rows& b) noexcept { return minus_fields(a, b); }
    friend bool operator==(const Rows&, const Rows&) = default;
};
static_assert(lists_all_fields<Rows>);

}  // namespace rudder
