// The layout of a line, put together from the catalogue once.
#include <vector>

#include "core/json.hpp"
#include "report/json_lines_sink.hpp"

#include "json_text.hpp"

namespace rudder::report {

namespace {

/// What stands before a value: names, and the brackets that open and close between groups.
struct Place {
    std::string before;
    bool whole;
};

struct Layout {
    std::vector<Place> places;  ///< by index of the catalogue, knobs excluded
    std::size_t owners = 0;     ///< bytes_by_owner stands before this one
    std::size_t window = 0;     ///< of the knobs, which follow
    std::size_t capacity = 0;
    std::vector<std::pair<std::string, std::size_t>> beside;  ///< knobs beside the policy's
};

Layout make_layout() {
    Layout layout;
    std::string group;
    const auto catalogue = metric_catalogue();
    for (std::size_t i = 0; i < catalogue.size(); ++i) {
        const std::string_view path = catalogue[i].path;
        const auto dot = path.find('.');
        const std::string of(dot == std::string_view::npos ? "" : path.substr(0, dot));
        const std::string name(dot == std::string_view::npos ? path : path.substr(dot + 1));
        if (of == "knobs") {
            if (name == "window") {
                layout.window = i;
            } else if (name == "capacity") {
                layout.capacity = i;
            } else {
                layout.beside.emplace_back(",\"" + name + "\":", i);
            }
            continue;
        }
        std::string before;
        if (of != group && !group.empty()) before += '}';
        if (of != group && group == "bytes") layout.owners = i;
        before += ',';
        if (of != group && !of.empty()) before.append("\"").append(of).append("\":{");
        before.append("\"").append(name).append("\":");
        layout.places.push_back({std::move(before), catalogue[i].whole()});
        group = of;
    }
    return layout;
}

void append_value(std::string& text, double value, bool whole) {
    if (whole) {
        append_json(text, static_cast<std::uint64_t>(value));
    } else {
        append_json(text, value);
    }
}

void append_owners(std::string& text, std::span<const std::uint64_t> owners) {
    text += ",\"bytes_by_owner\":[";
    for (std::size_t i = 0; i < owners.size(); ++i) {
        if (i != 0) text += ',';
        append_json(text, owners[i]);
    }
    text += ']';
}

void append_knobs(std::string& text, const Layout& layout, const StepFrame& step,
                  const PolicyWords& policy) {
    text += ",\"knobs\":{";
    if (!policy.text.empty()) {
        text += "\"policy\":";
        append_json(text, policy.text);
        text += ",\"window\":";
        append_value(text, step.values[layout.window], true);
        text += ",\"capacity\":";
        append_value(text, step.values[layout.capacity], true);
        if (policy.known) {
            if (!policy.knobs.empty()) text += ',' + policy.knobs;
            for (const auto& [before, index] : layout.beside) {
                text += before;
                append_value(text, step.values[index], true);
            }
        }
    }
    text += '}';
}

}  // namespace

void append_step_line(std::string& text, const StepBatch& batch, std::size_t index) {
    static const Layout layout = make_layout();
    const StepFrame& step = batch.steps[index];
    text += "{\"step\":";
    append_json(text, step.step);
    text += ",\"epoch\":";
    append_json(text, step.epoch);
    text += ",\"rank\":";
    append_json(text, step.rank);
    for (std::size_t i = 0; i < layout.places.size(); ++i) {
        const Place& place = layout.places[i];
        if (i == layout.owners) {
            text += '}';  // of the bytes
            append_owners(text, batch.owners_of(index));
            text.append(place.before, 1);
        } else {
            text += place.before;
        }
        append_value(text, step.values[i], place.whole);
    }
    append_knobs(text, layout, step, batch.policies[step.policy]);
    text += "}\n";
}

std::string epoch_line(const EpochFrame& epoch) {
    const auto share = [](const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
    };
    const Json line{{"epoch", epoch.epoch},
                    {"steps", epoch.steps},
                    {"loss", epoch.loss},
                    {"seconds", epoch.seconds},
                    {"evaluation_seconds", epoch.evaluation_seconds},
                    {"accuracy",
                     {{"train", share(epoch.train)},
                      {"valid", share(epoch.valid)},
                      {"test", share(epoch.test)}}}};
    return line.dump() + "\n";
}

}  // namespace rudder::report
