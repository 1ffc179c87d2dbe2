#include <algorithm>
#include <array>
#include <atomic>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/steer/agent_registry.hpp"

#include "own_things.hpp"
#include "questions.hpp"

namespace rudder::python {

namespace {

steer::ShadowOrder order_of(const Json& json, const steer::Observation& seen,
                            const std::string& where) {
    using Kind = steer::ShadowOrder::Kind;
    constexpr std::array<std::string_view, 5> kinds{"open", "copy", "set", "replace", "close"};
    const std::string kind = json_string(json, "order", where);
    const auto found = std::ranges::find(kinds, kind);
    if (found == kinds.end()) {
        throw usage_error(fmt::format("invalid order of a shadow: '{}'", kind), where,
                          "give open, copy, set, replace or close");
    }
    steer::ShadowOrder order{.kind = static_cast<Kind>(found - kinds.begin()),
                             .name = json_string(json, "name", where)};
    if (order.kind <= Kind::set) {
        const auto changes = steer::knob_changes(json.value("knobs", Json::object()), where);
        order.setting = steer::with_changes(seen.setting, changes, seen.limits, where);
    }
    order.fraction = json.value("fraction", 1.0);
    order.from = json.value("from", std::string());
    order.ahead = json.value("ahead", std::uint64_t{0});
    return order;
}

steer::Answer answer_of(const std::string& text, const steer::Observation& seen,
                        const std::string& where) {
    try {
        const Json json = Json::parse(text);
        steer::Answer answer{.action = steer::parse_action(json.at("action"), where)};
        for (const Json& order : json.value("shadows", Json::array()))
            answer.shadows.push_back(order_of(order, seen, where));
        answer.note = json.value("note", std::string());
        return answer;
    } catch (const Json::exception& error) {
        throw usage_error(fmt::format("invalid answer: {}", error.what()), where,
                          "answer as docs/python.md says");
    }
}

class OwnAgent final : public steer::Agent {
public:
    OwnAgent(const KeptThing& kept, const steer::AgentSpec& spec, const steer::AgentFacts& facts)
        : kept_(kept) {
        const Json given{{"parameters", values_of(kept, spec)},
                         {"seed", facts.seed},
                         {"steps", facts.steps},
                         {"steps_per_epoch", facts.steps_per_epoch},
                         {"rank", facts.rank},
                         {"knobs", steer::to_json(facts.start)}};
        handle_ = ask(QuestionKind::make_agent, given.dump()).number;
    }
    ~OwnAgent() override { Questions::get().tell({.what = QuestionKind::drop, .handle = handle_}); }
    OwnAgent(const OwnAgent&) = delete;
    OwnAgent& operator=(const OwnAgent&) = delete;

    [[nodiscard]] std::uint64_t interval() const noexcept override { return kept_.thing.interval; }
    [[nodiscard]] steer::Answer decide(const steer::Observation& seen) override {
        const Reply reply = ask(QuestionKind::decide, steer::to_json(seen).dump());
        return answer_of(reply.text, seen, kept_.thing.name);
    }
    void cancel() noexcept override { cancelled_ = true; }
    [[nodiscard]] std::string learned() const override {
        try {
            return Questions::get()
                .ask({.what = QuestionKind::learned, .handle = handle_, .name = kept_.thing.name})
                .text;
        } catch (const Error&) {
            return {};
        }
    }

private:
    [[nodiscard]] Reply ask(QuestionKind what, std::string text) const {
        return Questions::get().ask(
            {.what = what, .handle = handle_, .name = kept_.thing.name, .text = std::move(text)},
            [this] { return cancelled_.load(); });
    }

    const KeptThing& kept_;
    std::int64_t handle_ = 0;
    std::atomic<bool> cancelled_{false};
};

std::unique_ptr<steer::Agent> make_own_agent(const steer::AgentSpec& spec,
                                             const steer::AgentFacts& facts) {
    return std::make_unique<OwnAgent>(kept(spec.name()), spec, facts);
}

}  // namespace

void register_agent(const OwnThing& agent) {
    const auto known = steer::all_agents();
    const bool taken = std::ranges::any_of(
        known, [&](const steer::AgentInfo* info) { return info->name == agent.name; });
    const KeptThing& kept = keep(agent, taken);
    // Shown as long as the process lives.
    auto* const info = new steer::AgentInfo{kept.info(), "the program that registered it",
                                            "a call of Python", agent.decides};
    steer::register_agent(*info, make_own_agent);
}

}  // namespace rudder::python
