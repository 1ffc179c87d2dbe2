#include "choice.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {

namespace {

constexpr std::array<double, 3> windows{16, 64, 4};
constexpr std::array<double, 4> decays{0.999, 0.97, 0.99, 0.9};
constexpr std::array<std::uint64_t, 7> signals{1, 2, 4, 8, 16, 32, 0};

/// With its own signal where it would wait to be told.
buffer::PolicySpec on_its_own(const buffer::PolicySpec& policy) {
    return policy.info().takes_decisions && !buffer::has_own_signal(policy)
               ? buffer::built_in_rule(policy)
               : policy;
}

Choice with_parameter(Choice choice, std::string_view parameter, double value) {
    choice.setting.policy.set(parameter, value);
    return choice;
}

}  // namespace

std::vector<std::string_view> listed_words(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t end = text.find_first_of("+/");
        words.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return words;
        text.remove_prefix(end + 1);
    }
}

Setting Choice::of_shadow() const {
    Setting same = setting;
    if (decides && every != 0 && same.policy.info().takes_decisions)
        same.policy.set("every", static_cast<double>(every));
    return same;
}

std::string Choice::key() const {
    return fmt::format("{} {} {} {} {} {} {} {} {}", setting.policy.text(), setting.capacity,
                       setting.bulk, setting.sample_threads, setting.fetch_threads,
                       setting.demand_first, setting.in_flight, setting.buckets,
                       decides ? fmt::format("every:{}", every) : "");
}

std::string difference_text(const Choice& from, const Choice& to) {
    std::string text = text_of(changes_between(from.setting, to.setting));
    if (to.decides && (!from.decides || from.every != to.every)) {
        if (!text.empty()) text += ", ";
        text += to.every == 0 ? "never" : fmt::format("every:{}", to.every);
    }
    return text.empty() ? "no change" : text;
}

Choices::Choices(const AgentSpec& spec) {
    const std::string list = spec.text("knobs");
    for (const std::string_view word : listed_words(list)) {
        if (word == "decide") {
            decides_ = true;
        } else if (word == "all") {
            knobs_.fill(true);
        } else {
            knobs_[static_cast<std::size_t>(knob(word, "knobs of agent 'bandit'").id)] = true;
        }
    }
    const std::string names = spec.text("policies");
    for (const std::string_view word : listed_words(names)) {
        policies_.push_back(
            on_its_own(buffer::PolicySpec::parse(word, "policies of agent 'bandit'")));
    }
}

std::vector<Choice> Choices::on_ids(const Choice& now, const KnobLimits& limits) const {
    std::vector<Choice> list;
    // More room never costs a row; less is never tried.
    if (has(KnobId::capacity) && now.setting.capacity < limits.slots) {
        list.push_back(now);
        list.back().setting.capacity = limits.slots;
    }
    add_signals(list, now);
    if (has(KnobId::window)) add_windows(list, now);
    // Those that look ahead first: they differ most.
    if (has(KnobId::policy)) add_policies(list, now);
    if (has(KnobId::decay)) add_decays(list, now);
    std::vector<Choice> kept;
    for (Choice& choice : list) {
        const bool too_far = choice.setting.policy.has("window") &&
                             choice.setting.policy.whole("window") > limits.window;
        if (!too_far && choice != now && std::ranges::find(kept, choice) == kept.end())
            kept.push_back(std::move(choice));
    }
    return kept;
}

void Choices::add_windows(std::vector<Choice>& list, const Choice& now) const {
    if (!now.setting.policy.has("window")) return;
    for (const double window : windows)
        list.push_back(with_parameter(now, "window", window));
}

void Choices::add_policies(std::vector<Choice>& list, const Choice& now) const {
    for (const buffer::PolicySpec& policy : policies_) {
        // Its further parameters, if it is this very policy, stay as they are.
        const bool same = policy.name() == now.setting.policy.name();
        if (same && policy.info().value == SpecValue::none) continue;
        Choice& choice = list.emplace_back(now);
        choice.decides = false;
        if (same) {
            const std::string_view first = policy.info().parameters[0].name;
            choice.setting.policy.set(first, policy.number(first));
        } else {
            choice.setting.policy = policy;
        }
    }
}

void Choices::add_decays(std::vector<Choice>& list, const Choice& now) const {
    if (!now.setting.policy.has("decay")) return;
    for (const double decay : decays) {
        if (decay != now.setting.policy.number("decay"))
            list.push_back(with_parameter(now, "decay", decay));
    }
}

void Choices::add_signals(std::vector<Choice>& list, const Choice& now) const {
    if (!now.decides) return;
    for (const std::uint64_t every : signals) {
        Choice& choice = list.emplace_back(now);
        choice.every = every;
    }
}

std::vector<Choice> Choices::on_time(const Choice& now, const KnobLimits& limits,
                                     bool boldly) const {
    std::vector<Choice> list;
    const auto add = [&](KnobId id, double value, double least, double most) {
        const auto is = knob_value(now.setting, id);
        if (!has(id) || !is || value < least || value > most) return;
        if (std::get<double>(*is) == value) return;
        Choice& choice = list.emplace_back(now);
        const std::array changes{KnobChange{id, value}};
        choice.setting = with_changes(choice.setting, changes, limits, "bandit");
    };
    const auto value = [&](KnobId id) {
        const auto is = knob_value(now.setting, id);
        return is ? std::get<double>(*is) : 0.0;
    };
    const double distance = value(KnobId::distance);
    if (boldly && distance > 0) {
        add(KnobId::distance, 4 * distance, 0, 32);
        add(KnobId::distance, std::floor(distance / 4), 0, 32);
    }
    add(KnobId::distance, std::max(1.0, 2 * distance), 0, 32);
    add(KnobId::distance, std::floor(distance / 2), 0, 32);
    const double window = value(KnobId::window);
    add(KnobId::window, 2 * window, 1, std::min(256.0, static_cast<double>(limits.window)));
    add(KnobId::window, std::floor(window / 2), 4, 256);
    const double fetch = value(KnobId::fetch_threads);
    add(KnobId::fetch_threads, 2 * fetch, 1, static_cast<double>(limits.fetch_threads));
    add(KnobId::fetch_threads, std::floor(fetch / 2), 1, fetch);
    const double sample = value(KnobId::sample_threads);
    add(KnobId::sample_threads, 2 * sample, 1, static_cast<double>(limits.sample_threads));
    add(KnobId::sample_threads, std::floor(sample / 2), 1, sample);
    const double bulk = value(KnobId::bulk);
    add(KnobId::bulk, bulk == 0 ? 4096 : 4 * bulk > 65536 ? 0 : 4 * bulk, 0, 65536);
    add(KnobId::bulk, std::floor(bulk / 4), 256, 65536);
    add(KnobId::demand_first, 1 - value(KnobId::demand_first), 0, 1);
    // Fewer than two leave nothing to fetch beside computing.
    const double in_flight = value(KnobId::in_flight);
    add(KnobId::in_flight, 2 * in_flight, 2, static_cast<double>(limits.in_flight));
    add(KnobId::in_flight, std::floor(in_flight / 2), 2, static_cast<double>(limits.in_flight));
    const double buckets = value(KnobId::buckets);
    const auto most = static_cast<double>(limits.buckets);
    add(KnobId::buckets, buckets == 0 ? most : 2 * buckets, 1, most);
    add(KnobId::buckets, buckets == 0 ? 1 : std::floor(buckets / 2), 1, most);
    return list;
}

}  // namespace rudder::steer
