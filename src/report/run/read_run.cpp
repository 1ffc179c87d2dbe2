// A run's folder with its JSON files and epochs: what is there, how it ended, what is missing.
#include <array>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "report/catalogue.hpp"
#include "report/run_data.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "line_chunks.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_epochs = 100000;

}  // namespace

std::optional<EpochData> epoch_of_line(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const Facts facts = flat_facts(json);
    const auto epoch = facts.number("epoch");
    if (!epoch || !(*epoch >= 0) || *epoch > 1e15) return std::nullopt;
    EpochData data;
    data.epoch = static_cast<std::uint64_t>(*epoch) + 1;
    data.loss = facts.number("loss");
    data.seconds = facts.number("seconds");
    data.evaluation_seconds = facts.number("evaluation_seconds");
    data.train = facts.number("accuracy.train");
    data.valid = facts.number("accuracy.valid");
    data.test = facts.number("accuracy.test");
    return data;
}

EpochFile read_epochs(const std::filesystem::path& file) {
    EpochFile read;
    for_each_line(file, 0, std::filesystem::file_size(file), [&](const TextLine& line) {
        if (read.epochs.size() >= most_epochs) return;
        if (auto epoch = epoch_of_line(line.text)) {
            read.epochs.push_back(*epoch);
        } else if (line.whole) {
            ++read.damaged;
        } else {
            read.cut = true;
        }
    });
    return read;
}

