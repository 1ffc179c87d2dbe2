#include "report/run_follower.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "report/catalogue.hpp"
#include "report/run_watch.hpp"
#include "rudder/core/error.hpp"

#include "line_chunks.hpp"
#include "metrics_line.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

/// Of a file that is there when one begins to follow.
constexpr std::uint64_t most_looked_back = 4U << 20;

/// A file that grows by whole lines.
class GrowingFile {
public:
    GrowingFile(std::filesystem::path file, std::uint64_t look_back)
        : file_(std::move(file)), look_back_(look_back) {}

    /// The lines that have come; false: the file was cut, and all that was read no longer counts.
    bool read(FunctionRef<void(std::string_view)> body) {
        std::error_code code;
        const std::uint64_t size = std::filesystem::file_size(file_, code);
        if (code) return true;
        if (size < at_) return false;
        if (!std::exchange(begun_, true)) at_ = size - std::min(size, look_back_);
        if (size == at_) return true;
        try {
            for_each_line(file_, at_, size, [&](const TextLine& line) {
                if (!line.whole) return;
                body(line.text);
                at_ = line.offset + line.text.size() + 1;
            });
        } catch (const Error&) {
            // It went away; so it is with the next look.
        }
        return true;
    }

private:
    std::filesystem::path file_;
    std::uint64_t look_back_;
    std::uint64_t at_ = 0;
    bool begun_ = false;
};

/// Where the numbers that are followed stand in the catalogue.
struct Columns {
    std::size_t loss = metric_index("loss");
    std::size_t step = metric_index("seconds.step");
    std::size_t stall = metric_index("seconds.stall");
    std::size_t reduce = metric_index("seconds.reduce");
    std::array<std::size_t, step_parts.size()> parts{};
    std::size_t needed = metric_index("rows.needed");
    std::size_t local = metric_index("rows.local");
    std::size_t hit = metric_index("rows.hit");
    std::size_t demand = metric_index("rows.demand");
    std::size_t replacement = metric_index("rows.replacement");
    std::size_t ahead = metric_index("rows.ahead");
    std::vector<std::size_t> bytes;

    Columns() {
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i] = metric_index(fmt::format("seconds.{}", step_parts[i].key));
        for (std::size_t m = 0; m < metric_count; ++m) {
            if (metric_catalogue()[m].path.starts_with("bytes.")) bytes.push_back(m);
        }
    }
};

WatchedStep step_of(const MetricsLine& line, const Columns& at) {
    const auto count = [&](std::size_t column) {
        return static_cast<std::uint64_t>(std::clamp(line.values[column], 0.0, 1e15));
    };
    WatchedStep step{.step = line.step,
                     .epoch = line.epoch,
                     .rank = line.rank,
                     .loss = line.values[at.loss],
                     .seconds = {},
                     .rows = {},
                     .bytes = 0};
    step.seconds.step = line.values[at.step];
    step.seconds.stall = line.values[at.stall];
    step.seconds.reduce = line.values[at.reduce];
    for (std::size_t i = 0; i < at.parts.size(); ++i)
        step.seconds.*step_parts[i].seconds = line.values[at.parts[i]];
    step.rows.needed = count(at.needed);
    step.rows.local = count(at.local);
    step.rows.hit = count(at.hit);
    step.rows.demand = count(at.demand);
    step.rows.replacement = count(at.replacement);
    step.rows.ahead = count(at.ahead);
    for (const std::size_t column : at.bytes)
        step.bytes += count(column);
    return step;
}

/// What run.json says of the run before its first step.
RunPlan plan_of(const Facts& run, const std::string& name) {
    const auto number = [&](const char* key) {
        return static_cast<std::uint64_t>(std::clamp(run.number(key).value_or(0), 0.0, 1e15));
    };
    return {.name = name,
            .epochs = number("epochs"),
            .steps = number("epochs") * number("steps_per_epoch"),
            .ranks = std::max<std::uint64_t>(number("ranks"), 1),
            .policy = run.text("policy"),
            .agent = run.text("agent")};
}

/// Names of files need not be UTF-8.
std::string readable(const std::string& name) {
    const Json text = name;
    return Json::parse(text.dump(-1, ' ', false, Json::error_handler_t::replace))
        .get<std::string>();
}

