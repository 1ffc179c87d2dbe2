#include "flows.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace rudder::report {

namespace {

struct Known {
    std::string_view text;  ///< of the span
    std::string_view name;
    std::string_view category;
    std::string_view part = {};
};

// The parts of a step, in the words of core/step_time.hpp: a span may be of several.
constexpr std::string_view computing = "computing";
constexpr std::string_view stalling = "waiting for rows, agent";
constexpr std::string_view reducing = "gradients, slower ranks, waiting for rows, agent";

/// The spans of training. Others keep their text.
constexpr std::array known{
    Known{"training", "step", "step"},
    Known{"waiting for rows", "stall", "stall", stalling},
    Known{"computing", "compute", compute_category, computing},
    Known{"updating", "update", compute_category, computing},
    Known{"reducing gradients", "reduce", "reduce", reducing},
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
    if (kind == ProfileEvent::Kind::wait) return {"wait: " + std::string(text), "wait", {}};
    const auto* const found = std::ranges::find(known, text, &Known::text);
    if (found == known.end()) return {std::string(text), "other", {}};
    return {std::string(found->name), found->category, found->part};
}

int category_order(std::string_view category) {
    return static_cast<int>(std::ranges::find(order, category) - order.begin());
}

namespace {

struct SpanPlace {
    std::size_t thread;
    std::uint64_t start;
    std::uint64_t end;
};
using SpanPlaces = std::unordered_map<std::uint64_t, SpanPlace>;

/// The spans of a rank that flows begin and end at, by step or id.
struct Ends {
    SpanPlaces sampled;
    SpanPlaces fetched;
    SpanPlaces computed;
    SpanPlaces ahead;  ///< by id

    void note(const ProfileEvent& event, std::string_view name, std::size_t thread) {
        const SpanPlace place{thread, event.start, event.end};
        if (event.id != no_step) ahead.emplace(event.id, place);
        if (event.step == no_step) return;
        if (name == "sample") sampled.emplace(event.step, place);
        if (name == "fetch") fetched.emplace(event.step, place);
        if (name == "compute") computed.emplace(event.step, place);
    }
};

/// The last moment inside a span: an arrow at its very end would belong to what comes after it.
FlowEnd leaving(const SpanPlace& place) {
    return {place.thread, place.end > place.start ? place.end - 1 : place.end};
}

void connect(std::string_view name, const SpanPlaces& from, std::uint64_t key, const SpanPlace& to,
             std::vector<Flow>& flows) {
    const auto found = from.find(key);
    if (found == from.end()) return;
    const FlowEnd begin = leaving(found->second);
    const FlowEnd end{to.thread, to.start};
    if (begin.time <= end.time) flows.push_back({name, begin, end});
}

}  // namespace

std::vector<Flow> flows_of(const RankProfile& rank) {
    Ends ends;
    std::vector<std::string> names;
    for (const std::string& text : rank.names)
        names.push_back(phase_name(text, ProfileEvent::Kind::span).name);
    std::vector<ProfileEvent> uses;
    for (std::size_t t = 0; t < rank.threads.size(); ++t) {
        for (const ProfileEvent& event : rank.threads[t].events) {
            if (event.kind == ProfileEvent::Kind::span) ends.note(event, names[event.name], t);
            if (event.kind == ProfileEvent::Kind::use) uses.push_back(event);
        }
    }
    std::vector<Flow> flows;
    for (const auto& [step, place] : ends.fetched)
        connect("batch", ends.sampled, step, place, flows);
    for (const auto& [step, place] : ends.computed)
        connect("rows", ends.fetched, step, place, flows);
    for (const ProfileEvent& use : uses) {
        const auto step = ends.computed.find(use.step);
        if (step != ends.computed.end())
            connect("rows ahead", ends.ahead, use.id, step->second, flows);
    }
    std::ranges::sort(flows, {}, [](const Flow& flow) { return flow.from.time; });
    return flows;
}

}  // namespace rudder::report
