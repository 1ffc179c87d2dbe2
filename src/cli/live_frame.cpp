#include "live_frame.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "frame_parts.hpp"

namespace rudder::cli {

namespace {

using report::RankPace;
using report::Standing;

constexpr double red_wait = 0.1;

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string milliseconds(double seconds) {
    return fmt::format("{:.1f} ms", seconds * 1000);
}

std::string loss_line(const Standing& s, const ScreenLook& look) {
    FrameLine line(look);
    line.add(0, s.loss ? fmt::format("loss  {:.4f}", *s.loss) : std::string("loss  -"));
    line.add(2, spark(s.losses, std::clamp<std::size_t>(look.columns / 3, 12, 72), look),
             colours::cyan);
    if (s.valid) {
        line.add(1, fmt::format("valid {:.2f} %", *s.valid * 100), colours::green);
        line.add(3, fmt::format("after epoch {}", s.valid_epoch.value_or(0)), colours::dim);
    }
    return line.text();
}

/// What other ranks do is known only now and then.
std::string of_ranks(const Standing& s) {
    if (s.ranks <= 1 || s.by_rank.size() >= s.ranks) return {};
    return fmt::format("({} of {} ranks)", s.by_rank.size(), s.ranks);
}

std::string rows_line(const Standing& s, const ScreenLook& look) {
    const Rows& rows = s.rows;
    const auto kind = [&](std::string_view name, std::uint64_t count) {
        return fmt::format("{} {}", name, format_percent(share(count, rows.needed)));
    };
    FrameLine line(look);
    line.add(0, "rows");
    line.add_painted(5, row_bar(rows, std::clamp<std::size_t>(look.columns / 6, 6, 36), look));
    line.add(3, kind("local", rows.local), look.utf8 ? colours::green : "");
    line.add(1, kind("hit", rows.hit), look.utf8 ? colours::cyan : "");
    line.add(1, kind("demand", rows.demand), look.utf8 ? colours::yellow : "");
    line.add(2, kind("ahead", rows.ahead));
    line.add(4, of_ranks(s), colours::dim);
    return line.text();
}

std::string speed_line(const Standing& s, const ScreenLook& look) {
    FrameLine line(look);
    line.add(0, "speed");
    line.add(4, fmt::format("{:.1f} steps/s", s.steps_per_second));
    line.add(2, fmt::format("{:.1f} MB/s", s.bytes_per_second / 1e6));
    if (const std::uint64_t remote = s.rows.hit + s.rows.demand; remote != 0)
        line.add(3, "hit rate " + format_percent(share(s.rows.hit, remote)));
    if (!s.policy.empty()) line.add(5, "policy " + shown_text(s.policy, look.utf8), colours::dim);
    return line.text();
}

Seconds mean_of(const std::vector<RankPace>& ranks) {
    Seconds sum;
    for (const RankPace& rank : ranks)
        sum += rank.parts();
    const auto count = static_cast<double>(std::max<std::size_t>(ranks.size(), 1));
    sum.step /= count;
    sum.stall /= count;
    for (const StepPart& part : step_parts)
        sum.*part.seconds /= count;
    return sum;
}

/// Where the time of a step went, in the words of the closing lines; empty: no step is known.
/// Waiting for rows is always told, since it is what is steered; of the others the longest stay.
std::string time_line(const Standing& s, const ScreenLook& look) {
    const Seconds mean = mean_of(s.by_rank);
    if (!(mean.step > 0)) return {};
    FrameLine line(look);
    line.add(0, "time");
    for (std::size_t i = 0; i < step_parts.size(); ++i) {
        const double seconds = mean.*step_parts[i].seconds;
        const double of_step = seconds / mean.step;
        const bool rows = step_parts[i].seconds == &Seconds::wait_rows;
        if (!rows && !(of_step >= least_shown_part)) continue;
        int importance = rows ? 1 : 2;
        for (std::size_t k = 0; k < step_parts.size() && !rows; ++k) {
            const double other = mean.*step_parts[k].seconds;
            if (other > seconds || (other == seconds && k < i)) ++importance;
        }
        const std::string text = fmt::format("{} {}", step_parts[i].words, format_percent(of_step));
        line.add_painted(importance,
                         part_sign(i, look) + " " +
                             painted(text, rows && of_step > red_wait ? colours::red : "", look));
    }
    return line.text();
}

/// The last change that an agent made stays until the next; empty: nobody steers.
std::string agent_line(const Standing& s, const ScreenLook& look) {
    if (s.agent.empty() || s.agent == "never") return {};
    FrameLine line(look);
    if (!s.decision) {
        line.add(0, "agent " + shown_text(s.agent, look.utf8));
        line.add(1, s.decisions == 0 ? std::string("no decision yet")
                                     : fmt::format("{} decisions, none changed anything",
                                                   format_count(s.decisions)));
        return line.text();
    }
    const report::AppliedDecision& last = *s.decision;
    line.add(0, shown_text(fmt::format("agent {}: {}", last.agent, last.action), look.utf8));
    if (!last.reason.empty())
        line.add(3, shown_text(fmt::format("({})", last.reason), look.utf8), colours::dim);
    line.add(2, fmt::format("at step {}", format_count(last.step)));
    const bool better = last.fewer_rows.value_or(0) > 0;
    line.add(1, shown_text(last.effect, look.utf8), better ? colours::green : "");
    line.add(4,
             fmt::format("{} of {} decisions applied", format_count(s.applied),
                         format_count(s.decisions)),
             colours::dim);
    return line.text();
}

// ---- ranks -------------------------------------------------------------------------------------

/// What bars of ranks are shares of: the longest step.
double longest_step(const std::vector<RankPace>& ranks) {
    double longest = 0;
    for (const RankPace& rank : ranks)
        longest = std::max({longest, rank.step_seconds, rank.own_seconds()});
    return longest > 0 ? longest : 1;
}

/// The mean and the slowest, which the others wait for.
std::string ranks_line(const Standing& s, const ScreenLook& look) {
    const auto slowest = std::ranges::max_element(s.by_rank, {}, &RankPace::own_seconds);
    const Seconds mean = mean_of(s.by_rank);
    const double whole = longest_step(s.by_rank);
    const std::size_t width = std::clamp<std::size_t>(look.columns / 8, 4, 24);
    FrameLine line(look);
    line.add(0, "ranks");
    line.add(2, "mean " + milliseconds(mean.own()));
    line.add_painted(4, time_bar(mean, whole, width, look));
    line.add(1, fmt::format("slowest {} {}", slowest->rank, milliseconds(slowest->own_seconds())),
             slowest->own_seconds() > 1.2 * mean.own() ? colours::red : "");
    line.add_painted(3, time_bar(slowest->parts(), whole, width, look));
    return line.text();
}

constexpr std::size_t cell_gap = 3;
constexpr std::size_t cell_columns = 37 + cell_gap;

/// 37 columns.
std::string rank_cell(const RankPace& rank, double whole, const ScreenLook& look) {
    const std::string bar = time_bar(rank.parts(), whole, 10, look);
    const std::string numbers = fmt::format("{:>9} {:>5.1f} MB/s", milliseconds(rank.own_seconds()),
                                            rank.bytes_per_second / 1e6);
    return fmt::format("{:>5} {} {:<20}", rank.rank, bar, cut_to(numbers, 20, false));
}

/// A cell for each rank, in as many columns as fit; where lines do not suffice, the slowest.
std::vector<std::string> rank_lines(const Standing& s, std::size_t lines, const ScreenLook& look) {
    const std::size_t across = (look.columns - 1 + cell_gap) / cell_columns;
    if (across == 0 || lines == 0) return {};
    std::vector<RankPace> shown = s.by_rank;
    const bool all = shown.size() <= across * lines;
    if (!all && lines < 2) return {};
    if (!all) {
        std::ranges::stable_sort(shown, std::greater<>{}, &RankPace::own_seconds);
        shown.resize(across * (lines - 1));
    }
    const double whole = longest_step(s.by_rank);
    const std::size_t high = (shown.size() + across - 1) / across;
    std::vector<std::string> text(high);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        // Down the columns, as one reads a list.
        std::string& line = text[i % high];
        if (!line.empty()) line += std::string(cell_gap, ' ');
        line += rank_cell(shown[i], whole, look);
    }
    if (!all) text.push_back(fmt::format("      the slowest of {} ranks", s.by_rank.size()));
    return text;
}

}  // namespace

