#include "options_json.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "train/link_options.hpp"
#include "train/option_table.hpp"

namespace rudder::train {

namespace {

std::span<const Setting<nn::NetworkOptions>> network_settings() {
    using O = nn::NetworkOptions;
    static const std::array table{
        setting<O, &O::model>("model", ""),
        setting<O, &O::objective>("objective", "")
            .among({"classes", "multilabel", "regression", "links"}),
        setting<O, &O::inputs>("inputs", ""),
        setting<O, &O::hidden>("hidden", ""),
        setting<O, &O::outputs>("outputs", ""),
        setting<O, &O::layers>("layers", "").at_least(0),
        setting<O, &O::dropout>("dropout", ""),
        setting<O, &O::input_dropout>("input_dropout", ""),
        setting<O, &O::heads>("heads", ""),
        setting<O, &O::norm>("norm", ""),
        setting<O, &O::residual>("residual", ""),
        setting<O, &O::class_weights>("class_weights", ""),
        setting<O, &O::seed>("seed", ""),
    };
    return table;
}

/// Of networks that score pairs.
std::span<const Setting<nn::PairOptions>> pair_settings() {
    using O = nn::PairOptions;
    static const std::array table{
        setting<O, &O::scorer>("scorer", "").among(pair_scorer_names),
        setting<O, &O::loss>("loss", "").among(link_loss_names),
        setting<O, &O::width>("width", ""),
        setting<O, &O::relations>("relations", ""),
        setting<O, &O::input>("input", "", Marks::added).among({"products", "sums", "rows"}),
    };
    return table;
}

/// One field of a checkpoint; what a damaged file holds is an input Error.
template <class T>
void read_field(T& options, const Setting<T>& setting, const Json& json, const std::string& where) {
    const Json& value = json_field(json, std::string(setting.name).c_str(), where);
    try {
        setting.put(options, value);
    } catch (const Error& error) {
        throw input_error(error.problem(), where, "use another checkpoint");
    } catch (const Json::exception&) {
        throw input_error("field '" + std::string(setting.name) + "' has the wrong type", where,
                          "use another checkpoint");
    }
}

/// Types of a network that knows several.
Json types_json(const nn::TypedInputs& types, std::uint64_t bases) {
    Json vertices = Json::array();
    for (const nn::TypedInputs::Vertices& type : types.vertices)
        vertices.push_back(json_object({{"name", type.name}, {"width", type.width}}));
    Json edges = Json::array();
    for (const nn::TypedInputs::Edges& type : types.edges)
        edges.push_back(json_object({{"name", type.name}, {"from", type.from}, {"to", type.to}}));
    return json_object(
        {{"vertices", std::move(vertices)}, {"edges", std::move(edges)}, {"bases", bases}});
}

void read_types(const Json& json, const std::string& where, nn::NetworkOptions& options) {
    nn::TypedInputs types;
    for (const Json& type : json_field(json, "vertices", where)) {
        types.vertices.push_back(
            {json_string(type, "name", where), json_u64(type, "width", where)});
    }
    const std::size_t count = types.vertices.size();
    bool good = count > 0 && std::ranges::all_of(types.vertices, [&](const auto& type) {
                    return type.width > 0 && type.width <= options.inputs;
                });
    for (const Json& type : json_field(json, "edges", where)) {
        types.edges.push_back({json_string(type, "name", where), json_u64(type, "from", where),
                               json_u64(type, "to", where)});
        good = good && types.edges.back().from < count && types.edges.back().to < count;
    }
    options.bases = json_u64(json, "bases", where);
    good =
        good && !types.edges.empty() && options.bases > 0 && nn::model_knows_types(options.model);
    if (!good) throw input_error("invalid types of a network", where, "use another checkpoint");
    options.types = std::move(types);
}

/// Of a network that reads the features of edges.
void read_edges(const Json& json, const std::string& where, nn::NetworkOptions& options) {
    constexpr std::uint64_t most = std::uint64_t{1} << 32;
    options.edge_inputs = json_u64(json, "edge_inputs", where);
    const auto models = nn::edge_models();
    const bool known = std::ranges::find(models, options.model) != models.end() &&
                       options.objective != nn::Objective::links && !json.contains("types");
    if (known && options.edge_inputs > 0 && options.edge_inputs < most) return;
    throw input_error("invalid features of edges of a network", where, "use another checkpoint");
}

}  // namespace

Json network_json(const nn::NetworkOptions& options) {
    Json json = Json::object();
    for (const auto& setting : network_settings())
        json[std::string(setting.name)] = setting.value(options);
    if (options.edge_inputs != 0) json["edge_inputs"] = options.edge_inputs;
    if (options.types) json["types"] = types_json(*options.types, options.bases);
    if (!options.pairs) return json;
    Json pairs = Json::object();
    for (const auto& setting : pair_settings())
        pairs[std::string(setting.name)] = setting.value(*options.pairs);
    json["pairs"] = std::move(pairs);
    return json;
}

nn::NetworkOptions network_from_json(const Json& json, const std::string& where) {
    nn::NetworkOptions options;
    for (const auto& setting : network_settings())
        read_field(options, setting, json, where);
    if (json.contains("edge_inputs")) read_edges(json, where, options);
    if (json.contains("types")) read_types(json.at("types"), where, options);
    if (json.contains("pairs")) {
        options.pairs.emplace();
        for (const auto& setting : pair_settings()) {
            const bool there = json.at("pairs").contains(std::string(setting.name));
            if (setting.marked(Marks::added) && !there) continue;
            read_field(*options.pairs, setting, json.at("pairs"), where);
        }
    }
    const bool links = options.objective == nn::Objective::links;
    // Scorers but the network give a pair one number.
    const bool one = links || (options.pairs && options.pairs->scorer != nn::PairScorer::network);
    const bool fits =
        options.pairs ? (!one || options.outputs == 1) && options.pairs->relations > 0 : !links;
    if (!fits) {
        throw input_error("invalid network: it does not score pairs as it says", where,
                          "use another checkpoint");
    }
    return options;
}

Json training_json(const TrainOptions& options) {
    Json json = Json::object();
    for (const auto& setting : all_options()) {
        if (setting.marked(Marks::identity))
            json[std::string(setting.name)] = setting.value(options);
    }
    return json;
}

TrainOptions training_from_json(const Json& json, const std::string& where) {
    TrainOptions options;
    options.sampler = sample::Sampler::plain;  // as all runs drew before there was a choice
    for (const auto& setting : all_options()) {
        if (!setting.marked(Marks::identity)) continue;
        if (setting.marked(Marks::added) && !json.contains(std::string(setting.name))) continue;
        read_field(options, setting, json, where);
    }
    return options;
}

void check_trained_as(const nn::NetworkOptions& network, const TrainOptions& options,
                      const std::string& where) {
    // What samples carry follows from the options, what the network reads from its own.
    if ((network.edge_inputs > 0) == options.edge_features) return;
    throw input_error(
        fmt::format("invalid features of edges: the network reads {} columns of them, and was "
                    "trained {} --edge-features",
                    network.edge_inputs, options.edge_features ? "with" : "without"),
        where, "use another checkpoint");
}

}  // namespace rudder::train
