// The configuration, and how to make the run again.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

/// The command line of the run, or one that makes the same.
std::string command_of(const ShownRun& shown) {
    if (simulated(shown)) {
        return fmt::format("rudder simulate {} --out again",
                           shell_quoted((shown.run.path / "scenario.toml").string()));
    }
    std::vector<std::string> words = shown.run.run.list("command");
    if (words.empty()) {
        if (shown.answers.data.empty() || shown.run.config.empty()) return "";
        return fmt::format("rudder train {} --config {}", shell_quoted(shown.answers.data),
                           shell_quoted((shown.run.path / "config.toml").string()));
    }
    const std::string first = std::filesystem::path(words.front()).filename().string();
    if (first != "rudder") words.insert(words.begin(), "rudder");
    std::string command;
    for (const std::string& word : words)
        command += (command.empty() ? "" : " ") + shell_quoted(word);
    return command;
}

void write_totals(Html& html, const ShownRun& shown) {
    if (shown.run.summary.empty()) return;
    NumberTable table{"summary.json, key by key", {"key", "value"}, {}, {}};
    constexpr std::size_t most = 400;
    for (const auto& [key, value] : shown.run.summary.numbers) {
        if (table.rows.size() < most)
            table.rows.push_back({shortened(key, 100), fmt::format("{}", value)});
    }
    for (const auto& [key, value] : shown.run.summary.texts) {
        if (table.rows.size() < most)
            table.rows.push_back({shortened(key, 100), shortened(value, 300)});
    }
    std::ranges::sort(table.rows);
    html.open("div", {{"class", "totals"}, {"id", shown.id + "totals"}}).leaf("h4", "All totals");
    numbers(html, table);
    html.close();
}

}  // namespace

void write_settings(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "settings", "Configuration, and how to do it again");
    const std::string command = command_of(shown);
    if (!command.empty()) {
        html.leaf("p", simulated(shown) ? "The same scenario gives the same folder, byte for byte:"
                       : shown.run.run.list("command").empty()
                           ? "The command is not recorded; this one makes the same run:"
                           : "The same seed gives the same losses, bit for bit:");
        html.open("pre", {{"class", "command"}, {"tabindex", "0"}});
        html.leaf("code", shortened(command, shown.config)).close().line();
    }
    const Facts& run = shown.run.run;
    html.open("dl", {{"class", "facts"}}).line();
    write_fact(html, "Data", shown.answers.data);
    write_fact(html, "Model", shown.answers.model);
    write_fact(html, "Policy", shown.answers.policy);
    write_fact(html, "Agent", shown.answers.agent.empty() ? "never" : shown.answers.agent);
    write_fact(html, "Link",
               run.text("link").empty() ? shown.run.summary.text("link") : run.text("link"));
    write_fact(html, "Started", run.text("started"));
    write_fact(html, "Ended", run.text("ended"));
    write_fact(html, "Host", run.text("host"));
    write_fact(html, "Most memory of a rank",
               shown.answers.peak_memory ? bytes_text(*shown.answers.peak_memory) : "");
    write_fact(html, "Rudder", shown.answers.version);
    write_fact(html, "Folder", shown.run.path.string());
    html.close().line();
    if (!shown.run.config.empty()) {
        html.open("details", {{"class", "numbers"}}).leaf("summary", "config.toml");
        html.open("pre", {{"tabindex", "0"}});
        html.leaf("code", shortened(shown.run.config, shown.config)).close().close().line();
    }
    write_totals(html, shown);
}

}  // namespace rudder::report
