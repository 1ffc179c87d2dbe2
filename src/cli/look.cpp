#include "look.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/amounts.hpp"
#include "graph/io/npz.hpp"
#include "report/run_follower.hpp"
#include "rudder/buffer/trace.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/array_folder.hpp"
#include "run/run_folder.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace rudder::cli {

namespace fs = std::filesystem;

namespace {

bool there_is(const fs::path& path) {
    std::error_code code;
    return fs::exists(path, code);
}

/// Of a run that is being written files and folders may go at any moment: those count nothing.
std::uint64_t size_of(const fs::path& folder) {
    std::uint64_t bytes = 0;
    std::error_code gone;
    for (fs::directory_iterator at(folder, gone), end; at != end; at.increment(gone)) {
        std::error_code code;
        if (at->is_directory(code) && !at->is_symlink(code)) {
            bytes += size_of(at->path());
        } else if (at->is_regular_file(code)) {
            const std::uintmax_t size = at->file_size(code);
            if (!code) bytes += size;
        }
    }
    return bytes;
}

// ---- traces ------------------------------------------------------------------------------------

bool is_trace(const fs::path& path) {
    if (fs::is_directory(path)) return there_is(path / "host-00000" / "manifest.json");
    if (path.extension() != ".npz") return false;
    const graph::NpzArchive archive(path);
    return archive.has("offset") && archive.has("id");
}

/// Reading a trace verifies it.
Looked look_at_trace(const fs::path& path) {
    const buffer::Trace trace = buffer::read_trace(path);
    const buffer::TraceHeader& first = trace.front()->header();
    Json json{{"kind", "trace"},
              {"hosts", trace.size()},
              {"steps", trace.front()->steps()},
              {"first_step", first.first_step},
              {"steps_per_epoch", first.steps_per_epoch},
              {"vertices", first.vertices},
              {"needed", Json::array()},
              {"distinct", Json::array()},
              {"halo", Json::array()},
              {"capacity", Json::array()},
              {"row_bytes", first.row_bytes},
              {"precision", first.precision},
              {"policy", first.policy},
              {"graph", first.graph},
              {"seed", first.seed}};
    std::uint64_t needed = 0;
    std::uint64_t halo = 0;
    for (const auto& host : trace) {
        json["needed"].push_back(host->needed());
        json["distinct"].push_back(host->distinct());
        json["halo"].push_back(host->halo());
        json["capacity"].push_back(host->header().capacity);
        needed += host->needed();
        halo += host->halo();
    }
    KeyValues lines{{"kind", "trace"},
                    {"hosts", std::to_string(trace.size())},
                    {"steps", fmt::format("{}, from step {}", format_count(trace.front()->steps()),
                                          first.first_step)},
                    {"vertices", format_count(first.vertices)},
                    {"remote rows needed", format_count(needed)},
                    {"halo rows", format_count(halo)}};
    if (!first.policy.empty()) lines.emplace_back("policy of the run", first.policy);
    if (!first.precision.empty())
        lines.emplace_back("row", fmt::format("{} bytes, {}", first.row_bytes, first.precision));
    lines.emplace_back("sound", "whole; checksums, offsets and ids hold");
    return {std::move(json), std::move(lines)};
}

// ---- checkpoints -------------------------------------------------------------------------------

bool is_checkpoint(const fs::path& path) {
    return fs::is_directory(path) && there_is(path / "state.json");
}

/// Reading a checkpoint verifies it.
Looked look_at_checkpoint(const fs::path& path) {
    const train::Checkpoint c = train::read_checkpoint(path);
    const nn::NetworkOptions& network = c.identity.network;
    const auto best = train::best_checkpoint(path.parent_path().parent_path());
    const bool is_best = best && best->filename() == path.filename();
    Json json{{"kind", "checkpoint"},
              {"step", c.state.step},
              {"epochs", c.state.epochs.size()},
              {"model", network.model},
              {"layers", network.layers},
              {"hidden", network.hidden},
              {"parameters", c.weights.size()},
              {"best", is_best},
              {"loss", {{"first", c.state.first_loss}, {"last", c.state.last_loss}}},
              {"data", c.identity.data},
              {"data_checksum", c.identity.data_checksum},
              {"bytes", size_of(path)}};
    KeyValues lines{{"kind", "checkpoint"},
                    {"step", fmt::format("{}, after {} epochs", format_count(c.state.step),
                                         format_count(c.state.epochs.size()))},
                    {"model", fmt::format("{}, {} layers, {} hidden", network.model, network.layers,
                                          network.hidden)},
                    {"parameters", format_count(c.weights.size())},
                    {"best of its run", is_best ? "yes" : "no"},
                    {"last loss", fmt::format("{:.4f}", c.state.last_loss)},
                    {"data", c.identity.data},
                    {"size", format_bytes(size_of(path))},
                    {"sound", "whole; all checksums hold"}};
    return {std::move(json), std::move(lines)};
}

// ---- runs --------------------------------------------------------------------------------------

bool is_run(const fs::path& path) {
    return fs::is_directory(path) && there_is(path / "config.toml") &&
           (there_is(path / "metrics.jsonl") || there_is(path / "summary.json"));
}

/// metrics.jsonl, as far as it goes.
struct Metrics {
    std::uint64_t lines = 0;
    bool whole = true;  ///< it ends with a line's end
};

Metrics metrics_of(const fs::path& run) {
    Metrics metrics;
    const fs::path file = run / "metrics.jsonl";
    if (!there_is(file) || fs::file_size(file) == 0) return metrics;
    const Region bytes = Region::map(file);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    metrics.lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
    metrics.whole = text.back() == '\n';
    return metrics;
}

/// How it stands, as far as its folder tells.
std::string state_of(const Json& summary, const report::Standing& standing) {
    if (summary.is_null()) return standing.state == "finished" ? "unfinished" : standing.state;
    if (summary.value("interrupted", false)) return "interrupted";
    return summary.value("stopped_early", false) ? "stopped early" : "finished";
}

Json checkpoints_of(const fs::path& run, bool check) {
    Json list = Json::array();
    const auto best = train::best_checkpoint(run);
    for (const fs::path& folder : train::list_checkpoints(run)) {
        if (check) static_cast<void>(train::read_checkpoint(folder));
        list.push_back({{"name", folder.filename().string()},
                        {"best", best && best->filename() == folder.filename()},
                        {"bytes", size_of(folder)}});
    }
    // Weights alone, of a best epoch that has no checkpoint.
    const auto listed = [&](const Json& one) { return one.at("best").get<bool>(); };
    if (best && std::ranges::none_of(list, listed)) {
        if (check) static_cast<void>(train::read_checkpoint(*best));
        list.push_back(
            {{"name", best->filename().string()}, {"best", true}, {"bytes", size_of(*best)}});
    }
    return list;
}

/// What does not fit together.
Json warnings_of(const Json& summary, const Metrics& metrics, const Json& checkpoints,
                 const std::string& state) {
    Json warnings = Json::array();
    if (state == "running") return warnings;
    if (!metrics.whole) {
        warnings.push_back(
            "metrics.jsonl ends in the middle of a line: the run ended while it wrote it");
    }
    if (summary.is_null()) {
        const auto goes_on = [](const Json& one) {
            return one.at("name").get<std::string>().starts_with("step-");
        };
        warnings.push_back(std::ranges::none_of(checkpoints, goes_on)
                               ? "the run cannot be resumed: it ended before its first checkpoint"
                               : "the run has not finished: it has no summary; continue it with "
                                 "--resume");
        return warnings;
    }
    const auto steps = summary.value("steps", std::uint64_t{0});
    const auto ranks = summary.value("ranks", std::uint64_t{1});
    if (metrics.lines != steps * ranks) {
        warnings.push_back(
            fmt::format("lines of metrics.jsonl were lost or added: it has {}, and {} steps of {} "
                        "ranks were done",
                        format_count(metrics.lines), format_count(steps), format_count(ranks)));
    }
    return warnings;
}

/// The keys of a summary that say what was run and what came of it, as far as it has them.
constexpr std::array<std::string_view, 11> told_by_summary{"version",  "data",  "model",  "policy",
                                                           "ranks",    "hosts", "seed",   "epochs",
                                                           "accuracy", "loss",  "seconds"};

/// What a summary has of it, or else run.json; empty: neither.
class RunWords {
public:
    RunWords(const Json& summary, const Json& card) : summary_(summary), card_(card) {}

