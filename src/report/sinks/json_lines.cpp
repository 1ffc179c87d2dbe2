// The lines of metrics.jsonl and epochs.jsonl, by the lists of fields.
#include <algorithm>

#include "core/fields_json.hpp"
#include "core/json.hpp"
#include "report/json_lines_sink.hpp"
#include "rudder/steer/knobs.hpp"
#include "train/summary.hpp"

#include "json_text.hpp"

namespace rudder::report {

namespace {

/// By field: what stands before its value.
template <Listed T>
const std::array<std::string, field_count<T>>& keys() {
    static const auto all = [] {
        std::array<std::string, field_count<T>> made;
        std::size_t next = 0;
        for_each_field<T>(
            [&](const auto& f) { made[next++].append(",\"").append(f.name).append("\":"); });
        return made;
    }();
    return all;
}

template <class M>
void append_value(std::string& text, M value) {
    if constexpr (std::is_floating_point_v<M>) {
        append_json(text, static_cast<double>(value));
    } else if constexpr (std::is_same_v<M, bool>) {
        text += value ? "true" : "false";
    } else {
        append_json(text, value);
    }
}

/// All numbers of a record that are written, each with a comma before it.
template <Listed T>
void append_numbers(std::string& text, const T& value) {
    const auto& names = keys<T>();
    std::size_t next = 0;
    for_each_field<T>([&]<class M>(const Field<T, M>& f) {
        const std::string& key = names[next++];
        if constexpr (std::is_arithmetic_v<M>) {
            if (f.kind == FieldKind::inner) return;
            text += key;
            append_value(text, value.*f.member);
        }
    });
}

void append_list(std::string& text, std::span<const std::uint64_t> values) {
    text += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i != 0) text += ',';
        append_json(text, values[i]);
    }
    text += ']';
}

/// The knobs of a policy beside its window, as JSON members.
std::string further_knobs(const buffer::PolicySpec& policy) {
    buffer::Knobs knobs;
    knobs.policy = policy;
    Json json = steer::to_json(knobs);
    for_each_field<buffer::Knobs>([&](const auto& f) { json.erase(std::string(f.name)); });
    json.erase("window");
    const std::string text = json.dump();
    return json.empty() ? "" : "," + text.substr(1, text.size() - 2);
}

}  // namespace

const StepLines::KnownPolicy& StepLines::known(const train::StepRecord& step) {
    const buffer::PolicySpec& policy = step.knobs.policy;
    if (last_ < policies_.size() && policies_[last_].policy == policy) return policies_[last_];
    const auto found = std::ranges::find(policies_, policy, &KnownPolicy::policy);
    last_ = static_cast<std::size_t>(found - policies_.begin());
    if (found != policies_.end()) return *found;
    std::string front = "\"policy\":";
    append_json(front, policy.text());
    front += ",\"window\":";
    append_json(front, step.window());
    policies_.push_back({policy, std::move(front), further_knobs(policy)});
    return policies_.back();
}

/// In the order of the knobs: those of the policy stand behind the capacity.
void StepLines::append_knobs(std::string& text, const train::StepRecord& step) {
    const KnownPolicy& policy = known(step);
    text += policy.front;
    const auto& names = keys<buffer::Knobs>();
    std::size_t next = 0;
    for_each_field<buffer::Knobs>([&]<class M>(const Field<buffer::Knobs, M>& f) {
        const std::string& key = names[next++];
        if constexpr (std::is_arithmetic_v<M>) {
            text += key;
            append_value(text, step.knobs.*f.member);
            if (f.name == "capacity") text += policy.further;
        }
    });
}

void StepLines::append(std::string& text, const train::StepRecord& step) {
    const auto& names = keys<train::StepRecord>();
    std::size_t next = 0;
    const std::size_t begin = text.size();
    for_each_field<train::StepRecord>([&]<class M>(const Field<train::StepRecord, M>& f) {
        const std::string& key = names[next++];
        if constexpr (Listed<M>) {
            text += key;
            const std::size_t inner = text.size();
            if constexpr (!std::is_same_v<M, buffer::Knobs>) {
                append_numbers(text, step.*f.member);
                text[inner] = '{';
            } else {
                text += '{';
                if (step.buffered) append_knobs(text, step);
            }
            text += '}';
        } else if (f.kind != FieldKind::inner) {
            text += key;
            if constexpr (std::is_arithmetic_v<M>) {
                append_value(text, step.*f.member);
            } else {
                append_list(text, step.*f.member);
            }
        }
    });
    text[begin] = '{';
    text += "}\n";
}

std::string epoch_line(const train::EpochRecord& epoch) {
    const auto share = [](const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
    };
    Json line{{"epoch", epoch.epoch},
              {"steps", epoch.steps},
              {"loss", epoch.loss},
              {"seconds", epoch.seconds},
              {"evaluation_seconds", epoch.evaluation_seconds},
              {"accuracy",
               {{"train", share(epoch.train())},
                {"valid", share(epoch.valid())},
                {"test", share(epoch.test())}}}};
    if (const auto ranks = train::link_ranks(epoch.scores)) {
        line["mrr"] = fields_json(ranks->mrr);
        line["hits"] = fields_json(ranks->hits);
        line["auc"] = fields_json(ranks->auc);
    }
    return line.dump() + "\n";
}

}  // namespace rudder::report