std::string clock_text(double seconds) {
    if (!std::isfinite(seconds)) return "-";
    const auto whole = static_cast<std::uint64_t>(std::llround(std::clamp(seconds, 0.0, 1e15)));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string progress_line(const Standing& s, const ScreenLook& look) {
    const double done = share(s.step, s.steps);
    const std::uint64_t epoch = std::max<std::uint64_t>(s.epoch, 1);
    FrameLine line(look);
    line.add(3, shown_text(s.name, look.utf8), colours::cyan);
    if (s.state != "running") line.add(2, s.state, colours::yellow);
    line.add(1, s.epochs == 0
                    ? "epoch " + format_count(epoch)
                    : fmt::format("epoch {}/{}", format_count(epoch), format_count(s.epochs)));
    line.add_painted(5, progress_bar(done, std::clamp<std::size_t>(look.columns / 4, 6, 60), look));
    line.add(0, fmt::format("{:3.0f} %", std::floor(done * 100)));
    line.add(6, fmt::format("step {}/{}", format_count(s.step), format_count(s.steps)));
    if (s.state == "running")
        line.add(2, "ETA " + (s.seconds_left ? clock_text(*s.seconds_left) : std::string("-")));
    return line.text();
}

std::vector<std::string> live_frame(const Standing& s, const ScreenLook& look) {
    std::vector<std::string> lines{progress_line(s, look), loss_line(s, look)};
    if (s.rows.needed != 0) lines.push_back(rows_line(s, look));
    if (std::string time = time_line(s, look); !time.empty()) lines.push_back(std::move(time));
    lines.push_back(speed_line(s, look));
    if (std::string agent = agent_line(s, look); !agent.empty()) lines.push_back(std::move(agent));
    if (s.by_rank.size() > 1) lines.push_back(ranks_line(s, look));
    // The cursor stands on the line below.
    const std::size_t most = std::max<std::size_t>(look.rows, 2) - 1;
    if (lines.size() > most) lines.resize(most);
    if (s.by_rank.size() > 1) {
        for (std::string& line : rank_lines(s, most - lines.size(), look))
            lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace rudder::cli
