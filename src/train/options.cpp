#include "rudder/train/options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "train/device_choice.hpp"
#include "train/learned/learned_options.hpp"
#include "train/link_options.hpp"
#include "train/option_table.hpp"
#include "train/slowness.hpp"

namespace rudder::train {

namespace {

void require(bool holds, const std::string& problem, const char* option,
             const std::string& remedy) {
    if (!holds) throw usage_error(problem, option, remedy);
}

}  // namespace

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
            fmt::format("policy '{}' works only on recorded traces (rudder replay)", policy.text()),
            "policy", "train with --trace, then run 'rudder replay' on it; or choose window");
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
            "agent '{}' has no effect: policy 'none' keeps no buffer; choose another "
            "--policy, such as window or scored",
            agent.text());
    }
    if (!idle(agent, policy)) return {};
    return fmt::format(
        "agent '{}' has no effect: policy '{}' replaces by its own rule; give --policy scored "
        "(or scored-faithful) to let the agent decide when to replace",
        agent.text(), policy.text());
}

namespace {

/// What edges carry, and what does not go with it.
void check_edge_options(const TrainOptions& o) {
    const auto models = nn::weighted_models();
    require(!o.weighted || std::ranges::find(models, o.model) != models.end(),
            fmt::format("model '{}' does not take the weights of edges", o.model), "weighted",
            fmt::format("choose --model {}, or leave it out", join(models, " or ")));
    require(!o.weighted || sampler_of(o) != sample::Sampler::shared,
            "shared samples are not drawn by weight", "weighted",
            "leave it out, or give --sampler plain");
    const auto readers = nn::edge_models();
    require(!o.edge_features || std::ranges::find(readers, o.model) != readers.end(),
            fmt::format("model '{}' does not read the features of edges", o.model), "edge-features",
            fmt::format("choose --model {}, or leave it out", join(readers, " or ")));
    const bool timed = o.temporal != sample::Temporal::off;
    require(!timed || !nn::model_wants_degrees(o.model),
            fmt::format("model '{}' reads the degrees of the whole graph, future edges included",
                        o.model),
            "temporal", "choose another --model, such as sage");
    require(o.temporal != sample::Temporal::newest || !o.with_replacement,
            "the newest edges are not drawn with replacement", "temporal",
            "give --temporal uniform, or leave --with-replacement out");
}

}  // namespace

sample::Sampler sampler_of(const TrainOptions& options) noexcept {
    return options.sampler.value_or(options.with_replacement || options.weighted
                                        ? sample::Sampler::plain
                                        : sample::Sampler::shared);
}

std::uint64_t redraw_of(const TrainOptions& options, std::uint64_t epoch_steps) noexcept {
    // In short epochs vertices would keep their neighbours for a large part of the run.
    const std::uint64_t usual = std::clamp<std::uint64_t>(epoch_steps, 1, 32);
    return sampler_of(options) == sample::Sampler::shared ? options.redraw.value_or(usual) : 1;
}

std::string redraw_advice(const TrainOptions& options, std::uint64_t steps) {
    const std::uint64_t redraw = options.redraw.value_or(1);
    if (redraw == 1 || redraw <= steps / 8) return {};
    return fmt::format(
        "--redraw {} in a run of {} steps: vertices redraw less than 8 times; give at most {}, "
        "or train for more steps",
        redraw, steps, std::max<std::uint64_t>(1, steps / 8));
}

int sampling_tasks(const TrainOptions& options) noexcept {
    return options.sample_tasks > 0 ? options.sample_tasks : std::max(1, thread_count() / 4);
}

std::uint64_t steps_ahead(const TrainOptions& options) {
    return std::max(options.window.value_or(16), buffer::horizon_of(policy_of(options)));
}

void check_options(const TrainOptions& o) {
    static_cast<void>(parse_slowness(o.slow));
    for (const auto& option : all_options())
        check_setting(option, option.value(o));
    steer::check_agent(agent_of(o), policy_of(o));
    require(!(o.buffer_rows && o.buffer_bytes), "more than one buffer size", "buffer-bytes",
            "give one of --buffer, --buffer-rows and --buffer-bytes");
    require(!o.model.starts_with("gat") || o.layers == 1 || o.hidden % o.heads == 0,
            fmt::format("hidden ({}) is not a multiple of heads ({})", o.hidden, o.heads), "hidden",
            "give a multiple of --heads");
    require(o.fanout.size() == static_cast<std::size_t>(o.layers),
            fmt::format("{} fan-outs for {} layers", o.fanout.size(), o.layers), "fanout",
            "give one per layer, input side first");
    require(std::ranges::find(o.fanout, 0) == o.fanout.end(), "invalid fanout: '0'", "fanout",
            "give at least 1, or -1 for all neighbours");
    const bool shared = sampler_of(o) == sample::Sampler::shared;
    require(!(shared && o.with_replacement), "shared samples are drawn without replacement",
            "with-replacement", "leave it out, or give --sampler plain");
    require(shared || !o.redraw, "redraw without shared samples", "redraw",
            "leave it out, or let samples be shared (--sampler shared, no --with-replacement)");
    check_edge_options(o);
    check_link_options(o);
    check_device_options(o);
    check_learned(o);
    require(o.sparse != store::SparseChoice::on || !store::rounds(o.precision),
            fmt::format("sparse rows stay exact: sparse 'on' does not go with precision '{}'",
                        to_string(o.precision)),
            "sparse", "leave --precision out, or give --sparse off");
    require(o.profile_epoch <= o.epochs,
            fmt::format("invalid profile-epoch: {} of {} epochs", o.profile_epoch, o.epochs),
            "profile-epoch", "give an epoch of this run, counted from 1");
    if (o.coding != "off") require_part("Zstandard", "--coding auto");
    static_cast<void>(nn::LearningRateSchedule(o.lr_schedule, o.warmup));
}

}  // namespace rudder::train
