#include "options_json.hpp"

#include <array>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::train {

namespace {

constexpr std::array<std::string_view, 3> objective_names{"classes", "multilabel", "regression"};

nn::Objective objective_from(const std::string& name, const std::string& where) {
    for (std::size_t i = 0; i < objective_names.size(); ++i) {
        if (objective_names[i] == name) return static_cast<nn::Objective>(i);
    }
    throw input_error("unknown objective '" + name + "'", where, "use another checkpoint");
}

}  // namespace

Json network_json(const nn::NetworkOptions& o) {
    return {{"model", o.model},
            {"objective", objective_names[static_cast<std::size_t>(o.objective)]},
            {"inputs", o.inputs},
            {"hidden", o.hidden},
            {"outputs", o.outputs},
            {"layers", o.layers},
            {"dropout", o.dropout},
            {"input_dropout", o.input_dropout},
            {"heads", o.heads},
            {"norm", o.norm},
            {"residual", o.residual},
            {"class_weights", o.class_weights},
            {"seed", o.seed}};
}

nn::NetworkOptions network_from_json(const Json& json, const std::string& where) {
    nn::NetworkOptions o;
    o.model = json_string(json, "model", where);
    o.objective = objective_from(json_string(json, "objective", where), where);
    o.inputs = json_u64(json, "inputs", where);
    o.hidden = json_u64(json, "hidden", where);
    o.outputs = json_u64(json, "outputs", where);
    o.layers = static_cast<int>(json_u64(json, "layers", where));
    o.dropout = json_number(json, "dropout", where);
    o.input_dropout = json_number(json, "input_dropout", where);
    o.heads = json_u64(json, "heads", where);
    o.norm = json_string(json, "norm", where);
    o.residual = json_bool(json, "residual", where);
    o.class_weights = json_field(json, "class_weights", where).get<std::vector<float>>();
    o.seed = json_u64(json, "seed", where);
    return o;
}

Json training_json(const TrainOptions& o) {
    const nn::OptimiserOptions& p = o.optimiser;
    return {{"model", o.model},
            {"layers", o.layers},
            {"hidden", o.hidden},
            {"dropout", o.dropout},
            {"input-dropout", o.input_dropout},
            {"heads", o.heads},
            {"norm", o.norm},
            {"residual", o.residual},
            {"class-weights", o.class_weights},
            {"fanout", o.fanout},
            {"with-replacement", o.with_replacement},
            {"batch", o.batch},
            {"seed-order", to_string(o.seed_order)},
            {"epochs", o.epochs},
            {"eval-every", o.eval_every},
            {"eval", o.eval},
            {"seed", o.seed},
            {"optimizer", p.name},
            {"lr", p.learning_rate},
            {"weight-decay", p.weight_decay},
            {"momentum", p.momentum},
            {"clip", p.clip},
            {"lr-schedule", o.lr_schedule},
            {"warmup", o.warmup},
            {"patience", o.patience},
            {"precision", to_string(o.precision)}};
}

TrainOptions training_from_json(const Json& json, const std::string& where) {
    TrainOptions o;
    o.model = json_string(json, "model", where);
    o.layers = static_cast<int>(json_u64(json, "layers", where));
    o.hidden = json_u64(json, "hidden", where);
    o.dropout = json_number(json, "dropout", where);
    o.input_dropout = json_number(json, "input-dropout", where);
    o.heads = json_u64(json, "heads", where);
    o.norm = json_string(json, "norm", where);
    o.residual = json_bool(json, "residual", where);
    o.class_weights = json_string(json, "class-weights", where);
    o.fanout = json_field(json, "fanout", where).get<std::vector<std::int32_t>>();
    o.with_replacement = json_bool(json, "with-replacement", where);
    o.batch = json_u64(json, "batch", where);
    o.seed_order = sample::seed_order(json_string(json, "seed-order", where));
    o.epochs = static_cast<std::uint32_t>(json_u64(json, "epochs", where));
    o.eval_every = static_cast<std::uint32_t>(json_u64(json, "eval-every", where));
    o.eval = json_string(json, "eval", where);
    o.seed = json_u64(json, "seed", where);
    o.optimiser.name = json_string(json, "optimizer", where);
    o.optimiser.learning_rate = json_number(json, "lr", where);
    o.optimiser.weight_decay = json_number(json, "weight-decay", where);
    o.optimiser.momentum = json_number(json, "momentum", where);
    o.optimiser.clip = json_number(json, "clip", where);
    o.lr_schedule = json_string(json, "lr-schedule", where);
    o.warmup = json_u64(json, "warmup", where);
    o.patience = static_cast<std::uint32_t>(json_u64(json, "patience", where));
    o.precision = store::precision(json_string(json, "precision", where));
    return o;
}

}  // namespace rudder::train
