#include "train/option_table.hpp"

#include <array>

#include "train/steps/class_weights.hpp"

namespace rudder::train {

namespace {

using Table = std::vector<Setting<TrainOptions>>;
using Names = std::vector<std::string_view>;

template <auto Field>
Setting<TrainOptions> option(std::string_view name, std::string_view help) {
    return setting<TrainOptions, Field>(name, help);
}

/// The names of what a registry lists.
Names names_of(const auto& registry) {
    Names names;
    for (const auto* info : registry)
        names.emplace_back(info->name);
    return names;
}

constexpr double rows_at_most = 1e6;  ///< of a halo's size, or neighbours per vertex

Table model_options() {
    using O = TrainOptions;
    return {
        option<&O::model>("model", "Network").among(nn::model_names).in_identity(),
        option<&O::layers>("layers", "Number of layers").limit(1, 64).in_identity(),
        option<&O::hidden>("hidden", "Width of hidden layers").limit(1, 65536).in_identity(),
        option<&O::dropout>("dropout", "Dropout in hidden layers")
            .at_least(0)
            .below(1)
            .in_identity(),
        option<&O::heads>("heads", "Number of attention heads (gat, gatv2)")
            .limit(1, 1024)
            .in_identity()
            .in_further(),
        option<&O::norm>("norm", "Normalisation of hidden layers")
            .among(nn::norm_names)
            .in_identity()
            .in_further(),
        option<&O::residual>("residual", "Residual connections around hidden layers")
            .in_identity()
            .in_further(),
        option<&O::class_weights>("class-weights", "Weights of classes in the loss")
            .among(class_weight_names)
            .in_identity()
            .in_further(),
        option<&O::input_dropout>("input-dropout", "Dropout of input features")
            .at_least(0)
            .below(1)
            .in_identity()
            .in_further(),
    };
}

Table sampling_options() {
    using O = TrainOptions;
    return {
        option<&O::fanout>("fanout", "Neighbours per layer, input side first (10,25); -1 = all")
            .limit(-1, rows_at_most)
            .in_identity()
            .as_derived(),
        option<&O::batch>("batch", "Batch size: seeds per part and step").at_least(1).in_identity(),
        option<&O::seed_order>("seed-order", "Order of seeds")
            .among([] {
                return Names{"random", "clustered"};
            })
            .in_identity()
            .in_further(),
        option<&O::with_replacement>("with-replacement", "Sample neighbours with replacement")
            .in_identity()
            .in_further(),
        option<&O::sample_tasks>("sample-tasks", "Number of concurrent sampling tasks")
            .at_least(1)
            .in_further(),
    };
}

Table training_options() {
    using O = TrainOptions;
    return {option<&O::epochs>("epochs", "Number of epochs").in_identity(),
            option < [](auto& o) -> auto& {return o.optimiser.learning_rate;
}
> ("lr", "Learning rate").above(0).in_identity(), option < [](auto& o) -> auto& {
    return o.optimiser.name;
}
> ("optimizer", "Optimizer").among(nn::optimiser_names).in_identity().in_further(),
    option<&O::lr_schedule>("lr-schedule",
                            "Learning-rate schedule: constant, cosine, linear,\n"
                            "step:EPOCHS,FACTOR or plateau:EVALUATIONS,FACTOR")
        .offering([] {
            return Names{"constant", "cosine", "linear", "step:", "plateau:"};
        })
        .in_identity()
        .in_further(),
    option<&O::warmup>("warmup", "Learning-rate warm-up, in steps").in_identity().in_further(),
    option < [](auto& o) -> auto& {
    return o.optimiser.clip;
}
> ("clip", "Clip the gradient norm to this value (0 = off)").at_least(0).in_identity().in_further(),
    option < [](auto& o) -> auto& {
    return o.optimiser.momentum;
}
> ("momentum", "Momentum (sgd only)").in_identity().in_further(), option < [](auto& o) -> auto& {
    return o.optimiser.weight_decay;
}
> ("weight-decay", "Weight decay (L2; decoupled with adamw)")
        .at_least(0)
        .in_identity()
        .in_further(),
};  // namespace
}  // namespace rudder::train

Table seed_options() {
    return {option<&TrainOptions::seed>("seed", "Random seed: the same seed repeats a run exactly")
                .in_identity()};
}

Table evaluation_options() {
    using O = TrainOptions;
    return {
        option<&O::eval>("eval", "Evaluation (exact = over all neighbours)")
            .among([] {
                return Names{"exact", "sampled"};
            })
            .in_identity()
            .in_further(),
        option<&O::eval_every>("eval-every", "Epochs between evaluations (0 = never)")
            .in_identity()
            .in_further(),
        option<&O::patience>("patience",
                             "Early stopping: evaluations without improvement (0 = off)")
            .in_identity()
            .in_further(),
    };
}

Table policy_options() {
    return {option<&TrainOptions::policy>("policy", "Buffer policy; see replay --policies")
                .offering([] { return names_of(buffer::all_policies()); })};
}

Table buffer_options() {
    using O = TrainOptions;
    return {
        option<&O::window>("window", "Look-ahead in steps, as in window:16").at_least(1),
        option<&O::buffer>("buffer", "Buffer size as a fraction of the halo (0.25)")
            .limit(0, rows_at_most)
            .as_derived(),
        option<&O::buffer_rows>("buffer-rows", "Buffer size in rows, instead of --buffer")
            .in_further(),
        option<&O::buffer_bytes>("buffer-bytes", "Buffer size in bytes, such as 500MB")
            .in_bytes()
            .in_further(),
    };
}

Table agent_options() {
    return {option < [](auto& o) -> auto& {return o.steer.agent;
}
> ("agent", "Agent that steers the buffer; see agent list").as_derived().offering([] {
    return names_of(steer::all_agents());
})
}
;
}

Table steering_options() {
    return {option < [](auto& o) -> auto& {return o.steer.mode;
}
> ("agent-mode", "Agent mode (sync = steps wait for its answers)")
        .among([] {
            return Names{"async", "sync"};
        })
        .in_further(),
    option < [](auto& o) -> auto& {
    return o.steer.scope;
}
> ("agent-scope", "Scope of an agent")
        .among([] {
            return Names{"rank", "host", "job"};
        })
        .in_further(),
    option < [](auto& o) -> auto& {
    return o.steer.deadline;
}
> ("agent-deadline", "Time limit of an agent's answer").above(0).in("SECONDS").in_further(),
}
;
}

Table llm_options() {
    return {option < [](auto& o) -> auto& {return o.steer.llm.url;
}
> ("llm-url", "Server of agent llm (default: Ollama on this machine)").in_further(), option < [
](auto& o) -> auto& {
    return o.steer.llm.api;
}
> ("llm-api", "Protocol of the server of agent llm")
        .among([] {
            return Names{"auto", "openai", "ollama"};
        })
        .in_further(),
    option < [](auto& o) -> auto& {
    return o.steer.llm.insecure;
}
> ("llm-insecure", "Allow a server on another machine without TLS").in_further(),
}
;
}

Table llm_model_options() {
    return {option < [](auto& o) -> auto& {return o.steer.llm.model;
}
> ("llm-model", "Model of agent llm (default: the server's first)").in_further()
}
;
}

Table storage_options() {
    using O = TrainOptions;
    return {
        option<&O::precision>("precision", "Precision of feature rows")
            .among([] {
                return Names{"native", "float32", "bfloat16"};
            })
            .in_identity(),
        option<&O::topology>("topology", "Graph topology on each host")
            .among([] {
                return Names{"auto", "replicated", "partitioned"};
            })
            .in_further(),
        option<&O::shards>("shards", "Feature rows on each host (shared = in shared memory)")
            .among([] {
                return Names{"mapped", "shared"};
            })
            .in_further(),
        option<&O::bulk>("bulk", "Maximum rows per message between ranks (0 = about 256 KiB)")
            .in("ROWS")
            .in_further(),
        option<&O::in_flight>("in-flight", "Number of assembled steps in memory")
            .at_least(1)
            .in_further(),
        option<&O::buffer_scope>("buffer-scope", "Scope of a shared buffer")
            .among([] {
                return Names{"host", "rank"};
            })
            .in_further(),
    };
}

Table limit_options() {
    using O = TrainOptions;
    return {
        option<&O::memory>("memory", "Memory limit per host, such as 8GiB (0 = none)")
            .in_bytes()
            .in_further()
            .as_derived(),
        off_setting<O, &O::verify>("trust-data", "Skip the checksums of the parts").in_further(),
    };
}

Table profile_options() {
    return {option<&TrainOptions::profile_epoch>(
                "profile-epoch", "Epoch that --profile records (default: the second)")
                .in("N")
                .in_further()
                .as_derived()};
}

const std::array<Table, option_groups>& tables() {
    static const std::array<Table, option_groups> all{
        model_options(),      sampling_options(), training_options(),  seed_options(),
        evaluation_options(), policy_options(),   buffer_options(),    agent_options(),
        steering_options(),   llm_options(),      llm_model_options(), storage_options(),
        limit_options(),      profile_options()};
    return all;
}

}  // namespace

std::span<const Setting<TrainOptions>> options_of(OptionGroup group) {
    return tables().at(static_cast<std::size_t>(group));
}

std::span<const Setting<TrainOptions>> all_options() {
    static const Table all = [] {
        Table list;
        for (const Table& table : tables())
            list.insert(list.end(), table.begin(), table.end());
        return list;
    }();
    return all;
}

}  // namespace rudder::train