    [[nodiscard]] std::string text(const char* key) const {
        for (const Json* from : {&summary_, &card_}) {
            if (!from->is_object() || !from->contains(key)) continue;
            const Json& value = from->at(key);
            if (value.is_string()) return value.get<std::string>();
            if (value.is_number_unsigned()) return format_count(value.get<std::uint64_t>());
        }
        return {};
    }

private:
    const Json& summary_;
    const Json& card_;
};

std::string state_text(const std::string& state, const report::Standing& standing) {
    if (state == "running") {
        return standing.seconds_left
                   ? fmt::format("running, {} to go", format_seconds(*standing.seconds_left))
                   : "running, before its first step is recorded";
    }
    if (state == "killed") return "killed: it is marked as running, but no process writes to it";
    return state;
}

std::string progress_text(const report::Standing& s) {
    const double share =
        s.steps == 0 ? 0 : static_cast<double>(s.step) / static_cast<double>(s.steps);
    return fmt::format("step {} of {} ({:.0f} %), epoch {} of {}", format_count(s.step),
                       format_count(s.steps), std::floor(share * 100), format_count(s.epoch),
                       format_count(s.epochs));
}

/// The policy at first, and the last where it has changed since.
std::string policy_text(const std::string& first, const std::string& last, bool running) {
    return last.empty() || last == first
               ? first
               : fmt::format("{} at first, {} {}", first, last, running ? "now" : "at the end");
}

std::string accuracy_text(const Json& summary) {
    const Json accuracy = summary.value("accuracy", Json());
    std::string text;
    for (const char* set : {"test", "valid", "train"}) {
        const Json value = accuracy.is_object() ? accuracy.value(set, Json()) : Json();
        if (!value.is_number()) continue;
        text +=
            fmt::format("{}{} {:.2f} %", text.empty() ? "" : ", ", set, value.get<double>() * 100);
    }
    return text.empty() ? "-" : text;
}

std::string time_text(const Json& summary) {
    const Json seconds = summary.value("seconds", Json());
    const Json total = seconds.is_object() ? seconds.value("total", Json()) : Json();
    const Json epoch = seconds.is_object() ? seconds.value("epoch", Json()) : Json();
    if (!total.is_number() || !epoch.is_number()) return "-";
    return fmt::format("{}, {} per epoch", format_seconds(total.get<double>()),
                       format_seconds(epoch.get<double>()));
}

/// What a person asks first: how it stands, what was run, what came of it.
KeyValues run_lines(const Json& json, const Json& summary, const Json& card,
                    const report::Standing& standing) {
    const std::string state = json.at("state");
    KeyValues lines{{"kind", "run"}, {"state", state_text(state, standing)}};
    if (const Json error = card.is_object() ? card.value("error", Json()) : Json();
        error.is_string())
        lines.emplace_back("error", error.get<std::string>());
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) lines.emplace_back(name, value);
    };
    const RunWords words(summary, card);
    if (summary.is_null()) add("progress", standing.step == 0 ? "" : progress_text(standing));
    add("data", words.text("data"));
    add("model", words.text("model"));
    add("policy", policy_text(words.text("policy"), standing.policy, state == "running"));
    add("agent", standing.agent == "never" ? "" : standing.agent);
    if (standing.decision) add("last decision", decision_text(*standing.decision));
    const std::string hosts = words.text("hosts");
    add("ranks", hosts.empty() ? words.text("ranks")
                               : fmt::format("{}, hosts: {}", words.text("ranks"), hosts));
    if (!summary.is_null()) {
        add("epochs", words.text("epochs"));
        add("steps", words.text("steps"));
        add("accuracy", accuracy_text(summary));
        add("time", time_text(summary));
    } else if (standing.valid) {
        add("accuracy", fmt::format("valid {:.2f} % after epoch {}", *standing.valid * 100,
                                    format_count(standing.valid_epoch.value_or(0))));
    }
    if (summary.is_null() && standing.loss)
        add("loss", fmt::format("{:.4f} at step {}", *standing.loss, format_count(standing.step)));
    std::vector<std::string> names;
    for (const Json& c : json.at("checkpoints"))
        names.push_back(c.at("name").get<std::string>() + (c.at("best") ? " (best)" : ""));
    lines.emplace_back("lines of metrics", format_short(json.at("metrics_lines")));
    lines.emplace_back("checkpoints",
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    lines.emplace_back("trace", json.at("trace").is_null()
                                    ? "none"
                                    : fmt::format("{} hosts", json.at("trace").at("hosts").dump()));
    lines.emplace_back("size", format_bytes(json.at("bytes")));
    if (state == "running") add("watch it", words.text("metrics_url"));
    for (const Json& warning : json.at("warnings"))
        lines.emplace_back("warning", warning);
    return lines;
}

