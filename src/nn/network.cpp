// The factory of networks.
#include "rudder/nn/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/spec_registry.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/nn/flat_network.hpp"
#include "rudder/nn/model_registry.hpp"

namespace rudder::nn {

namespace {

std::vector<ModelInfo>& models() {
    static std::vector<ModelInfo> all{
        {.name = "sage",
         .make = make_sage,
         .sparse = true,
         .row_gradients = true,
         .shares = true,
         .make_typed = make_typed_sage,
         .edges = true},
        {.name = "gcn", .make = make_gcn, .degrees = true, .sparse = true, .row_gradients = true},
        {.name = "gat",
         .make = make_gat,
         .sparse = true,
         .row_gradients = true,
         .make_typed = make_typed_gat,
         .edges = true},
        {.name = "gatv2", .make = make_gatv2, .sparse = true, .row_gradients = true, .edges = true},
        {.name = "rgcn",
         .make = nullptr,
         .row_gradients = true,
         .shares = true,
         .make_typed = make_rgcn}};
    return all;
}

constexpr std::array<std::string_view, 3> norms{"none", "batch", "layer"};

/// Heads, norm and class weights.
void check_shape(const NetworkOptions& options) {
    if (std::ranges::find(norms, options.norm) == norms.end()) {
        throw usage_error(fmt::format("unknown norm '{}'", options.norm), "--norm",
                          fmt::format("known are {}", join(norms, ", ")));
    }
    const bool attends = options.model == "gat" || options.model == "gatv2";
    if (attends && options.heads == 0)
        throw usage_error("invalid number of heads: 0", "--heads", "give 1 or more");
    if (attends && options.layers > 1 && options.hidden % options.heads != 0) {
        throw usage_error(fmt::format("invalid hidden size: {} columns for {} heads",
                                      options.hidden, options.heads),
                          "--hidden", "give a multiple of --heads");
    }
    if (options.class_weights.empty()) return;
    const bool fits = options.objective == Objective::classes &&
                      options.class_weights.size() == options.outputs &&
                      std::ranges::all_of(options.class_weights,
                                          [](float w) { return w >= 0 && std::isfinite(w); });
    if (!fits) {
        throw usage_error("invalid class weights: they do not fit the classes", "--class-weights",
                          "give one number, 0 or more, per class, for data sets with classes");
    }
}

void check_options(const NetworkOptions& options) {
    const auto refuse = [](bool wrong, const std::string& what, const char* where,
                           const char* remedy) {
        if (wrong) throw usage_error(what, where, remedy);
    };
    refuse(options.layers < 1, fmt::format("invalid number of layers: {}", options.layers),
           "--layers", "give 1 or more");
    refuse(options.inputs == 0, "the data set has no features", "features",
           "import features, or let them be made (--features random:100)");
    refuse(options.outputs == 0, "nothing to learn: the data set has neither classes nor targets",
           "targets", "use a data set with labels or targets");
    refuse(options.layers > 1 && options.hidden == 0, "invalid hidden size: 0", "--hidden",
           "give 1 or more");
    const auto rate = [&](double value, const char* where) {
        refuse(!(value >= 0 && value < 1), fmt::format("invalid dropout rate: {}", value), where,
               "give at least 0 (off) and less than 1; 0.5 is usual");
    };
    refuse(options.pairs && options.pairs->width == 0, "invalid width of vertices' rows: 0",
           "--hidden", "give 1 or more");
    RUDDER_CHECK(options.objective != Objective::links || (options.pairs && options.outputs == 1));
    RUDDER_CHECK(!options.pairs || options.pairs->relations > 0);
    RUDDER_CHECK(!options.pairs || options.pairs->scorer == PairScorer::network ||
                 options.outputs == 1);
    rate(options.dropout, "--dropout");
    rate(options.input_dropout, "--input-dropout");
    check_shape(options);
}

}  // namespace

void Network::map_rows(std::size_t /*layer*/, const InputRows& /*input*/,
                       std::span<float> /*out*/) {
    RUDDER_CHECK(false);  // of a network that says it maps rows
}

void Network::set_row_gradients(std::span<float> /*gradients*/) {
    RUDDER_CHECK(false);  // of a network that says it has them
}

void Network::score_pairs(const ConstMatrix& /*rows*/, const SeedPairs& /*pairs*/,
                          std::span<float> /*scores*/) {
    RUDDER_CHECK(false);  // of a network that scores pairs
}

std::vector<std::string_view> model_names() {
    std::vector<std::string_view> names;
    for (const ModelInfo& model : models())
        names.push_back(model.name);
    return names;
}

std::vector<std::string_view> norm_names() {
    return {norms.begin(), norms.end()};
}

bool model_wants_degrees(std::string_view model) noexcept {
    return std::ranges::any_of(
        models(), [&](const ModelInfo& known) { return known.name == model && known.degrees; });
}

bool model_takes_sparse(std::string_view model) noexcept {
    return std::ranges::any_of(
        models(), [&](const ModelInfo& known) { return known.name == model && known.sparse; });
}

bool model_teaches_rows(std::string_view model) noexcept {
    return std::ranges::any_of(models(), [&](const ModelInfo& known) {
        return known.name == model && known.row_gradients;
    });
}

bool model_knows_types(std::string_view model) noexcept {
    return std::ranges::any_of(models(), [&](const ModelInfo& known) {
        return known.name == model && known.make_typed != nullptr;
    });
}

bool model_knows_one_type(std::string_view model) noexcept {
    return std::ranges::any_of(models(), [&](const ModelInfo& known) {
        return known.name == model && known.make != nullptr;
    });
}

std::vector<std::string_view> typed_models() {
    std::vector<std::string_view> names;
    for (const ModelInfo& model : models()) {
        if (model.make_typed != nullptr) names.push_back(model.name);
    }
    return names;
}

std::vector<std::string_view> weighted_models() {
    std::vector<std::string_view> names;
    for (const ModelInfo& model : models()) {
        if (model.shares) names.push_back(model.name);
    }
    return names;
}

std::vector<std::string_view> edge_models() {
    std::vector<std::string_view> names;
    for (const ModelInfo& model : models()) {
        if (model.edges) names.push_back(model.name);
    }
    return names;
}

void register_model(const ModelInfo& model) {
    RUDDER_CHECK(!model.name.empty() && (model.make != nullptr || model.make_typed != nullptr));
    RUDDER_CHECK(std::ranges::none_of(
        models(), [&](const ModelInfo& known) { return known.name == model.name; }));
    models().push_back(model);
}

std::unique_ptr<Network> make_network(const NetworkOptions& options) {
    for (const ModelInfo& model : models()) {
        if (model.name != options.model) continue;
        check_options(options);
        RUDDER_CHECK(!options.sparse || (model.sparse && !options.types));
        RUDDER_CHECK(options.edge_inputs == 0 || (model.edges && !options.types));
        RUDDER_CHECK(!options.row_gradients || (model.row_gradients && !options.sparse));
        if (options.types) {
            RUDDER_CHECK(model.make_typed != nullptr);
            return model.make_typed(options);
        }
        if (model.make == nullptr) {
            throw usage_error(fmt::format("model '{}' is for graphs of several types", model.name),
                              "--model", "use another, such as sage");
        }
        return model.make(options);
    }
    throw unknown_name("model", options.model, model_names(), "--model");
}

}  // namespace rudder::nn
