#include "profile_text.hpp"

#include <utility>

#include <simdjson.h>

#include "rudder/core/file.hpp"

namespace rudder::report {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::uint64_t most_profile_bytes = 256U << 20;

/// What is of another type stays as it is.
template <class T>
void take(simdjson::simdjson_result<T> found, T& out) {
    T value{};
    if (!std::move(found).get(value)) out = value;
}

TraceEvent event_of(ondemand::object object) {
    TraceEvent event;
    std::string_view phase;
    for (auto entry : object) {
        std::string_view key;
        ondemand::value value;
        if (entry.unescaped_key().get(key) || entry.value().get(value)) break;
        if (key == "ph" && !value.get_string().get(phase)) {
            event.phase = phase.size() == 1 ? phase[0] : '\0';
        } else if (key == "name") {
            take(value.get_string(), event.name);
        } else if (key == "cat") {
            take(value.get_string(), event.category);
        } else if (key == "pid") {
            take(value.get_int64(), event.process);
        } else if (key == "tid") {
            take(value.get_int64(), event.thread);
        } else if (key == "ts") {
            take(value.get_double(), event.start);
        } else if (key == "dur") {
            take(value.get_double(), event.length);
        } else if (key == "args") {
            ondemand::object arguments;
            if (value.get_object().get(arguments)) continue;
            for (auto argument : arguments) {
                std::string_view name;
                ondemand::value what;
                if (argument.unescaped_key().get(name) || argument.value().get(what)) break;
                std::uint64_t step = 0;
                if (name == "step" && !what.get_uint64().get(step)) event.step = step;
                if (name == "name") take(what.get_string(), event.text);
                if (name == "sort_index") take(what.get_int64(), event.place);
            }
        }
    }
    return event;
}

}  // namespace

ProfileText::ProfileText(const std::filesystem::path& file)
    : where_(file.string()), text_(read_text(file, most_profile_bytes)), size_(text_.size()) {
    text_.resize(size_ + simdjson::SIMDJSON_PADDING);
}

void ProfileText::for_each(FunctionRef<void(const TraceEvent&)> body) {
    ondemand::parser parser;
    ondemand::document document;
    ondemand::array events;
    if (parser.iterate(text_.data(), size_, text_.size()).get(document) ||
        document["traceEvents"].get_array().get(events))
        throw broken();
    for (auto entry : events) {
        ondemand::object object;
        if (entry.get_object().get(object)) throw broken();
        body(event_of(object));
    }
}

Error ProfileText::broken() const {
    return input_error("invalid profile: not trace events", where_, "train with --profile again");
}

}  // namespace rudder::report
