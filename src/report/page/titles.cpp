// Runs of one setting taken together, and what runs are called beside others.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "sections.hpp"

namespace rudder::report {

namespace {

/// The folder of a run, or, of a repeat, the one around it.
std::filesystem::path folder_of(const RunData& run) {
    const auto path = std::filesystem::absolute(run.path).lexically_normal();
    const auto folder = path.filename().empty() ? path.parent_path() : path;
    return run.run.number("repeats").value_or(1) > 1 ? folder.parent_path() : folder;
}

std::string title_of(const Answers& a, bool agents, bool links) {
    std::string title = shortened(a.policy, 80);
    if (agents && !a.agent.empty()) title += " + " + shortened(a.agent, 60);
    if (links) title += " \u00b7 " + (a.link.empty() ? "no link" : shortened(a.link, 60));
    return title;
}

template <class Get>
bool differ(const std::vector<ShownRun>& runs, const Get& get) {
    return std::ranges::any_of(runs,
                               [&](const ShownRun& run) { return get(run) != get(runs.front()); });
}

}  // namespace

std::vector<std::vector<const RunData*>> repeats_of(std::span<const RunData> runs) {
    std::vector<std::vector<const RunData*>> groups;
    std::map<std::filesystem::path, std::size_t> known;
    for (const RunData& run : runs) {
        if (run.run.number("repeats").value_or(1) <= 1) {
            groups.push_back({&run});
            continue;
        }
        const auto [found, is_new] = known.try_emplace(folder_of(run), groups.size());
        if (is_new) groups.emplace_back();
        groups[found->second].push_back(&run);
    }
    return groups;
}

ShownRun middle_of(std::span<const RunData* const> group) {
    RUDDER_CHECK(!group.empty());
    std::vector<Answers> answers;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < group.size(); ++i) {
        answers.push_back(answers_of(*group[i]));
        order.push_back(i);
    }
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return answers[i].step_seconds.value_or(1e300); });
    const std::size_t middle = order[(order.size() - 1) / 2];
    ShownRun shown{*group[middle], answers[middle], group[middle]->metrics.series, "", "", 0, 0, 0};
    shown.name = group.size() == 1 ? group[0]->name : folder_of(*group[0]).filename().string();
    if (group.size() > 1) shown.repeats = std::move(answers);
    return shown;
}

std::optional<ShownRun::Spread> ShownRun::spread(std::optional<double> Answers::*number) const {
    std::vector<double> values;
    for (const Answers& one : repeats) {
        if (one.*number) values.push_back(*(one.*number));
    }
    if (repeats.empty() && answers.*number) values.push_back(*(answers.*number));
    if (values.empty()) return std::nullopt;
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    const double median =
        values.size() % 2 == 0 ? (values[half - 1] + values[half]) / 2 : values[half];
    return Spread{values.front(), median, values.back(), values.size()};
}

std::vector<std::string> titles_of(const std::vector<ShownRun>& runs) {
    const bool agents = differ(runs, [](const ShownRun& run) { return run.answers.agent; });
    const bool links = differ(runs, [](const ShownRun& run) { return run.answers.link; });
    std::map<std::string, int> uses;
    std::vector<std::string> titles;
    for (const ShownRun& run : runs) {
        titles.push_back(run.answers.policy.empty() ? shortened(run.name, 80)
                                                    : title_of(run.answers, agents, links));
        ++uses[titles.back()];
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (uses[titles[i]] > 1)
            titles[i] += fmt::format(" \u00b7 {}", shortened(runs[i].name, 80));
    }
    std::set<std::string> taken;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!taken.insert(titles[i]).second) titles[i] += fmt::format(" ({})", i + 1);
        taken.insert(titles[i]);
    }
    return titles;
}

}  // namespace rudder::report