bool is_being_written(const std::filesystem::path& metrics) {
    const int fd = ::open(metrics.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(fd);
    return held;
}

namespace {

constexpr std::size_t most_facts = 20000;
constexpr std::uint64_t most_bytes = 4U << 20;

void flatten(const Json& value, const std::string& path, Facts& facts) {
    if (facts.numbers.size() + facts.texts.size() > most_facts) return;
    const auto below = [&](const std::string& key) {
        return path.empty() ? key : path + "." + key;
    };
    if (value.is_object()) {
        for (const auto& [key, field] : value.items())
            flatten(field, below(key), facts);
    } else if (value.is_array()) {
        for (std::size_t i = 0; i < value.size(); ++i)
            flatten(value[i], below(std::to_string(i)), facts);
    } else if (value.is_boolean()) {
        facts.numbers[path] = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
        facts.numbers[path] = value.get<double>();
    } else if (value.is_string()) {
        facts.texts[path] = value.get<std::string>();
    }
}

template <class Map>
auto list_of(const Map& all, const std::string& path) {
    std::vector<typename Map::mapped_type> list;
    for (std::size_t i = 0;; ++i) {
        const auto found = all.find(path + "." + std::to_string(i));
        if (found == all.end()) return list;
        list.push_back(found->second);
    }
}

}  // namespace

std::optional<double> Facts::number(std::string_view path) const {
    const auto found = numbers.find(path);
    if (found == numbers.end()) return std::nullopt;
    return found->second;
}

std::string Facts::text(std::string_view path) const {
    const auto found = texts.find(path);
    return found == texts.end() ? std::string() : found->second;
}

std::vector<std::string> Facts::list(const std::string& path) const {
    return list_of(texts, path);
}

std::vector<double> Facts::number_list(const std::string& path) const {
    return list_of(numbers, path);
}

Facts flat_facts(const Json& value) {
    Facts facts;
    flatten(value, "", facts);
    return facts;
}

Facts read_facts(const std::filesystem::path& file) {
    return flat_facts(read_json(file, most_bytes));
}

std::optional<Seconds> summary_seconds(const Facts& summary) {
    const auto number = [&](std::string_view key) {
        return summary.number(fmt::format("seconds.{}", key)).value_or(0);
    };
    Seconds seconds{.step = number("step"),
                    .fetch = number("fetch"),
                    .stall = number("stall"),
                    .reduce = number("reduce")};
    if (!(seconds.step > 0)) return std::nullopt;
    for (const StepPart& part : step_parts)
        seconds.*part.seconds = number(part.key);
    return with_all_parts(seconds);
}

void add_partition(RunData& run, const std::string& json) {
    flatten(parse_json(json, "partition"), "partition", run.run);
}

namespace {

namespace fs = std::filesystem;

constexpr double known_schema = 1;
constexpr std::uint64_t most_config = 256U << 10;

bool is_file(const fs::path& path) {
    std::error_code code;
    return fs::is_regular_file(path, code);
}

/// Reads a part if it is there; what goes wrong becomes a sentence.
class PartReader {
public:
    explicit PartReader(RunData& run) : run_(run) {}

    template <class Read>
    bool read(const char* name, const Read& read) {
        const fs::path file = run_.path / name;
        if (!is_file(file)) return false;
        try {
            read(file);
            return true;
        } catch (const Error& error) {
            say("{} cannot be read ({}).", name, error.problem());
        } catch (const fs::filesystem_error& error) {
            say("{} cannot be read ({}).", name, error.code().message());
        }
        return false;
    }
    template <class... Values>
    void say(fmt::format_string<Values...> format, Values&&... values) {
        run_.missing.push_back(fmt::format(format, std::forward<Values>(values)...));
    }
    void say_lines(const char* name, std::uint64_t damaged, bool cut) {
        if (damaged != 0) {
            say("{} of {} could not be read and {} left out.",
                damaged == 1 ? "1 line" : format_count(damaged) + " lines", name,
                damaged == 1 ? "is" : "are");
        }
        if (cut) say("{} ends in the middle of a line, which is left out.", name);
    }
    void say_schema(const char* name, const Facts& facts) {
        const auto schema = facts.number("schema");
        if (facts.empty()) return;
        if (!schema) {
            say("{} does not say which schema it has; it was read as schema 1.", name);
        } else if (*schema != known_schema) {
            say("{} has schema {}, and this program knows schema 1: what it could make sense of is "
                "shown.",
                name, *schema);
        }
    }

private:
    RunData& run_;
};

void read_metrics_part(RunData& run, PartReader& parts, ReadDepth depth) {
    parts.read("metrics.jsonl",
               [&](const fs::path& file) { run.metrics = read_metrics(file, depth); });
    MetricsData& metrics = run.metrics;
    if (!metrics.present) {
        parts.say("metrics.jsonl is missing: nothing can be shown step by step.");
        return;
    }
    parts.say_lines("metrics.jsonl", metrics.damaged, metrics.cut);
    if (metrics.lines == 0) {
        parts.say("metrics.jsonl has no step yet.");
        return;
    }
    if (metrics.unordered != 0)
        parts.say("metrics.jsonl is not in order of steps: a step may have been counted twice.");
    if (metrics.bad_losses != 0) {
        parts.say("The loss is NaN or infinite in {} of {} lines of metrics.jsonl.",
                  format_count(metrics.bad_losses), format_count(metrics.lines));
    }
    std::string absent;
    for (std::size_t m = 0; m < metrics.seen.size(); ++m) {
        const std::string_view path = metric_catalogue()[m].path;
        // A run without a buffer has no knobs, one of an earlier version does not divide its waits
        // and knows of no learned rows.
        const bool optional = path.starts_with("knobs.") || path.starts_with("seconds.wait_") ||
                              path == "seconds.rest" || path == "learned";
        if (metrics.seen[m] == 0 && !optional && path != "loss")
            absent += fmt::format("{}{}", absent.empty() ? "" : ", ", path);
    }
    if (!absent.empty()) parts.say("metrics.jsonl does not have {}.", absent);
    if (!metrics.has_owners) parts.say("metrics.jsonl does not say which rank rows came from.");
}

void read_epoch_part(RunData& run, PartReader& parts) {
    EpochFile file;
    const bool there =
        parts.read("epochs.jsonl", [&](const fs::path& path) { file = read_epochs(path); });
    if (!there) parts.say("epochs.jsonl is missing: accuracy is known at the end alone.");
    parts.say_lines("epochs.jsonl", file.damaged, file.cut);
    run.epochs = std::move(file.epochs);
}

void read_decision_part(RunData& run, PartReader& parts) {
    const bool there = parts.read(
        "decisions.jsonl", [&](const fs::path& file) { run.decisions = read_run_decisions(file); });
    parts.say_lines("decisions.jsonl", run.decisions.damaged, run.decisions.cut);
    const std::string agent = run.summary.text("agent.name");
    const auto decided = run.summary.number("agent.decisions");
    if (!there && decided && *decided > 0) {
        parts.say("decisions.jsonl is missing, though agent {} decided {} times.", agent,
                  format_count(static_cast<std::uint64_t>(*decided)));
    }
}

}  // namespace

RunStatus run_status(const Facts& run, const Facts& summary, const fs::path& folder) {
    const bool written = is_being_written(folder / "metrics.jsonl");
    const std::string state = run.text("state");
    if (state == "running") return written ? RunStatus::running : RunStatus::killed;
    if (state == "finished") return RunStatus::finished;
    if (state == "interrupted") return RunStatus::interrupted;
    if (state == "failed") return RunStatus::failed;
    if (summary.number("interrupted").value_or(0) != 0) return RunStatus::interrupted;
    if (!summary.empty()) return RunStatus::finished;
    return written ? RunStatus::running : RunStatus::unfinished;
}

std::string_view to_string(RunStatus state) noexcept {
    constexpr std::array<std::string_view, 6> names{"finished", "interrupted", "failed",
                                                    "killed",   "running",     "unfinished"};
    return names[static_cast<std::size_t>(state)];
}

bool is_run_folder(const fs::path& folder) {
    return is_file(folder / "metrics.jsonl") || is_file(folder / "summary.json") ||
           is_file(folder / "run.json");
}

void expect_run_folder(const fs::path& folder) {
    std::error_code code;
    if (!fs::exists(folder, code)) {
        throw input_error("no such folder", folder.string(),
                          "give the folder that 'rudder train --out' made");
    }
    if (!is_run_folder(folder)) {
        throw input_error("not a run folder (metrics.jsonl, summary.json and run.json missing)",
                          folder.string(), "give the folder that 'rudder train --out' made");
    }
}

RunData read_run(const fs::path& folder, ReadDepth depth) {
    expect_run_folder(folder);
    RunData run;
    run.path = folder;
    run.name = fs::absolute(folder).lexically_normal().filename().string();
    if (run.name.empty())
        run.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
    PartReader parts(run);
    if (!parts.read("run.json", [&](const fs::path& file) { run.run = read_facts(file); }) &&
        !is_file(folder / "run.json"))
        parts.say("run.json is missing: the command and the partition are not known.");
    parts.say_schema("run.json", run.run);
    parts.read("summary.json", [&](const fs::path& file) { run.summary = read_facts(file); });
    parts.say_schema("summary.json", run.summary);
    run.state = run_status(run.run, run.summary, folder);
    if (!is_file(folder / "summary.json")) {
        parts.say(
            "summary.json, which a run writes at its end, is missing: totals are of the steps "
            "in metrics.jsonl.");
    }
    if (!parts.read("config.toml",
                    [&](const fs::path& file) { run.config = read_text(file, most_config); }))
        parts.say("config.toml is missing: the options are not known.");
    read_metrics_part(run, parts, depth);
    read_epoch_part(run, parts);
    if (depth == ReadDepth::whole) read_decision_part(run, parts);
    parts.read("profile.json", [&](const fs::path& file) {
        if (depth == ReadDepth::whole) run.timeline = read_timeline(file);
        run.profile = read_profile_times(file);
    });
    std::error_code code;
    run.traced = fs::is_directory(folder / "trace", code);
    return run;
}

}  // namespace rudder::report
