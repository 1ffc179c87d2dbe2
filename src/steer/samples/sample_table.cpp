#include "sample_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

namespace rudder::steer {

namespace {

constexpr std::uint64_t most_table_bytes = std::uint64_t{4} << 30;
constexpr auto fixed_columns = std::to_array<std::string_view>(
    {"graph", "host", "policy", "buffer", "step", "replaced", "rows_with", "rows_without",
     "hit_change", "frequency_change", "fetch_change", "label", "paper_label"});
constexpr std::string_view collect_again = "collect it again with 'rudder agent collect'";

std::string first_line(std::uint64_t horizon) {
    return fmt::format("# rudder samples version {} features {} horizon {}", sample_version,
                       feature_version, horizon);
}

std::string column_names() {
    std::string line;
    for (const std::string_view name : fixed_columns)
        line += fmt::format("{}{}", line.empty() ? "" : ",", name);
    for (const std::string_view name : feature_names(FeatureSet::repaired))
        line += fmt::format(",{}", name);
    for (const std::string_view name : feature_names(FeatureSet::faithful))
        line += fmt::format(",paper.{}", name);
    return line;
}

std::string label_text(const std::optional<bool>& label) {
    return label ? (*label ? "1" : "0") : "";
}

std::uint32_t index_of(std::vector<std::string>& names, std::string_view name) {
    const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (at == names.size()) names.emplace_back(name);
    return static_cast<std::uint32_t>(at);
}

/// Mean and spread of one number of the samples.
struct Moments {
    double mean = 0;
    double spread = 1;
};
template <class Get>
Moments moments(std::span<const Sample> samples, Get get) {
    Moments m;
    for (const Sample& sample : samples)
        m.mean += get(sample) / static_cast<double>(samples.size());
    double squares = 0;
    for (const Sample& sample : samples)
        squares += (get(sample) - m.mean) * (get(sample) - m.mean);
    m.spread = std::sqrt(squares / static_cast<double>(samples.size()));
    if (!(m.spread > 0)) m.spread = 1;
    return m;
}

/// One line of a table.
class LineReader {
public:
    LineReader(std::string_view line, std::string where)
        : cells_(split(line, ',')), where_(std::move(where)) {}

