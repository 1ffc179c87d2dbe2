// profile.json: the step of usual length in it, thread by thread.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "profile_text.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_shown_ranks = 4;
constexpr std::size_t most_lanes = 12;       ///< of a rank
constexpr std::size_t most_lane_spans = 80;  ///< the longest

struct StepPlace {
    double start = 0;
    double end = 0;
};
/// By step, then by process: where it lies.
using StepPlaces = std::map<std::uint64_t, std::map<std::int64_t, StepPlace>>;

/// Among the steps that all ranks have, the one in the middle by length.
std::optional<std::uint64_t> usual_step(const StepPlaces& steps, std::size_t ranks) {
    std::vector<std::pair<double, std::uint64_t>> whole;
    for (const auto& [step, places] : steps) {
        if (places.size() != ranks) continue;
        double length = 0;
        for (const auto& [process, place] : places)
            length = std::max(length, place.end - place.start);
        whole.emplace_back(length, step);
    }
    if (whole.empty()) return std::nullopt;
    const auto middle = whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2);
    std::ranges::nth_element(whole, middle);
    return middle->second;
}

struct FoundThread {
    std::string name;
    std::int64_t place = 0;
    std::vector<StepTimeline::Span> spans;
};
using FoundThreads = std::map<std::int64_t, FoundThread>;

StepTimeline::Lane lane_of(FoundThread&& thread) {
    auto& spans = thread.spans;
    const auto length = [](const StepTimeline::Span& span) { return span.end - span.start; };
    if (spans.size() > most_lane_spans) {
        std::ranges::nth_element(spans, spans.begin() + most_lane_spans, std::greater<>(), length);
        spans.resize(most_lane_spans);
    }
    std::ranges::stable_sort(spans, [](const auto& a, const auto& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    return {std::move(thread.name), std::move(spans)};
}

/// Of many ranks, those that waited least and most for the others at the gradients.
std::vector<std::int64_t> shown_processes(const std::map<std::int64_t, FoundThreads>& ranks) {
    std::vector<std::pair<double, std::int64_t>> order;
    for (const auto& [process, threads] : ranks) {
        double waited = 0;
        for (const auto& [id, thread] : threads) {
            for (const auto& span : thread.spans)
                waited += span.name == "reduce" ? span.end - span.start : 0;
        }
        order.emplace_back(waited, process);
    }
    std::ranges::sort(order);
    if (order.size() > most_shown_ranks) {
        order.erase(order.begin() + most_shown_ranks / 2, order.end() - most_shown_ranks / 2);
    }
    std::vector<std::int64_t> shown;
    for (const auto& [waited, process] : order)
        shown.push_back(process);
    std::ranges::sort(shown);
    return shown;
}

/// What ran on each thread of each rank between two moments.
std::map<std::int64_t, FoundThreads> spans_between(ProfileText& text,
                                                   const std::set<std::int64_t>& processes,
                                                   const StepPlace& stretch) {
    std::map<std::int64_t, FoundThreads> found;
    text.for_each([&](const TraceEvent& event) {
        if (!processes.contains(event.process)) return;
        FoundThread& thread = found[event.process][event.thread];
        if (event.phase == 'M') {
            if (event.name == "thread_name") thread.name = event.text;
            if (event.name == "thread_sort_index") thread.place = event.place;
            return;
        }
        const double end = event.start + event.length;
        if (event.phase != 'X' || event.category == "step" || !(event.length > 0)) return;
        if (!(event.start < stretch.end && end > stretch.start)) return;
        thread.spans.push_back({std::string(event.name), std::string(event.category),
                                std::max(event.start, stretch.start) - stretch.start,
                                std::min(end, stretch.end) - stretch.start});
    });
    return found;
}

StepTimeline::Rank rank_of(std::int64_t process, FoundThreads&& threads) {
    StepTimeline::Rank rank;
    rank.rank = static_cast<std::uint64_t>(std::max<std::int64_t>(process - 1, 0));
    std::vector<FoundThread*> order;
    for (auto& [id, thread] : threads) {
        if (!thread.spans.empty()) order.push_back(&thread);
    }
    std::ranges::stable_sort(order, {}, [](const FoundThread* thread) { return thread->place; });
    order.resize(std::min(order.size(), most_lanes));
    for (FoundThread* thread : order)
        rank.lanes.push_back(lane_of(std::move(*thread)));
    return rank;
}

}  // namespace

std::optional<StepTimeline> read_timeline(const std::filesystem::path& file) {
    ProfileText text(file);
    StepPlaces steps;
    std::set<std::int64_t> processes;
    text.for_each([&](const TraceEvent& event) {
        if (event.phase != 'X' || event.category != "step" || !event.step) return;
        processes.insert(event.process);
        steps[*event.step][event.process] = {event.start, event.start + event.length};
    });
    const auto step = usual_step(steps, processes.size());
    if (!step) return std::nullopt;
    StepPlace stretch = steps[*step].begin()->second;
    for (const auto& [process, place] : steps[*step]) {
        stretch.start = std::min(stretch.start, place.start);
        stretch.end = std::max(stretch.end, place.end);
    }
    if (!(stretch.end > stretch.start)) return std::nullopt;
    StepTimeline timeline;
    timeline.step = *step;
    timeline.steps = steps.size();
    timeline.length = stretch.end - stretch.start;
    timeline.all_ranks = processes.size();
    auto found = spans_between(text, processes, stretch);
    for (const std::int64_t process : shown_processes(found))
        timeline.ranks.push_back(rank_of(process, std::move(found[process])));
    return timeline;
}

}  // namespace rudder::report
