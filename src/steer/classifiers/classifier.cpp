// Making a classifier of a model; what all kinds share.
#include "classifier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"

#include "classifiers.hpp"

namespace rudder::steer {

void refuse_model(const std::string& what, const std::string& where) {
    throw input_error(what, where, "fit it again with 'rudder agent train'");
}

std::string_view to_string(LabelKind label) noexcept {
    return label == LabelKind::paper ? "paper" : "counterfactual";
}

const ModelArray& Model::array(std::string_view name, const std::string& where) const {
    const auto found = std::ranges::find(arrays, name, &ModelArray::name);
    if (found == arrays.end())
        refuse_model(fmt::format("the model has no array '{}'", name), where);
    return *found;
}

std::span<const float> floats(const Model& model, const std::string& name,
                              const std::vector<std::uint64_t>& shape, const std::string& where) {
    const ModelArray& array = model.array(name, where);
    std::uint64_t size = 1;
    for (const std::uint64_t extent : shape)
        size *= extent;
    if (array.shape != shape || array.values.size() != size) {
        refuse_model(fmt::format("array '{}' has another shape than a {} needs", name, model.kind),
                     where);
    }
    return array.values;
}

std::span<const std::int32_t> wholes(const Model& model, const std::string& name,
                                     const std::string& where) {
    const ModelArray& array = model.array(name, where);
    if (array.shape.size() != 1 || array.wholes.size() != array.shape[0]) {
        refuse_model(fmt::format("invalid array '{}': not a flat list of whole numbers", name),
                     where);
    }
    return array.wholes;
}

void standardise(const Model& model, std::span<const double> features, std::span<float> out) {
    RUDDER_CHECK(features.size() == model.mean.size() && out.size() == features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
        const double value = (features[i] - static_cast<double>(model.mean[i])) /
                             static_cast<double>(model.spread[i]);
        out[i] = std::clamp(static_cast<float>(value), -standard_limit, standard_limit);
    }
}

std::unique_ptr<Classifier> make_classifier(const Model& model, const std::string& where) {
    if (model.kind == "lr" || model.kind == "svm") return make_linear(model, where);
    if (model.kind == "rf" || model.kind == "xgb") return make_trees(model, where);
    if (model.kind == "mlp") return make_mlp(model, where);
    if (model.kind == "tabnet") return make_tabnet(model, where);
    refuse_model(fmt::format("invalid kind of classifier: '{}'", model.kind), where);
}

}  // namespace rudder::steer
