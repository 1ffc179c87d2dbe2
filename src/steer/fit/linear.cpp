// lr and svm, fitted by LIBLINEAR.
#include <algorithm>
#include <cmath>

#include <linear.h>

#include "rudder/core/error.hpp"

#include "fit.hpp"

namespace rudder::steer {

namespace {

/// The rows as LIBLINEAR takes them, a constant behind the features.
struct Problem {
    explicit Problem(const FitData& data)
        : nodes(data.rows() * (data.columns + 2)), labels(data.y.begin(), data.y.end()) {
        const std::size_t stride = data.columns + 2;
        for (std::size_t i = 0; i < data.rows(); ++i) {
            const auto row = data.row(i);
            feature_node* at = nodes.data() + i * stride;
            rows.push_back(at);
            for (std::size_t c = 0; c < data.columns; ++c)
                *at++ = {static_cast<int>(c + 1), static_cast<double>(row[c])};
            *at++ = {static_cast<int>(data.columns + 1), 1.0};
            *at = {-1, 0};
        }
        problem.l = static_cast<int>(data.rows());
        problem.n = static_cast<int>(data.columns + 1);
        problem.y = labels.data();
        problem.x = rows.data();
        problem.bias = 1;
    }
    std::vector<feature_node> nodes;
    std::vector<double> labels;
    std::vector<feature_node*> rows;
    ::problem problem{};
};

/// Weights, the bias last, so that a positive sum means 1.
std::vector<float> solve(const Problem& of, const FitData& data, int solver) {
    // Both classes count alike.
    const double ones = static_cast<double>(std::ranges::count(data.y, 1));
    const double count = static_cast<double>(data.rows());
    int labels[2] = {0, 1};
    double weights[2] = {count / (2 * (count - ones)), count / (2 * ones)};
    ::parameter parameter{};
    parameter.solver_type = solver;
    parameter.C = 1;
    parameter.eps = 1e-3;
    parameter.p = 0.1;
    parameter.nr_weight = 2;
    parameter.weight_label = labels;
    parameter.weight = weights;
    ::set_print_string_function([](const char*) {});
    if (const char* wrong = ::check_parameter(&of.problem, &parameter); wrong != nullptr)
        throw Error(ErrorKind::failed, std::string("LIBLINEAR: ") + wrong, "agent train", "");
    ::model* made = ::train(&of.problem, &parameter);
    const float sign = made->label[0] == 1 ? 1.0F : -1.0F;
    std::vector<float> result(data.columns + 1);
    for (std::size_t c = 0; c < result.size(); ++c)
        result[c] = sign * static_cast<float>(made->w[c]);
    ::free_and_destroy_model(&made);
    return result;
}

/// Platt's scaling with 0.5 kept where it is: how steep the sigmoid over a margin is.
double steepness(std::span<const float> weights, const FitData& data) {
    std::vector<double> margins(data.rows());
    for (std::size_t i = 0; i < margins.size(); ++i) {
        margins[i] = static_cast<double>(weights.back());
        for (std::size_t c = 0; c < data.columns; ++c)
            margins[i] += static_cast<double>(weights[c]) * static_cast<double>(data.row(i)[c]);
    }
    double a = 1;
    for (int round = 0; round < 50; ++round) {  // Newton's method; the loss is convex
        double slope = 0;
        double curve = 1e-9;
        for (std::size_t i = 0; i < margins.size(); ++i) {
            const double p = 1 / (1 + std::exp(-a * margins[i]));
            const double weight = static_cast<double>(data.weight[i]);
            slope += weight * (p - static_cast<double>(data.y[i])) * margins[i];
            curve += weight * p * (1 - p) * margins[i] * margins[i];
        }
        const double move = std::clamp(slope / curve, -1.0, 1.0);
        a = std::clamp(a - move, 0.01, 100.0);
        if (std::abs(move) < 1e-6) break;
    }
    return a;
}

}  // namespace

void fit_linear(Model& model, const FitData& data) {
    const Problem problem(data);
    const bool svm = model.kind == "svm";
    std::vector<float> weights = solve(problem, data, svm ? L2R_L2LOSS_SVC_DUAL : L2R_LR);
    if (svm) {
        const auto times = static_cast<float>(steepness(weights, data));
        for (float& weight : weights)
            weight *= times;
    }
    model.arrays = {{"weights", {weights.size()}, weights, {}}};
}

}  // namespace rudder::steer
