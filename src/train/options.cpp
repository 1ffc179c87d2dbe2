#include "rudder/train/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "train/steps/class_weights.hpp"

namespace rudder::train {

namespace {

constexpr std::array<std::string_view, 3> topology_names{"auto", "replicated", "partitioned"};

void require(bool holds, const std::string& problem, const char* option,
             const std::string& remedy) {
    if (!holds) throw usage_error(problem, option, remedy);
}

void require_known(const std::string& name, std::span<const std::string_view> known,
                   const char* what, const char* option) {
    if (std::ranges::find(known, name) != known.end()) return;
    throw usage_error(fmt::format("unknown {} '{}'", what, name), option,
                      fmt::format("known are {}", join(known, ", ")));
}

void check_share(double value, const char* option) {
    require(value >= 0 && value < 1, fmt::format("invalid dropout: {}", value), option,
            "give a number from 0 to below 1");
}

}  // namespace

std::string_view to_string(TopologyChoice choice) noexcept {
    return topology_names[static_cast<std::size_t>(choice)];
}

TopologyChoice topology_choice(std::string_view name) {
    const auto found = std::ranges::find(topology_names, name);
    if (found == topology_names.end()) {
        throw usage_error(fmt::format("unknown topology '{}'", name), "--topology",
                          fmt::format("known are {}", join(topology_names, ", ")));
    }
    return static_cast<TopologyChoice>(found - topology_names.begin());
}

std::vector<std::int32_t> default_fanout(int layers) {
    if (layers == 1) return {25};
    if (layers == 2) return {10, 25};
    // Deeper networks would grow without bound: the field's 5, 10, 15, and 5 for all further ones.
    std::vector<std::int32_t> fanout(static_cast<std::size_t>(layers), 5);
    fanout[fanout.size() - 2] = 10;
    fanout[fanout.size() - 1] = 15;
    return fanout;
}

buffer::PolicySpec policy_of(const TrainOptions& options) {
    buffer::PolicySpec policy = buffer::PolicySpec::parse(options.policy);
    require(policy.name() != "optimal" && !policy.given("listed"),
            fmt::format("policy '{}' works only on recorded traces", policy.text()), "--policy",
            "train with --trace, then run 'rudder replay' on it; or choose window");
    if (options.window) {
        buffer::apply_window(policy, *options.window);
    } else if (policy.name() == "window") {
        policy.set("window", policy.number("window"));  // shown, given or not
    }
    return policy;
}

bool window_adapts(const TrainOptions& options) {
    const auto policy = buffer::PolicySpec::parse(options.policy);
    return !options.window && policy.name() == "window" && !policy.given("window");
}

steer::AgentSpec agent_of(const TrainOptions& options) {
    return steer::AgentSpec::parse(options.steer.agent);
}

namespace {

/// A rule that says when to replace and does nothing else, beside a policy that is never asked.
bool idle(const steer::AgentSpec& agent, const buffer::PolicySpec& policy) {
    return agent.info().fixed && agent.decides() && !policy.info().takes_decisions;
}

}  // namespace

bool steered(const TrainOptions& options) {
    const steer::AgentSpec agent = agent_of(options);
    const buffer::PolicySpec policy = policy_of(options);
    return agent.name() != "never" && policy.name() != "none" && !idle(agent, policy);
}

std::string agent_advice(const steer::AgentSpec& agent, const buffer::PolicySpec& policy) {
    if (agent.name() == "never") return {};
    if (policy.name() == "none") {
        return fmt::format(
            "agent '{}' has nothing to steer without a buffer; choose another "
            "--policy, such as window or scored",
            agent.text());
    }
    if (!idle(agent, policy)) return {};
    return fmt::format(
        "agent '{}' changes nothing: policy '{}' replaces by its own rule; give --policy scored "
        "(or scored-faithful) to let the agent say when",
        agent.text(), policy.text());
}

std::uint64_t steps_ahead(const TrainOptions& options) {
    return std::max(options.window.value_or(16), buffer::horizon_of(policy_of(options)));
}

void check_options(const TrainOptions& o) {
    require_known(o.model, nn::model_names(), "model", "--model");
    steer::check_agent(agent_of(o), policy_of(o));
    require(o.steer.deadline > 0 && std::isfinite(o.steer.deadline),
            fmt::format("{} seconds to answer", o.steer.deadline), "--agent-deadline",
            "give a number above 0");
    require(std::isfinite(o.buffer) && o.buffer >= 0 && o.buffer <= 1e6,
            fmt::format("invalid buffer size: {}", o.buffer), "--buffer",
            "give a number from 0 on, such as 0.25");
    require(!(o.buffer_rows && o.buffer_bytes), "two sizes of the buffer", "--buffer-bytes",
            "give one of --buffer, --buffer-rows and --buffer-bytes");
    require_known(o.optimiser.name, nn::optimiser_names(), "optimizer", "--optimizer");
    require_known(o.eval, std::array<std::string_view, 2>{"exact", "sampled"}, "evaluation",
                  "--eval");
    require(o.layers >= 1 && o.layers <= 64, fmt::format("{} layers", o.layers), "--layers",
            "give 1 to 64");
    require(o.hidden >= 1 && o.hidden <= 65536, fmt::format("{} hidden columns", o.hidden),
            "--hidden", "give 1 to 65536");
    require_known(o.norm, nn::norm_names(), "norm", "--norm");
    require_known(o.class_weights, class_weight_names(), "class weights", "--class-weights");
    const bool attends = o.model.starts_with("gat");
    require(!attends || (o.heads >= 1 && o.heads <= 1024), fmt::format("{} heads", o.heads),
            "--heads", "give 1 to 1024");
    require(!attends || o.layers == 1 || o.hidden % o.heads == 0,
            fmt::format("{} hidden columns cannot be shared by {} heads", o.hidden, o.heads),
            "--hidden", "give a multiple of --heads");
    require(o.batch >= 1, "a batch of no seeds", "--batch", "give at least 1");
    require(o.fanout.size() == static_cast<std::size_t>(o.layers),
            fmt::format("{} fan-outs for {} layers", o.fanout.size(), o.layers), "--fanout",
            "give one per layer, input side first");
    for (const std::int32_t fanout : o.fanout) {
        require(fanout >= 1 || fanout == -1, fmt::format("a fan-out of {}", fanout), "--fanout",
                "give at least 1, or -1 for all neighbours");
    }
    require(o.profile_epoch <= o.epochs,
            fmt::format("invalid epoch: {} of {}", o.profile_epoch, o.epochs),
            "--profile-epoch", "give one that the run trains, counted from 1");
    require(o.window.value_or(16) >= 1, "a window of 0", "--window", "give at least 1 step");
    require(o.in_flight >= 1, "no step in flight", "--in-flight", "give at least 1");
    require(o.sample_tasks >= 1, "nobody samples", "--sample-tasks", "give at least 1");
    require(o.optimiser.learning_rate > 0, "a learning rate that is not above 0", "--lr",
            "give a number such as 0.003");
    require(o.optimiser.weight_decay >= 0, "a negative weight decay", "--weight-decay",
            "give 0 or more");
    require(o.optimiser.clip >= 0, "a negative norm", "--clip", "give 0 (none) or more");
    check_share(o.dropout, "--dropout");
    check_share(o.input_dropout, "--input-dropout");
    static_cast<void>(nn::LearningRateSchedule(o.lr_schedule, o.warmup));
}

}  // namespace rudder::train
