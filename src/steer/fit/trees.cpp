// xgb, fitted by XGBoost and taken apart into flat arrays.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "fit.hpp"
#include "flat_trees.hpp"

namespace rudder::steer {

namespace {

/// XGBoost's C interface, loaded at its first use, so that only whoever fits trees needs it.
struct XgboostLibrary {
    using Handle = void*;
    std::string path;
    int (*matrix_create)(const float*, std::uint64_t, std::uint64_t, float, Handle*) = nullptr;
    int (*matrix_set)(Handle, const char*, const float*, std::uint64_t) = nullptr;
    int (*matrix_free)(Handle) = nullptr;
    int (*booster_create)(const Handle*, std::uint64_t, Handle*) = nullptr;
    int (*booster_set)(Handle, const char*, const char*) = nullptr;
    int (*booster_update)(Handle, int, Handle) = nullptr;
    int (*booster_save)(Handle, const char*, std::uint64_t*, const char**) = nullptr;
    int (*booster_free)(Handle) = nullptr;
    const char* (*last_error)() = nullptr;
};

constexpr const char* remedy =
    "install libxgboost0 (Debian, Ubuntu), or set RUDDER_XGBOOST to a libxgboost.so";

void* open(std::string& path) {
    const char* given = std::getenv("RUDDER_XGBOOST");
    if (given != nullptr && *given != '\0') {
        path = given;
        return ::dlopen(given, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    }
    for (const char* name : {"libxgboost.so.0", "libxgboost.so"}) {
        path = name;
        if (void* library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) return library;
    }
    return nullptr;
}

template <class Function>
void find(void* library, const char* name, const std::string& path, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) {
        throw Error(ErrorKind::failed, std::string("this XGBoost has no function ") + name, path,
                    std::string("1.6 or newer is needed: ") + remedy);
    }
}

XgboostLibrary load() {
    if (!built_in("XGBoost")) throw missing_part("XGBoost", "agent train", "fit another kind");
    XgboostLibrary xgboost;
    void* library = open(xgboost.path);
    if (library == nullptr) {
        const char* why = ::dlerror();
        throw Error(ErrorKind::failed,
                    std::string("fitting trees needs XGBoost, which cannot be loaded: ") +
                        (why != nullptr ? why : ""),
                    xgboost.path, remedy);
    }
    const std::string& path = xgboost.path;
    find(library, "XGDMatrixCreateFromMat", path, xgboost.matrix_create);
    find(library, "XGDMatrixSetFloatInfo", path, xgboost.matrix_set);
    find(library, "XGDMatrixFree", path, xgboost.matrix_free);
    find(library, "XGBoosterCreate", path, xgboost.booster_create);
    find(library, "XGBoosterSetParam", path, xgboost.booster_set);
    find(library, "XGBoosterUpdateOneIter", path, xgboost.booster_update);
    find(library, "XGBoosterSaveModelToBuffer", path, xgboost.booster_save);
    find(library, "XGBoosterFree", path, xgboost.booster_free);
    find(library, "XGBGetLastError", path, xgboost.last_error);
    return xgboost;
}

/// Loads it once; a failed Error that says how to get it if it is not there.
const XgboostLibrary& xgboost_library() {
    static const XgboostLibrary library = load();
    return library;
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

void expect(int code, const XgboostLibrary& xgboost) {
    if (code == 0) return;
    throw Error(ErrorKind::failed, fmt::format("XGBoost: {}", xgboost.last_error()), xgboost.path,
                "");
}

Parameters parameters_of(std::uint64_t seed) {
    return {{"seed", std::to_string(seed)},
            {"nthread", "1"},  // tables are small, and its threads spin where cores are shared
            {"tree_method", "hist"},
            {"verbosity", "0"},
            {"objective", "binary:logistic"},
            {"base_score", "0.5"},
            {"eta", "0.05"},
            {"max_depth", "6"},
            {"subsample", "0.8"}};
}

/// Fits and returns the model as XGBoost writes it.
Json boost(const FitData& data, const Parameters& parameters, int rounds) {
    const XgboostLibrary& xgboost = xgboost_library();
    XgboostLibrary::Handle matrix = nullptr;
    expect(xgboost.matrix_create(data.x.data(), data.rows(), data.columns,
                                 std::numeric_limits<float>::quiet_NaN(), &matrix),
           xgboost);
    const std::unique_ptr<void, int (*)(void*)> own_matrix(matrix, xgboost.matrix_free);
    const std::vector<float> labels(data.y.begin(), data.y.end());
    expect(xgboost.matrix_set(matrix, "label", labels.data(), labels.size()), xgboost);
    expect(xgboost.matrix_set(matrix, "weight", data.weight.data(), data.weight.size()), xgboost);
    XgboostLibrary::Handle booster = nullptr;
    expect(xgboost.booster_create(&matrix, 1, &booster), xgboost);
    const std::unique_ptr<void, int (*)(void*)> own_booster(booster, xgboost.booster_free);
    for (const auto& [name, value] : parameters)
        expect(xgboost.booster_set(booster, name.c_str(), value.c_str()), xgboost);
    for (int round = 0; round < rounds; ++round)
        expect(xgboost.booster_update(booster, round, matrix), xgboost);
    std::uint64_t length = 0;
    const char* text = nullptr;
    expect(xgboost.booster_save(booster, R"({"format":"json"})", &length, &text), xgboost);
    return parse_json({text, length}, xgboost.path);
}

template <class T>
void append(std::vector<T>& to, const Json& list) {
    for (const Json& value : list)
        to.push_back(value.get<T>());
}

}  // namespace

void fit_boosted(Model& model, const FitData& data, std::uint64_t seed, std::vector<double>& gain) {
    const Json saved = boost(data, parameters_of(seed), 500);
    const Json& learner = saved.at("learner");
    const auto base =
        parse_double(learner.at("learner_model_param").at("base_score").get<std::string>());
    FlatTrees all;
    gain.assign(data.columns, 0);
    for (const Json& tree : learner.at("gradient_booster").at("model").at("trees")) {
        const std::size_t first = all.left.size();
        all.roots.push_back(static_cast<std::int32_t>(first));
        append(all.left, tree.at("left_children"));
        append(all.right, tree.at("right_children"));
        append(all.feature, tree.at("split_indices"));
        append(all.split, tree.at("split_conditions"));
        const Json& gains = tree.at("loss_changes");
        for (std::size_t i = first; i < all.left.size(); ++i) {
            if (all.left[i] >= 0)
                gain[static_cast<std::size_t>(all.feature[i])] += gains[i - first].get<double>();
        }
    }
    const double start = base.value_or(0.5);
    model.arrays = std::move(all).arrays(static_cast<float>(std::log(start / (1 - start))), true);
}

}  // namespace rudder::steer