/// Null: it is not there, or damaged.
Json card_of(const fs::path& run) {
    const fs::path file = run / "run.json";
    if (!there_is(file)) return {};
    try {
        return read_json(file);
    } catch (const Error&) {
        return {};
    }
}

Looked look_at_folder(const fs::path& path, bool check) {
    const auto text = run::RunFolder::finished(path);
    const std::string where = (path / "summary.json").string();
    const Json summary = text ? parse_json(*text, where) : Json();
    if (text && !summary.is_object())
        throw input_error("invalid summary: not a JSON object", where, "run it again");
    const Metrics metrics = metrics_of(path);
    const report::Standing standing = report::RunFollower(path).look();
    const Json card = card_of(path);
    Json json{{"kind", "run"}, {"state", state_of(summary, standing)}};
    for (const std::string_view key : told_by_summary) {
        const std::string name(key);
        if (summary.contains(name)) json[name] = summary[name];
    }
    json["steps"] = summary.is_null() ? Json() : summary.value("steps", Json());
    json["policy_last"] = standing.policy.empty() ? Json() : Json(standing.policy);
    json["standing"] = to_json(standing);
    json["metrics_lines"] = metrics.lines;
    json["checkpoints"] = checkpoints_of(path, check);
    json["trace"] = Json();
    if (is_trace(path / "trace")) {
        std::uint64_t hosts = 0;
        for (const auto& entry : fs::directory_iterator(path / "trace"))
            hosts += entry.path().filename().string().starts_with("host-") ? 1U : 0U;
        json["trace"] = {{"hosts", hosts}};
        if (check) static_cast<void>(buffer::read_trace(path));
    }
    json["bytes"] = size_of(path);
    json["warnings"] = warnings_of(summary, metrics, json["checkpoints"], json["state"]);
    KeyValues lines = run_lines(json, summary, card, standing);
    return {std::move(json), std::move(lines)};
}

}  // namespace

std::optional<Looked> look_at_run(const fs::path& path, bool check) {
    if (!there_is(path)) return std::nullopt;
    if (is_checkpoint(path)) return look_at_checkpoint(path);
    if (is_run(path)) return look_at_folder(path, check);
    if (is_trace(path)) return look_at_trace(path);
    return std::nullopt;
}

}  // namespace rudder::cli
