#include "phases.hpp"

#include <algorithm>
#include <array>

namespace rudder::report {

namespace {

struct Known {
    std::string_view text;  ///< of the span
    std::string_view name;
    std::string_view category;
};

/// The spans of training. Others keep their text.
constexpr std::array known{
    Known{"training", "step", "step"},
    Known{"waiting for rows", "stall", "stall"},
    Known{"computing", "compute", compute_category},
    Known{"updating", "update", compute_category},
    Known{"reducing gradients", "reduce", "reduce"},
    Known{"reduce", "reduce: start", "reduce"},
    Known{"fetching rows", "fetch", fetch_category},
    Known{"fetching ahead", "fetch ahead", fetch_category},
    Known{"sampling", "sample", sample_category},
    Known{"policy", "buffer", "buffer"},
    Known{"numbering rows", "buffer: number rows", "buffer"},
    Known{"keeping rows", "buffer: keep rows", "buffer"},
    Known{"agent", "agent", "agent"},
    Known{"serving", "serve", "serve"},
    Known{"taking a checkpoint", "checkpoint: copy", "checkpoint"},
    Known{"writing a checkpoint", "checkpoint", "checkpoint"},
    Known{"evaluating", "evaluate", "evaluate"},
    Known{"telling", "sinks", "sinks"},
    Known{"waiting for messages", "wait: messages", "wait"},
};

constexpr std::array<std::string_view, 11> order{
    "step",  compute_category, "reduce",   fetch_category, sample_category, "buffer",
    "agent", "serve",          "evaluate", "checkpoint",   "sinks"};

}  // namespace

PhaseName phase_name(std::string_view text, ProfileEvent::Kind kind) {
    if (kind == ProfileEvent::Kind::wait) return {"wait: " + std::string(text), "wait"};
    const auto* const found = std::ranges::find(known, text, &Known::text);
    if (found == known.end()) return {std::string(text), "other"};
    return {std::string(found->name), found->category};
}

int category_order(std::string_view category) {
    return static_cast<int>(std::ranges::find(order, category) - order.begin());
}

}  // namespace rudder::report
