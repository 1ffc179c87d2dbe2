// Partition quality, the configuration, and how to make the run again.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder {

namespace {

constexpr std::size_t most_config = 32U << 10;

void pair_of(Html& html, Literal name, const std::string& value) {
    if (value.empty()) return;
    html.open("div").leaf("dt", name.view()).leaf("dd", shortened(value, 200)).close().line();
}

void write_halo(Html& html, const ShownRun& shown, const std::vector<double>& halo) {
    constexpr std::size_t most = 64;
    if (halo.empty()) return;
    const double top = std::max(1.0, *std::ranges::max_element(halo));
    html.leaf("h4", "Rows of other parts that each part borders on (halo)");
    html.open("ol", {{"class", "bars"}, {"start", "0"}, {"id", shown.id + "halo"}}).line();
    for (std::size_t i = 0; i < std::min(most, halo.size()); ++i) {
        html.open("li").leaf("span", fmt::format("part {}", i));
        html.open("span", {{"class", "track"}});
        html.leaf("i", "", {{"style", fmt::format("width:{:.2f}%", 100 * halo[i] / top)}});
        html.close().leaf("span", count_text(halo[i]), {{"class", "amount"}}).close().line();
    }
    html.close();
    if (halo.size() > most)
        html.leaf("p", fmt::format("{} more parts are left out.", halo.size() - most),
                  {{"class", "small"}});
}

/// The command line of the run, or one that makes the same.
std::string command_of(const ShownRun& shown) {
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
    for (const auto& [key, value] : shown.run.summary.numbers)
        if (table.rows.size() < most)
            table.rows.push_back({shortened(key, 100), fmt::format("{}", value)});
    for (const auto& [key, value] : shown.run.summary.texts)
        if (table.rows.size() < most)
            table.rows.push_back({shortened(key, 100), shortened(value, 300)});
    std::ranges::sort(table.rows);
    html.open("div", {{"class", "totals"}, {"id", shown.id + "totals"}}).leaf("h4", "All totals");
    numbers(html, table);
    html.close();
}

}  // namespace

void write_partition(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "partition", "Partition");
    const Facts& run = shown.run.run;
    const auto number = [&](const char* key) {
        return run.number(std::string("partition.") + key);
    };
    const auto count = [&](const char* key) {
        const auto value = number(key);
        return value ? count_text(*value) : std::string();
    };
    const auto balance = [&](const char* key) {
        const auto value = number(key);
        return value ? fmt::format("{:.3f}", *value) : std::string();
    };
    if (!number("parts")) {
        html.leaf("p", "Nothing is recorded about the partition.", {{"class", "gap"}});
        return;
    }
    html.open("dl", {{"class", "facts"}}).line();
    pair_of(html, "Parts", fmt::format("{} by {}", count("parts"), run.text("partition.method")));
    const auto cut = number("cut");
    pair_of(html, "Edges that join two parts", cut ? percent_text(*cut) : "");
    pair_of(html, "Largest part over the mean, vertices", balance("balance"));
    pair_of(html, "Training vertices", balance("train_balance"));
    pair_of(html, "Edges", balance("edge_balance"));
    pair_of(html, "Vertices in all", count("vertices"));
    pair_of(html, "Stored edges", count("edges"));
    const auto width = number("features.width");
    pair_of(
        html, "Features",
        width ? fmt::format("{} {}", count_text(*width), run.text("partition.features.type")) : "");
    pair_of(html, "Classes", count("classes"));
    html.close();
    write_halo(html, shown, run.number_list("partition.halo"));
}

void write_settings(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "settings", "Configuration, and how to do it again");
    const std::string command = command_of(shown);
    if (!command.empty()) {
        html.leaf("p", shown.run.run.list("command").empty()
                           ? "The command is not recorded; this one makes the same run:"
                           : "The same seed gives the same losses, bit for bit:");
        html.open("pre", {{"class", "command"}, {"tabindex", "0"}});
        html.leaf("code", shortened(command, most_config)).close().line();
    }
    const Facts& run = shown.run.run;
    html.open("dl", {{"class", "facts"}}).line();
    pair_of(html, "Data", shown.answers.data);
    pair_of(html, "Model", shown.answers.model);
    pair_of(html, "Policy", shown.answers.policy);
    pair_of(html, "Agent", shown.answers.agent.empty() ? "never" : shown.answers.agent);
    pair_of(html, "Link",
            run.text("link").empty() ? shown.run.summary.text("link") : run.text("link"));
    pair_of(html, "Started", run.text("started"));
    pair_of(html, "Ended", run.text("ended"));
    pair_of(html, "Host", run.text("host"));
    pair_of(html, "Most memory of a rank",
            shown.answers.peak_memory ? bytes_text(*shown.answers.peak_memory) : "");
    pair_of(html, "Rudder", shown.answers.version);
    pair_of(html, "Folder", shown.run.path.string());
    html.close().line();
    if (!shown.run.config.empty()) {
        html.open("details", {{"class", "numbers"}}).leaf("summary", "config.toml");
        html.open("pre", {{"tabindex", "0"}});
        html.leaf("code", shortened(shown.run.config, most_config)).close().close().line();
    }
    write_totals(html, shown);
}

}  // namespace rudder
