#include "prompt_collector.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"
#include "steer/llm/known_effects.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/reply.hpp"
#include "steer/steered_replay.hpp"

#include "attempt.hpp"
#include "reply_choices.hpp"

namespace rudder::steer {

namespace {

/// Windows up to here are tried, and up to twice the one that a run begins with.
constexpr std::uint64_t usual_window = 64;

/// One question, and what was answered.
struct AskedPrompt {
    std::uint64_t step = 0;
    std::string user;
    Setting setting;
    CostKind cost = CostKind::rows;
    KnobLimits limits;
    std::vector<Action> choices;  ///< empty: none was asked yet
    std::size_t taken = 0;        ///< which of them
};

/// What the agent needs of its collector.
struct PromptGround {
    CollectOptions options;
    std::uint64_t longest_window = 0;
    buffer::PolicyFacts facts{};  ///< known from the start of the run on
};

bool can_be_set(const Action& action, const AskedPrompt& asked, const buffer::PolicyFacts& facts) {
    if (action.kind != ActionKind::set) return true;
    try {
        buffer::check_policy(
            with_changes(asked.setting, action.knobs, asked.limits, "a reply").policy, facts);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// Is asked what the agent `llm` would be, and keeps the words.
class PromptAgent final : public Agent {
public:
    PromptAgent(const AgentSpec& spec, const AgentFacts& facts, const PromptGround& ground,
                AskedPrompt& asked, std::string& system)
        : facts_(facts),
          settings_{.context = spec.whole("context"), .tokens = spec.whole("tokens")},
          history_(spec.whole("history")),
          beside_(spec.whole("shadows")),
          ground_(ground),
          asked_(asked),
          system_(system) {
        system_ = system_message(facts);
    }

    [[nodiscard]] std::uint64_t interval() const noexcept override {
        return ground_.options.interval;
    }
    [[nodiscard]] Answer decide(const Observation& o) override {
        const Json schema = reply_schema(o, facts_.built_in);
        asked_ = {
            .step = o.step,
            .user = user_message(o, history_, "", {room_for(system_, schema, settings_)}).text,
            .setting = o.setting,
            .cost = o.cost,
            .limits = o.limits,
            .choices = reply_choices(o, facts_.built_in, schema, ground_.longest_window)};
        std::erase_if(asked_.choices, [&](const Action& action) {
            return !can_be_set(action, asked_, ground_.facts);
        });
        asked_.taken = chosen_by_chance(asked_.choices, {.seed = ground_.options.seed,
                                                         .host = facts_.rank,
                                                         .question = o.step / interval(),
                                                         .step = o.step});
        Answer answer{.action = asked_.choices[asked_.taken],
                      .shadows = policies_beside(o, facts_.built_in, beside_)};
        answer.action.reason = Reason::chance;
        return answer;
    }

private:
    AgentFacts facts_;
    ChatSettings settings_;
    std::uint64_t history_;
    std::uint64_t beside_;
    const PromptGround& ground_;
    AskedPrompt& asked_;
    std::string& system_;
};

bool waits_to_be_told(const buffer::PolicySpec& policy) {
    return policy.info().takes_decisions && !buffer::has_own_signal(policy);
}

/// A copy of the buffer with one setting, and whether it is told when to replace.
struct TriedSetting {
    Setting setting;
    buffer::Decision first;  ///< in the step itself
    Attempt attempt;
};

/// A line whose horizon has not ended.
struct OpenPrompt {
    PromptLine line;
    std::vector<TriedSetting> tries;
    std::vector<std::size_t> of_action;  ///< by action: its try
    std::size_t taken = 0;               ///< the action that the run itself took
    std::uint64_t steps = 0;             ///< taken so far
    bool by_clock = false;  ///< what the run paid counts: seconds, nothing disturbed it
};

/// Whether the order is what the answer asks for and nothing else.
bool as_answered(const buffer::PilotOrder& order, const AskedPrompt& asked) {
    const Action& action = asked.choices[asked.taken];
    if (action.kind != ActionKind::set) return order.changes.empty() && !order.times;
    const Setting next = with_changes(asked.setting, action.knobs, asked.limits, "a reply");
    const bool ids = next.policy != asked.setting.policy || next.capacity != asked.setting.capacity;
    return order.changes.size() == (ids ? 1U : 0U) && order.times.has_value() != ids;
}

bool changes_anything(const buffer::PilotOrder& order) {
    return !order.changes.empty() || order.times || order.decision.replace;
}

}  // namespace

struct PromptCollector::State {
    PromptGround ground;
    AskedPrompt asked;
    std::string system;
    std::uint32_t host = 0;
    std::uint64_t every = 0;  ///< of the built-in rule; 0: it replaces by itself
    std::uint64_t steps = 0;  ///< of the run; 0: not known
    std::deque<OpenPrompt> under_way;
    std::function<void(const PromptLine&)> sink;

    Monitor monitor;  ///< guards what follows
    std::deque<OpenPrompt> closed;
    std::uint64_t first_step = 0;
    std::vector<double> stall{0};  ///< up to each step, from the first on

    void open(const StepView& now);
    void try_action(OpenPrompt& one, const Action& action, const StepView& now) const;
    void go_on(OpenPrompt& one, const StepView& now) const;
    void price(OpenPrompt& one) const;
    [[nodiscard]] bool ready(const OpenPrompt& one) const;
};

void PromptCollector::State::open(const StepView& now) {
    OpenPrompt one;
    one.line = {.system = system,
                .user = asked.user,
                .step = now.step,
                .host = host,
                .setting = asked.setting,
                .horizon = ground.options.horizon,
                .actions = {},
                .keep = 0};
    if (steps > now.step) one.line.horizon = std::min(one.line.horizon, steps - now.step);
    one.taken = asked.taken;
    for (const Action& action : asked.choices)
        try_action(one, action, now);
    const Setting& after = one.tries[one.of_action[one.taken]].setting;
    one.by_clock = asked.cost == CostKind::seconds && !waits_to_be_told(after.policy);
    parallel_chunks(one.tries.size(), 1, [&](const Chunk& chunk) {
        TriedSetting& tried = one.tries[chunk.index];
        tried.attempt.set(tried.setting);
        tried.attempt.advance(tried.first);
    });
    one.steps = 1;
    under_way.push_back(std::move(one));
}

/// Actions that lead to the same ids share a copy.
void PromptCollector::State::try_action(OpenPrompt& one, const Action& action,
                                        const StepView& now) const {
    Setting setting = with_changes(asked.setting, action.knobs, asked.limits, "a reply");
    buffer::Decision first;
    if (action.kind == ActionKind::replace) first = {true, action.fraction};
    const auto same = std::ranges::find_if(one.tries, [&](const TriedSetting& tried) {
        return tried.setting.policy == setting.policy &&
               tried.setting.capacity == setting.capacity && tried.first.replace == first.replace &&
               tried.first.fraction == first.fraction;
    });
    one.of_action.push_back(static_cast<std::size_t>(same - one.tries.begin()));
    one.line.actions.push_back({.action = action});
    if (same == one.tries.end())
        one.tries.push_back({std::move(setting), first, Attempt(now.buffer)});
}

void PromptCollector::State::go_on(OpenPrompt& one, const StepView& now) const {
    const bool rule = every != 0 && (now.step + 1) % every == 0;
    parallel_chunks(one.tries.size(), 1, [&](const Chunk& chunk) {
        TriedSetting& tried = one.tries[chunk.index];
        tried.attempt.advance({rule && waits_to_be_told(tried.setting.policy), 1});
    });
    if (changes_anything(now.order)) one.by_clock = false;
    ++one.steps;
}

void PromptCollector::State::price(OpenPrompt& one) const {
    for (std::size_t i = 0; i < one.line.actions.size(); ++i)
        one.line.actions[i].rows = one.tries[one.of_action[i]].attempt.fetched();
    one.tries.clear();
}

bool PromptCollector::State::ready(const OpenPrompt& one) const {
    return !one.by_clock || one.line.step + one.line.horizon - first_step < stall.size();
}

PromptCollector::PromptCollector(HelmOptions helm, const CollectOptions& options,
                                 std::function<void(const PromptLine&)> sink)
    : Collector(options, helm.facts.rank), state_(std::make_unique<State>()) {
    const buffer::PolicySpec& policy = helm.facts.start.policy;
    check_promptable(policy);
    State& s = *state_;
    s.sink = std::move(sink);
    s.ground.options = options;
    s.ground.longest_window =
        std::min(helm.facts.limits.window, std::max(usual_window, 2 * buffer::horizon_of(policy)));
    s.host = helm.facts.rank;
    s.steps = helm.facts.steps;
    const buffer::PolicySpec& built_in = helm.facts.built_in;
    if (built_in.has("every")) s.every = built_in.whole("every");
    helm.agent = AgentSpec::parse("llm");
    helm.mode = AgentMode::inline_call;
    helm.sample = options.sample;
    helm.guarded = options.guarded;
    helm.make = [&s, spec = helm.agent](const AgentFacts& facts) {
        return std::make_unique<PromptAgent>(spec, facts, s.ground, s.asked, s.system);
    };
    steer_by(std::move(helm));
}

PromptCollector::~PromptCollector() = default;

void PromptCollector::start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) {
    state_->ground.facts = facts;
    state_->first_step = buffer.next_step();
    Collector::start(facts, buffer);
}

std::uint64_t PromptCollector::horizon() const {
    return std::max(Collector::horizon(), state_->ground.longest_window);
}

void PromptCollector::tell(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    for (OpenPrompt& one : state_->under_way) {
        for (TriedSetting& tried : one.tries)
            tried.attempt.publish(step, rows);
    }
}

void PromptCollector::try_step(const StepView& now) {
    State& s = *state_;
    for (OpenPrompt& one : s.under_way)
        s.go_on(one, now);
    const bool asked = s.asked.step == now.step && !s.asked.choices.empty();
    if (asked && drawn(now.step) && as_answered(now.order, s.asked)) s.open(now);
    while (!s.under_way.empty() && s.under_way.front().steps == s.under_way.front().line.horizon) {
        s.price(s.under_way.front());
        Monitor::Lock lock(s.monitor);
        s.closed.push_back(std::move(s.under_way.front()));
        s.under_way.pop_front();
    }
    if (!s.sink) return;
    for (const PromptLine& line : take_prompts(false))
        s.sink(line);
}

void PromptCollector::timed(std::uint64_t step, const Seconds& seconds) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    const double so_far = s.stall.back();
    s.stall.resize(step + 2 - s.first_step, so_far);
    s.stall.back() += seconds.stall;
}

std::vector<PromptLine> PromptCollector::take_prompts(bool all) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    std::vector<PromptLine> lines;
    while (!s.closed.empty() && (all || s.ready(s.closed.front()))) {
        OpenPrompt& one = s.closed.front();
        if (one.by_clock && s.ready(one)) {
            const std::uint64_t from = one.line.step - s.first_step;
            one.line.actions[one.taken].seconds = s.stall[from + one.line.horizon] - s.stall[from];
        }
        lines.push_back(std::move(one.line));
        s.closed.pop_front();
    }
    return lines;
}

void check_promptable(const buffer::PolicySpec& policy) {
    const bool traced = policy.name() == "optimal" || policy.given("listed");
    if (policy.name() != "none" && !traced && !buffer::has_own_signal(policy)) return;
    throw usage_error(
        fmt::format("policy '{}' cannot be steered by a language model", policy.text()), "--policy",
        "use scored, window:16 or another one, without every or delta");
}

void collect_prompts(const buffer::Trace& trace, const buffer::PolicySpec& policy,
                     const buffer::BufferSize& size, const CollectOptions& options,
                     const PromptSink& sink) {
    check_promptable(policy);
    const SteeredOptions steered;
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index];
        const std::uint64_t slots = std::min(size.of(host.halo()), host.distinct());
        HelmOptions helm = replay_helm_options(AgentSpec::parse("llm"), host, policy, slots);
        helm.judged_at_once = steered.judged_at_once;
        helm.guard = steered.guard;
        PromptCollector collector(std::move(helm), options,
                                  [&](const PromptLine& line) { sink(chunk.index, line); });
        static_cast<void>(buffer::replay_host(host, policy, size.of(host.halo()), &collector));
    });
}

}  // namespace rudder::steer
