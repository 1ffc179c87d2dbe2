// decisions.jsonl: every decision as a point, and those worth reading in words.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/json.hpp"
#include "rudder/core/file.hpp"

#include "line_chunks.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t most_notable = 250;
constexpr std::size_t most_points = 4U << 20;

struct ChunkDecisions {
    std::vector<DecisionPoint> points;
    std::uint64_t damaged = 0;
    bool cut = false;
    std::string agent;
};

/// Reads a line as a point: fields are looked up in any order, what is absent is left out.
bool parse_point(ondemand::parser& parser, std::string_view text, DecisionPoint& point,
                 std::string& agent) {
    ondemand::document line;
    if (parser.iterate(text.data(), text.size(), text.size() + line_padding).get(line))
        return false;
    ondemand::object object;
    if (line.get_object().get(object)) return false;
    std::uint64_t rank = 0;
    std::string_view word;
    if (object["step"].get_uint64().get(point.step)) return false;
    if (object["rank"].get_uint64().get(rank)) return false;
    point.rank = static_cast<std::uint32_t>(rank);
    if (agent.empty() && !object["agent"].get_string().get(word)) agent = word;
    if (object["status"].get_string().get(word)) return false;
    point.undone = word == "undone";
    point.failed = word != "applied" && !point.undone;
    if (object["action"]["action"].get_string().get(word)) return false;
    for (const steer::ActionKind kind : {steer::ActionKind::replace, steer::ActionKind::set})
        if (word == to_string(kind)) point.kind = kind;
    bool correct = false;
    ondemand::object outcome;
    if (object["outcome"].get_object().get(outcome)) return true;
    if (outcome["correct"].get_bool().get(correct)) return true;
    point.verdict = correct ? Judgement::right : Judgement::wrong;
    double rows = 0;
    double other = 0;
    if (outcome["rows"].get_double().get(rows)) return true;
    ondemand::array alternatives;
    if (object["alternatives"].get_array().get(alternatives)) return true;
    for (auto alternative : alternatives) {
        if (alternative["rows"].get_double().get(other)) return true;
        const double larger = std::max(rows, other);
        point.gain = larger > 0 ? static_cast<float>((other - rows) / larger) : 0;
        if (rows == other) point.verdict = Judgement::no_effect;
        break;
    }
    return true;
}

/// What is worth a reader's time comes first: failures and changes, then what was wrong.
int weight(const DecisionPoint& p) {
    if (p.undone || p.kind == steer::ActionKind::set) return 4;
    if (p.failed) return 3;
    if (p.verdict == Judgement::wrong) return 2;
    return p.kind == steer::ActionKind::replace ? 1 : 0;
}

std::string action_text(const Json& action) {
    if (!action.is_object()) return "";
    const Facts facts = flat_facts(action);
    std::string kind = facts.text("action");
    if (kind == "replace") {
        const auto share = facts.number("fraction");
        return share && *share < 1 ? fmt::format("replace up to {:.0f} %", *share * 100)
                                   : std::string("replace");
    }
    if (kind != "set") return kind;
    std::string text;
    const auto add = [&](const std::string& path, const std::string& value) {
        if (!path.starts_with("knobs.")) return;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", path.substr(6), value);
    };
    for (const auto& [path, value] : facts.texts)
        add(path, value);
    for (const auto& [path, value] : facts.numbers)
        add(path, fmt::format("{}", value));
    return "set " + text;
}

DecisionText text_of(const DecisionPoint& point, std::string_view line) {
    DecisionText text;
    text.step = point.step;
    text.rank = point.rank;
    text.verdict = point.verdict;
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return text;
    const auto field = [&](const char* key) { return json.contains(key) ? json[key] : Json(); };
    const auto word = [&](const char* key) {
        const Json value = field(key);
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    text.action = action_text(field("action"));
    text.reason = word("reason");
    text.note = word("note");
    text.problem = word("problem");
    text.status = word("status");
    text.effective_step = point.step;
    if (const Json step = field("effective_step"); step.is_number_unsigned())
        text.effective_step = step.get<std::uint64_t>();
    if (const Json latency = field("latency"); latency.is_number())
        text.latency = latency.get<double>();
    text.rows = flat_facts(field("outcome")).number("rows");
    if (const Json others = field("alternatives"); others.is_array() && !others.empty()) {
        text.other_rows = flat_facts(others[0]).number("rows");
        if (others[0].is_object() && others[0].contains("action"))
            text.alternative = action_text(others[0]["action"]);
    }
    return text;
}

/// The decisions worth reading, in words.
void describe(const std::filesystem::path& path, DecisionData& data) {
    std::vector<const DecisionPoint*> chosen;
    for (const DecisionPoint& point : data.points)
        chosen.push_back(&point);
    const std::size_t count = std::min(chosen.size(), most_notable);
    std::partial_sort(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count),
                      chosen.end(), [](const DecisionPoint* a, const DecisionPoint* b) {
                          const auto key = [](const DecisionPoint& p) {
                              return std::tuple(-weight(p), -std::abs(p.gain), p.offset);
                          };
                          return key(*a) < key(*b);
                      });
    chosen.resize(count);
    std::ranges::sort(
        chosen, {}, [](const DecisionPoint* p) { return std::tuple(p->step, p->rank, p->offset); });
    const File file = File::open(path);
    for (const DecisionPoint* point : chosen) {
        std::string line(point->length, ' ');
        line.resize(file.read_at(point->offset, std::as_writable_bytes(std::span(line))));
        data.notable.push_back(text_of(*point, line));
    }
}

}  // namespace

std::optional<DecisionLine> read_decision(std::string_view line) {
    thread_local ondemand::parser parser;
    DecisionPoint point;
    DecisionLine read;
    if (!parse_point(parser, line, point, read.agent)) return std::nullopt;
    read.text = text_of(point, line);
    return read;
}

DecisionData read_run_decisions(const std::filesystem::path& file) {
    const LineChunks chunks = LineChunks::of(std::filesystem::file_size(file));
    std::vector<ChunkDecisions> parts(chunks.count());
    for_each_chunk(file, chunks, [&](std::size_t chunk, LineSource& lines) {
        ChunkDecisions& part = parts[chunk];
        ondemand::parser parser;
        lines.for_each([&](const TextLine& line) {
            DecisionPoint point;
            if (parse_point(parser, line.text, point, part.agent)) {
                point.offset = line.offset;
                point.length = static_cast<std::uint32_t>(line.text.size());
                part.points.push_back(point);
            } else if (line.whole) {
                ++part.damaged;
            } else {
                part.cut = true;
            }
        });
    });
    DecisionData data;
    data.present = true;
    for (ChunkDecisions& part : parts) {
        data.lines += part.points.size();
        data.damaged += part.damaged;
        data.cut = data.cut || part.cut;
        if (data.agent.empty()) data.agent = part.agent;
        if (data.points.size() < most_points)
            data.points.insert(data.points.end(), part.points.begin(), part.points.end());
    }
    describe(file, data);
    return data;
}

}  // namespace rudder::report
