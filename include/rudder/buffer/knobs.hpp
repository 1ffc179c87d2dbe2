// Knobs: what may change while a run goes on without changing its results.
#pragma once

#include <cstdint>

#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/fields.hpp"

namespace rudder::buffer {

/// Steps that a policy looks ahead; 0 where it does not.
[[nodiscard]] std::uint64_t horizon_of(const PolicySpec& policy);
/// How many steps early it fetches; 0: in the step that needs a row.
[[nodiscard]] std::uint64_t distance_of(const PolicySpec& policy);

/// The values of all knobs. Window, decay, fraction and distance are parameters of the policy;
/// where the policy has no such parameter, the knob does nothing.
struct Knobs {
    PolicySpec policy{*all_policies().front()};  ///< none
    std::uint64_t capacity = 0;                  ///< rows
    std::uint64_t bulk = 0;                      ///< rows per message, at most; 0: about 256 KiB
    std::uint64_t sample_threads = 1;
    std::uint64_t fetch_threads = 1;
    std::uint64_t demand_first = 1;  ///< rows that steps wait for pass those fetched ahead; 0: not
    std::uint64_t in_flight = 2;     ///< assembled steps at a time
    std::uint64_t buckets = 0;       ///< groups of gradients; 0: as the link allows

    static constexpr auto fields = field_list(
        field("policy", &Knobs::policy),
        field("capacity", &Knobs::capacity, FieldKind::setting, "Rows the buffer may hold"),
        field("bulk", &Knobs::bulk, FieldKind::setting, "Most rows per message; 0: about 256 KiB"),
        field("sample_threads", &Knobs::sample_threads, FieldKind::setting, "Tasks that sample"),
        field("fetch_threads", &Knobs::fetch_threads, FieldKind::setting, "Tasks that fetch"),
        field("demand_first", &Knobs::demand_first, FieldKind::setting,
              "Whether rows that steps wait for pass rows fetched ahead"),
        field("in_flight", &Knobs::in_flight, FieldKind::setting, "Assembled steps at a time"),
        field("buckets", &Knobs::buckets, FieldKind::setting,
              "Groups in which gradients are reduced; 0: as the link allows"));

    friend bool operator==(const Knobs&, const Knobs&) = default;
};
static_assert(lists_all_fields<Knobs>);

}  // namespace rudder::buffer