Facts facts_or_none(const std::filesystem::path& file) {
    try {
        std::error_code code;
        if (std::filesystem::is_regular_file(file, code)) return read_facts(file);
    } catch (const Error&) {
        // It is being replaced, or damaged.
    }
    return {};
}

}  // namespace

struct RunFollower::State {
    std::filesystem::path folder;
    std::string name;
    Facts card;
    std::optional<RunWatch> watch;
    GrowingFile metrics;
    GrowingFile epochs;
    GrowingFile decisions;
    MetricsLineParser parser;
    MetricsLine line;
    Columns columns;
    std::string padded;  ///< a line with room behind it
    std::string policy;  ///< as it stood in the last line

    explicit State(const std::filesystem::path& path)
        : folder(path),
          metrics(path / "metrics.jsonl", most_looked_back),
          epochs(path / "epochs.jsonl", most_looked_back),
          decisions(path / "decisions.jsonl", most_looked_back) {
        const auto whole = std::filesystem::absolute(path).lexically_normal();
        name = readable((whole.has_filename() ? whole : whole.parent_path()).filename().string());
        begin();
    }

    /// Forgets what was read: the run was begun anew, or cut back and gone on with.
    void begin() {
        card = facts_or_none(folder / "run.json");
        watch.emplace(plan_of(card, name));
        metrics = {folder / "metrics.jsonl", most_looked_back};
        epochs = {folder / "epochs.jsonl", most_looked_back};
        decisions = {folder / "decisions.jsonl", most_looked_back};
        policy.clear();
    }

    void take_step(std::string_view text) {
        padded.assign(text);
        padded.resize(text.size() + line_padding);
        if (!parser.parse(std::string_view(padded).substr(0, text.size()), line)) return;
        watch->step(step_of(line, columns));
        if (line.rank != 0 || line.policy == policy) return;
        policy = line.policy;
        const Json value = Json::parse(policy, nullptr, false);
        watch->policy(value.is_string() ? value.get<std::string>() : std::string());
    }
    void take_epoch(std::string_view text) {
        const auto epoch = epoch_of_line(text);
        if (epoch)
            watch->epoch(epoch->epoch - 1, epoch->valid, epoch->evaluation_seconds.value_or(0));
    }
    void take_decision(std::string_view text) {
        try {
            const auto record = steer::parse_decision(parse_json(text, "decisions.jsonl"),
                                                      (folder / "decisions.jsonl").string());
            watch->decisions(std::span(&record, 1));
        } catch (const Error&) {
            // Of another version, or damaged: the others count.
        }
    }
    /// What the steps that were read took, by the clock of whoever wrote them: from the start to
    /// the last line. A run that was gone on with does not say how many steps it had done before.
    [[nodiscard]] std::optional<double> elapsed() const {
        const std::uint64_t done = watch->standing().step;
        if (done == 0 || !card.text("resumed.0.started").empty()) return std::nullopt;
        std::tm started{};
        struct stat file {};
        if (::strptime(card.text("started").c_str(), "%Y-%m-%dT%H:%M:%SZ", &started) == nullptr ||
            ::stat((folder / "metrics.jsonl").c_str(), &file) != 0)
            return std::nullopt;
        const auto seconds = static_cast<double>(file.st_mtime - ::timegm(&started));
        const double share = static_cast<double>(watch->steps_seen()) / static_cast<double>(done);
        return seconds > 0 ? std::optional(seconds * share) : std::nullopt;
    }
    bool read() {
        return metrics.read([&](std::string_view text) { take_step(text); }) &&
               epochs.read([&](std::string_view text) { take_epoch(text); }) &&
               decisions.read([&](std::string_view text) { take_decision(text); });
    }
};

RunFollower::RunFollower(const std::filesystem::path& folder) {
    expect_run_folder(folder);
    state_ = std::make_unique<State>(folder);
}

RunFollower::~RunFollower() = default;

Standing RunFollower::look() {
    State& s = *state_;
    // How it stands is looked at first: a run that ends meanwhile is then seen once more.
    const Facts card = facts_or_none(s.folder / "run.json");
    const bool anew = card.text("started") != s.card.text("started");
    const RunStatus status = run_status(card, facts_or_none(s.folder / "summary.json"), s.folder);
    if (anew) s.begin();
    if (!s.read()) {
        s.begin();
        static_cast<void>(s.read());
    }
    Standing standing = s.watch->standing(s.elapsed());
    standing.state = to_string(status);
    return standing;
}

}  // namespace rudder::report
