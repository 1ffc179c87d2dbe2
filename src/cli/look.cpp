#include "look.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/io/npz.hpp"
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

std::uint64_t size_of(const fs::path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) bytes += entry.file_size();
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
    KeyValues lines{
        {"kind", "checkpoint"},
        {"step", fmt::format("{}, after {} epochs", c.state.step, c.state.epochs.size())},
        {"model",
         fmt::format("{}, {} layers, {} hidden", network.model, network.layers, network.hidden)},
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

/// What run.json says of a run that has no summary.
std::string state_without_summary(const fs::path& run) {
    const fs::path file = run / "run.json";
    if (!there_is(file)) return "unfinished";
    const Json card = read_json(file);
    const Json state = card.is_object() ? card.value("state", Json()) : Json();
    return state == "interrupted" || state == "failed" ? state.get<std::string>() : "unfinished";
}

/// How it ended, as far as its folder tells.
std::string state_of(const Json& summary, const fs::path& run) {
    if (summary.is_null()) return state_without_summary(run);
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
Json warnings_of(const Json& summary, const Metrics& metrics, const Json& checkpoints) {
    Json warnings = Json::array();
    if (!metrics.whole) warnings.push_back("metrics.jsonl ends in the middle of a line");
    if (summary.is_null()) {
        const auto goes_on = [](const Json& one) {
            return one.at("name").get<std::string>().starts_with("step-");
        };
        warnings.push_back(std::ranges::none_of(checkpoints, goes_on)
                               ? "the run has not finished and has no checkpoint to resume from"
                               : "the run has not finished; continue it with --resume");
        return warnings;
    }
    const auto steps = summary.value("steps", std::uint64_t{0});
    const auto ranks = summary.value("ranks", std::uint64_t{1});
    if (metrics.lines != steps * ranks) {
        warnings.push_back(
            fmt::format("metrics.jsonl has {} lines, and {} steps of {} ranks were "
                        "done",
                        metrics.lines, steps, ranks));
    }
    return warnings;
}

/// The keys of a summary that say what was run and what came of it, as far as it has them.
constexpr std::array<std::string_view, 11> told_by_summary{"version",  "data",  "model",  "policy",
                                                           "ranks",    "hosts", "seed",   "epochs",
                                                           "accuracy", "loss",  "seconds"};

KeyValues run_lines(const Json& json, const Json& summary) {
    KeyValues lines{{"kind", "run"}, {"state", json.at("state")}};
    if (!summary.is_null()) {
        const auto text = [&](const char* key) {
            const Json value = summary.value(key, Json());
            return value.is_string() ? value.get<std::string>() : value.dump();
        };
        lines.emplace_back("data", text("data"));
        lines.emplace_back("model", text("model"));
        lines.emplace_back("policy", text("policy"));
        lines.emplace_back("ranks", text("ranks"));
        lines.emplace_back("epochs", text("epochs"));
        lines.emplace_back("steps", text("steps"));
        lines.emplace_back("accuracy", text("accuracy"));
    }
    std::vector<std::string> names;
    for (const Json& c : json.at("checkpoints"))
        names.push_back(c.at("name").get<std::string>() + (c.at("best") ? " (best)" : ""));
    lines.emplace_back("lines of metrics", format_count(json.at("metrics_lines")));
    lines.emplace_back("checkpoints",
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    lines.emplace_back("trace", json.at("trace").is_null()
                                    ? "none"
                                    : fmt::format("{} hosts", json.at("trace").at("hosts").dump()));
    lines.emplace_back("size", format_bytes(json.at("bytes")));
    for (const Json& warning : json.at("warnings"))
        lines.emplace_back("warning", warning);
    return lines;
}

Looked look_at_folder(const fs::path& path, bool check) {
    const auto text = run::RunFolder::finished(path);
    const std::string where = (path / "summary.json").string();
    const Json summary = text ? parse_json(*text, where) : Json();
    if (text && !summary.is_object())
        throw input_error("invalid summary: not a JSON object", where, "run it again");
    const Metrics metrics = metrics_of(path);
    Json json{{"kind", "run"}, {"state", state_of(summary, path)}};
    for (const std::string_view key : told_by_summary) {
        const std::string name(key);
        if (summary.contains(name)) json[name] = summary[name];
    }
    json["steps"] = summary.is_null() ? Json() : summary.value("steps", Json());
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
    json["warnings"] = warnings_of(summary, metrics, json["checkpoints"]);
    KeyValues lines = run_lines(json, summary);
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
