#include "report/run_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/json.hpp"
#include "report/catalogue.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "line_chunks.hpp"
#include "metrics_line.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

namespace fs = std::filesystem;

/// Lines on their way to a file.
class CsvFile {
public:
    explicit CsvFile(const fs::path& path) : file_(File::create(path)) {}

    void add(std::string_view line) {
        text_ += line;
        if (text_.size() >= most_held) write();
    }
    void finish() {
        write();
        file_.sync_and_close();
    }

private:
    static constexpr std::size_t most_held = 1U << 20;
    void write() {
        file_.write(std::as_bytes(std::span(text_)));
        text_.clear();
    }
    File file_;
    std::string text_;
};

/// The lines of a file of any size.
template <class Body>
void for_all_lines(const fs::path& file, const Body& body) {
    constexpr std::uint64_t piece = 8U << 20;
    const std::uint64_t bytes = fs::file_size(file);
    for (std::uint64_t begin = 0; begin < bytes; begin += piece)
        for_each_line(file, begin, std::min(begin + piece, bytes), body);
}

/// A number as it would be read back; nothing where it is none.
std::string number_cell(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

std::string number_cell(const std::optional<double>& value) {
    return value ? number_cell(*value) : std::string();
}

TableSize write_steps(const fs::path& from, CsvFile& out) {
    const auto catalogue = metric_catalogue();
    std::string header = "step,epoch,rank";
    for (const MetricInfo& metric : catalogue)
        header += "," + metric.path;
    out.add(header + ",knobs.policy\n");
    TableSize size;
    MetricsLineParser parser;
    MetricsLine line;
    std::string text;
    for_all_lines(from, [&](const TextLine& read) {
        if (!parser.parse(read.text, line)) {
            ++size.left_out;
            return;
        }
        ++size.lines;
        text.clear();
        fmt::format_to(std::back_inserter(text), "{},{},{}", line.step, line.epoch, line.rank);
        for (std::size_t m = 0; m < catalogue.size(); ++m) {
            text += ',';
            if (line.seen[m] == 0) continue;
            if (catalogue[m].whole()) {
                fmt::format_to(std::back_inserter(text), "{:.0f}", line.values[m]);
            } else {
                text += number_cell(line.values[m]);
            }
        }
        text += ',';
        if (line.policy.size() > 2)
            text += csv_cell(line.policy.substr(1, line.policy.rfind('"') - 1));
        text += '\n';
        out.add(text);
    });
    return size;
}

/// The columns are all keys that a line has, `epoch` first.
TableSize write_epochs(const fs::path& from, CsvFile& out) {
    TableSize size;
    std::vector<Facts> epochs;
    std::set<std::string> keys;
    for_all_lines(from, [&](const TextLine& read) {
        Facts facts = flat_facts(Json::parse(read.text, nullptr, false));
        if (!facts.number("epoch")) {
            ++size.left_out;
            return;
        }
        for (const auto& [key, value] : facts.numbers)
            keys.insert(key);
        epochs.push_back(std::move(facts));
    });
    size.lines = epochs.size();
    keys.erase("epoch");
    std::vector<std::string> cells{"epoch"};
    cells.insert(cells.end(), keys.begin(), keys.end());
    const std::vector<std::string> names = cells;
    out.add(csv_line(names));
    for (const Facts& epoch : epochs) {
        cells.clear();
        for (const std::string& key : names)
            cells.push_back(number_cell(epoch.number(key)));
        out.add(csv_line(cells));
    }
    return size;
}

std::string_view verdict_word(Judgement verdict) {
    constexpr std::array<std::string_view, 4> words{"right", "wrong", "undecided", "no effect"};
    return words[static_cast<std::size_t>(verdict)];
}

TableSize write_decisions(const fs::path& from, CsvFile& out) {
    out.add(
        "step,rank,agent,action,status,effective_step,reason,note,problem,latency,verdict,rows,"
        "alternative,alternative_rows\n");
    TableSize size;
    for_all_lines(from, [&](const TextLine& read) {
        const auto line = read_decision(read.text);
        if (!line) {
            ++size.left_out;
            return;
        }
        ++size.lines;
        const DecisionText& d = line->text;
        const std::array<std::string, 14> cells{fmt::format("{}", d.step),
                                                fmt::format("{}", d.rank),
                                                line->agent,
                                                d.action,
                                                d.status,
                                                fmt::format("{}", d.effective_step),
                                                d.reason,
                                                d.note,
                                                d.problem,
                                                number_cell(d.latency),
                                                std::string(verdict_word(d.verdict)),
                                                number_cell(d.rows),
                                                d.alternative,
                                                number_cell(d.other_rows)};
        out.add(csv_line(cells));
    });
    return size;
}

}  // namespace

TableSize write_run_table(const fs::path& folder, RunTable table, const fs::path& file) {
    constexpr std::array<std::string_view, 3> sources{"metrics.jsonl", "epochs.jsonl",
                                                      "decisions.jsonl"};
    const fs::path from = folder / sources[static_cast<std::size_t>(table)];
    std::error_code code;
    if (!fs::is_regular_file(from, code)) {
        throw input_error(
            fmt::format("the run has no {}", from.filename().string()), folder.string(),
            table == RunTable::decisions
                ? "choose another --table; decisions are of runs that an agent steered"
                : "choose another --table");
    }
    CsvFile out(file);
    const TableSize size = table == RunTable::steps    ? write_steps(from, out)
                           : table == RunTable::epochs ? write_epochs(from, out)
                                                       : write_decisions(from, out);
    out.finish();
    return size;
}

}  // namespace rudder::report
