#include "metrics_line.hpp"

#include <algorithm>
#include <cstring>

#include <simdjson.h>

#include "report/catalogue.hpp"

#include "line_chunks.hpp"

namespace rudder::report {

namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

constexpr std::uint64_t most_ranks = 1U << 20;
static_assert(line_padding >= simdjson::SIMDJSON_PADDING);

/// A name at one level of a line, and what stands under it.
struct Field {
    enum class Kind : std::uint8_t { metric, group, step, epoch, rank, owners, policy };
    std::string_view name;
    Kind kind;
    std::size_t index;  ///< of the metric, or of the group
};

/// The names of one level. Lines are alike: the name that followed last time is tried first.
struct Level {
    std::vector<Field> fields;
    std::size_t next = 0;

    const Field* find(const char* raw) {
        const std::size_t count = fields.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = (next + i) % count;
            const std::string_view name = fields[at].name;
            if (std::memcmp(raw, name.data(), name.size()) == 0 && raw[name.size()] == '"') {
                next = (at + 1) % count;
                return &fields[at];
            }
        }
        return nullptr;
    }
};

}  // namespace

struct MetricsLineParser::State {
    ondemand::parser parser;
    Level top;
    std::vector<Level> groups;

    State();
    [[nodiscard]] error_code object(ondemand::object object, Level& level, MetricsLine& out);
    [[nodiscard]] error_code field(const Field& known, ondemand::value value, MetricsLine& out);
    [[nodiscard]] static error_code metric(std::size_t index, ondemand::value value,
                                           MetricsLine& out);
    [[nodiscard]] static error_code owners(ondemand::value value, MetricsLine& out);
};

MetricsLineParser::State::State() {
    using Kind = Field::Kind;
    top.fields = {{"step", Kind::step, 0}, {"epoch", Kind::epoch, 0}, {"rank", Kind::rank, 0}};
    const auto catalogue = metric_catalogue();
    std::vector<std::string_view> names;
    for (std::size_t m = 0; m < catalogue.size(); ++m) {
        const std::string_view path = catalogue[m].path;
        const std::size_t dot = path.find('.');
        if (dot == std::string_view::npos) {
            top.fields.push_back({path, Kind::metric, m});
            continue;
        }
        const std::string_view name = path.substr(0, dot);
        const auto found = std::ranges::find(names, name);
        const auto group = static_cast<std::size_t>(found - names.begin());
        if (found == names.end()) {
            names.push_back(name);
            groups.emplace_back();
            top.fields.push_back({name, Kind::group, group});
        }
        groups[group].fields.push_back({path.substr(dot + 1), Kind::metric, m});
        if (name == "knobs" && groups[group].fields.size() == 1)
            groups[group].fields.push_back({"policy", Kind::policy, 0});
    }
    top.fields.push_back({"bytes_by_owner", Kind::owners, 0});
}

error_code MetricsLineParser::State::object(ondemand::object object, Level& level,
                                            MetricsLine& out) {
    for (auto entry : object) {
        ondemand::raw_json_string key;
        if (const auto error = entry.key().get(key)) return error;
        const Field* known = level.find(key.raw());
        if (known == nullptr) continue;  // of a later version
        ondemand::value value;
        if (const auto error = entry.value().get(value)) return error;
        if (const auto error = field(*known, value, out)) return error;
    }
    return simdjson::SUCCESS;
}

error_code MetricsLineParser::State::field(const Field& known, ondemand::value value,
                                           MetricsLine& out) {
    switch (known.kind) {
        case Field::Kind::metric:
            return metric(known.index, value, out);
        case Field::Kind::step:
            return value.get_uint64().get(out.step);
        case Field::Kind::epoch:
            return value.get_uint64().get(out.epoch);
        case Field::Kind::rank:
            return value.get_uint64().get(out.rank);
        case Field::Kind::owners:
            return owners(value, out);
        case Field::Kind::policy:
            out.policy = value.raw_json_token();
            return simdjson::SUCCESS;
        case Field::Kind::group:
            break;
    }
    ondemand::object inner;
    const auto error = value.get_object().get(inner);
    if (error == simdjson::INCORRECT_TYPE) return simdjson::SUCCESS;
    return error ? error : object(inner, groups[known.index], out);
}

error_code MetricsLineParser::State::metric(std::size_t index, ondemand::value value,
                                            MetricsLine& out) {
    double number = 0;
    const auto error = value.get_double().get(number);
    if (error == simdjson::INCORRECT_TYPE) return simdjson::SUCCESS;  // null: it was no number
    if (error) return error;
    out.values[index] = number;
    out.seen[index] = 1;
    return simdjson::SUCCESS;
}

error_code MetricsLineParser::State::owners(ondemand::value value, MetricsLine& out) {
    ondemand::array list;
    const auto error = value.get_array().get(list);
    if (error == simdjson::INCORRECT_TYPE) return simdjson::SUCCESS;
    if (error) return error;
    for (auto entry : list) {
        double number = 0;
        if (const auto wrong = entry.get_double().get(number)) return wrong;
        out.by_owner.push_back(number);
    }
    return simdjson::SUCCESS;
}

MetricsLineParser::MetricsLineParser() : state_(std::make_unique<State>()) {}
MetricsLineParser::~MetricsLineParser() = default;

bool MetricsLineParser::parse(std::string_view line, MetricsLine& out) {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    out.step = none;
    out.rank = none;
    out.epoch = 0;
    out.values.assign(metric_catalogue().size(), 0);
    out.seen.assign(metric_catalogue().size(), 0);
    out.by_owner.clear();
    out.policy = {};
    ondemand::document document;
    ondemand::object object;
    if (state_->parser.iterate(line.data(), line.size(), line.size() + line_padding)
                .get(document) != simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS ||
        state_->object(object, state_->top, out) != simdjson::SUCCESS ||
        document.current_location().error() != simdjson::OUT_OF_BOUNDS) {  // more behind it
        return false;
    }
    return out.step != none && out.rank < most_ranks;
}

}  // namespace rudder::report
