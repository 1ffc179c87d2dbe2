// One step of the profile, thread by thread.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

using StepSpan = StepTimeline::Span;

/// What a category of spans is called, and its colour.
struct CategoryLook {
    std::string_view category;
    const char* name;
    int colour;
};
constexpr std::array category_looks{
    CategoryLook{"compute", "computing", colour::compute},
    CategoryLook{"stall", "waiting for rows", colour::stall},
    CategoryLook{"reduce", "gradients and slower ranks", colour::reduce},
    CategoryLook{"fetch", "fetching rows", colour::ahead},
    CategoryLook{"sample", "sampling", colour::replacement},
    CategoryLook{"buffer", "the buffer's bookkeeping", colour::slower},
    CategoryLook{"agent", "the agent", colour::floor},
};
/// Whatever else a thread does, and waits of threads that nobody waits for.
constexpr CategoryLook other_look{"other", "other work", colour::rest};
constexpr CategoryLook wait_look{"wait", "the thread waits", colour::rest};

const CategoryLook& look_of(const StepSpan& span) {
    if (span.category == "wait") return wait_look;
    const auto* const found =
        std::ranges::find(category_looks, span.category, &CategoryLook::category);
    return found == category_looks.end() ? other_look : *found;
}

double millis(double microseconds) {
    return microseconds / 1e3;
}

void write_lane(Html& html, const StepTimeline& timeline, const StepTimeline::Lane& lane) {
    const double scale = 1000 / timeline.length;
    html.open("li").leaf("span", shortened(lane.thread, 40), {{"class", "name"}});
    html.open(
        "svg",
        {{"viewBox", "0 0 1000 20"}, {"preserveAspectRatio", "none"}, {"aria-hidden", "true"}});
    html.empty("rect", {{"class", "back"}, {"width", "1000"}, {"height", "20"}});
    // What happens inside of something else is lower than that, and waits are thin: both are seen.
    std::vector<double> around;  // ends of the spans that go on
    for (const StepSpan& span : lane.spans) {
        while (!around.empty() && around.back() <= span.start)
            around.pop_back();
        const bool wait = span.category == "wait";
        const double top = wait ? 7 : around.empty() ? 0 : 6;
        if (!wait) around.push_back(span.end);
        html.open("rect",
                  {{"class", (wait ? "idle " : "fill ") + colour_class(look_of(span).colour)},
                   {"x", fmt::format("{:.1f}", span.start * scale)},
                   {"y", fmt::format("{}", top)},
                   {"width", fmt::format("{:.1f}", std::max(1.0, (span.end - span.start) * scale))},
                   {"height", fmt::format("{}", 20 - 2 * top)}});
        html.leaf("title", fmt::format("{}: {}", shortened(span.name, 60),
                                       seconds_text((span.end - span.start) / 1e6)));
        html.close();
    }
    html.close().close().line();
}

void write_time_axis(Html& html, const StepTimeline& timeline) {
    const double length = millis(timeline.length);
    html.open("div", {{"class", "x"}, {"aria-hidden", "true"}});
    std::size_t number = 0;
    for (const double tick : nice_axis(0, length, 7).ticks) {
        if (tick > length) break;
        html.leaf("span", tick_text(tick / 1e3, Unit::seconds, length / 1e3),
                  {{"style", fmt::format("left:{:.2f}%", 100 * tick / length)},
                   {"class", tick_class(number++, tick / length)}});
    }
    html.close().line();
}

NumberTable span_table(const StepTimeline& timeline) {
    constexpr std::size_t most_spans = 300;
    NumberTable table{"Spans of the step", {"rank", "thread", "span", "from ms", "for ms"}, {}, {}};
    for (const StepTimeline::Rank& rank : timeline.ranks) {
        for (const StepTimeline::Lane& lane : rank.lanes) {
            for (const StepSpan& span : lane.spans) {
                if (table.rows.size() == most_spans) return table;
                table.rows.push_back({fmt::format("{}", rank.rank), shortened(lane.thread, 40),
                                      shortened(span.name, 60),
                                      fmt::format("{:.3f}", millis(span.start)),
                                      fmt::format("{:.3f}", millis(span.end - span.start))});
            }
        }
    }
    return table;
}

std::vector<Figure::Key> keys_of(const StepTimeline& timeline) {
    std::set<std::string_view> seen;
    for (const StepTimeline::Rank& rank : timeline.ranks) {
        for (const StepTimeline::Lane& lane : rank.lanes) {
            for (const StepSpan& span : lane.spans)
                seen.insert(look_of(span).category);
        }
    }
    std::vector<Figure::Key> keys;
    for (const CategoryLook& look : category_looks) {
        if (seen.contains(look.category)) keys.push_back({look.name, look.colour, 'a', 0});
    }
    if (seen.contains(other_look.category))
        keys.push_back({other_look.name, other_look.colour, 'a', 0});
    if (seen.contains(wait_look.category))
        keys.push_back({wait_look.name, wait_look.colour, 'w', 0});
    return keys;
}

std::string timeline_note(const StepTimeline& timeline) {
    std::string note = fmt::format(
        "Step {}, the median by length of {} in profile.json: {}. Every thread that did something, "
        "the one that trains first. Open the file in Perfetto to see them all.",
        timeline.step, counted(static_cast<double>(timeline.steps), "step", "steps"),
        seconds_text(timeline.length / 1e6));
    if (timeline.ranks.size() < timeline.all_ranks) {
        note += fmt::format(
            " {} of {} ranks are shown: those that waited least and most for gradients.",
            timeline.ranks.size(), timeline.all_ranks);
    }
    return note;
}

}  // namespace

void write_step(Html& html, const ShownRun& shown) {
    if (!shown.run.timeline) return;
    const StepTimeline& timeline = *shown.run.timeline;
    const Section section(html, shown, "step", "One step");
    const FigureText text{shown.id + "timeline", "One step, thread by thread",
                          timeline_note(timeline), true};
    Figure figure(html, text);
    for (const StepTimeline::Rank& rank : timeline.ranks) {
        html.leaf("p", fmt::format("rank {}", rank.rank), {{"class", "lanes-of"}});
        html.open("ol", {{"class", "lanes"}}).line();
        for (const StepTimeline::Lane& lane : rank.lanes)
            write_lane(html, timeline, lane);
        html.close().line();
    }
    write_time_axis(html, timeline);
    figure.legend(keys_of(timeline));
    numbers(html, span_table(timeline));
}

}  // namespace rudder::report