    [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }
    std::string_view text() { return cells_[at_++]; }
    double number() {
        const std::string_view cell = text();
        const auto value = parse_double(cell);
        if (!value) {
            throw input_error(fmt::format("invalid number: '{}'", cell), where_,
                              std::string(collect_again));
        }
        return *value;
    }
    std::uint64_t whole() {
        const std::string_view cell = text();
        const auto value = parse_u64(cell);
        if (!value) {
            throw input_error(fmt::format("invalid whole number: '{}'", cell), where_,
                              std::string(collect_again));
        }
        return *value;
    }
    std::optional<bool> label() {
        const std::string_view cell = text();
        if (cell.empty()) return std::nullopt;
        if (cell != "0" && cell != "1") {
            throw input_error(fmt::format("invalid label: '{}'", cell), where_,
                              "labels are 0 or 1");
        }
        return cell == "1";
    }

private:
    std::vector<std::string_view> cells_;
    std::string where_;
    std::size_t at_ = 0;
};

void parse_line(SampleTable& table, LineReader& line) {
    Sample sample;
    sample.graph = index_of(table.graphs, line.text());
    sample.host = static_cast<std::uint32_t>(line.whole());
    std::string policy(line.text());
    std::ranges::replace(policy, ';', ',');
    sample.policy = index_of(table.policies, policy);
    sample.buffer = line.number();
    sample.step = line.whole();
    sample.replaced = line.whole() != 0;
    sample.rows_with = line.number();
    sample.rows_without = line.number();
    sample.hit_change = line.number();
    sample.frequency_change = line.number();
    sample.fetch_change = line.number();
    sample.label = line.label();
    sample.paper = line.label();
    table.samples.push_back(sample);
    for (std::size_t i = 0; i < feature_names(FeatureSet::repaired).size(); ++i)
        table.repaired.push_back(line.number());
    for (std::size_t i = 0; i < feature_names(FeatureSet::faithful).size(); ++i)
        table.faithful.push_back(line.number());
}

/// The horizon, of the first two lines.
std::uint64_t parse_head(std::string_view first, std::string_view second,
                         const std::string& where) {
    if (!first.starts_with("# rudder samples version "))
        throw input_error("not a table of samples", where, std::string(collect_again));
    const auto words = split(first, ' ');
    const auto horizon = parse_u64(words.back());
    if (!horizon || first != first_line(*horizon)) {
        throw input_error(fmt::format("the table is of another version: '{}'", first), where,
                          std::string(collect_again));
    }
    if (second != column_names()) {
        throw input_error("the table has other columns than this program reads", where + ", line 2",
                          std::string(collect_again));
    }
    return *horizon;
}

}  // namespace

std::span<const double> SampleTable::features(FeatureSet set, std::size_t i) const {
    const std::vector<double>& all = set == FeatureSet::faithful ? faithful : repaired;
    const std::size_t width = feature_names(set).size();
    return std::span(all).subspan(i * width, width);
}

void SampleTable::append(const SampleTable& other, const std::string& where) {
    if (!samples.empty() && other.horizon != horizon) {
        throw input_error(
            fmt::format("its labels look {} steps ahead, those of the tables before {}",
                        other.horizon, horizon),
            where, "collect all tables with the same horizon");
    }
    horizon = other.horizon;
    for (Sample sample : other.samples) {
        sample.graph = index_of(graphs, other.graphs[sample.graph]);
        sample.policy = index_of(policies, other.policies[sample.policy]);
        samples.push_back(sample);
    }
    repaired.insert(repaired.end(), other.repaired.begin(), other.repaired.end());
    faithful.insert(faithful.end(), other.faithful.begin(), other.faithful.end());
}

void label_as_published(SampleTable& table) {
    const auto hit = moments(table.samples, [](const Sample& s) { return s.hit_change; });
    const auto often = moments(table.samples, [](const Sample& s) { return s.frequency_change; });
    const auto fetch = moments(table.samples, [](const Sample& s) { return s.fetch_change; });
    for (Sample& s : table.samples) {
        const double score = (s.hit_change - hit.mean) / hit.spread -
                             (s.frequency_change - often.mean) / often.spread -
                             (s.fetch_change - fetch.mean) / fetch.spread;
        s.paper = score > 0;
    }
}

std::string to_csv(const SampleTable& table) {
    std::string text = first_line(table.horizon) + "\n" + column_names() + "\n";
    auto out = std::back_inserter(text);
    for (std::size_t i = 0; i < table.samples.size(); ++i) {
        const Sample& s = table.samples[i];
        std::string policy = table.policies[s.policy];
        std::ranges::replace(policy, ',', ';');
        fmt::format_to(out, "{},{},{},{},{},{},{},{},{},{},{},{},{}", table.graphs[s.graph], s.host,
                       policy, s.buffer, s.step, s.replaced ? 1 : 0, s.rows_with, s.rows_without,
                       s.hit_change, s.frequency_change, s.fetch_change, label_text(s.label),
                       label_text(s.paper));
        for (const double value : table.features(FeatureSet::repaired, i))
            fmt::format_to(out, ",{:.9g}", value);
        for (const double value : table.features(FeatureSet::faithful, i))
            fmt::format_to(out, ",{:.9g}", value);
        text += '\n';
    }
    return text;
}

SampleTable parse_csv(std::string_view text, const std::string& where) {
    std::size_t number = 0;
    const auto next = [&] {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++number;
        return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    };
    SampleTable table;
    const std::string_view first = next();
    const std::string_view second = next();
    table.horizon = parse_head(first, second, where);
    const std::size_t columns = split(second, ',').size();
    while (!text.empty()) {
        const std::string_view cells = next();
        const std::string place = fmt::format("{}, line {}", where, number);
        LineReader line(cells, place);
        if (line.size() != columns) {
            throw input_error(fmt::format("{} columns instead of {}", line.size(), columns), place,
                              std::string(collect_again));
        }
        parse_line(table, line);
    }
    if (table.samples.empty())
        throw input_error("the table has no samples", where, std::string(collect_again));
    return table;
}

SampleTable read_samples(const std::filesystem::path& path) {
    return parse_csv(read_text(path, most_table_bytes), path.string());
}

}  // namespace rudder::steer
