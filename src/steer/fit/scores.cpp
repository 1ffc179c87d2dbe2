// Measures of answers: accuracy, ROC, calibration, importance.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/json.hpp"
#include "rudder/core/random.hpp"

#include "fit.hpp"

namespace rudder::steer {

namespace {

/// The chance that a random sample of class 1 is ranked above one of class 0.
double area(std::span<const double> p, std::span<const std::uint8_t> y) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    double ranks = 0;  // of class 1, ties sharing their mean
    double ones = 0;
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        double tied = 0;
        for (; end < order.size() && p[order[end]] == p[order[i]]; ++end)
            tied += y[order[end]];
        ranks += tied * (static_cast<double>(i + end + 1) / 2);
        ones += tied;
        i = end;
    }
    const double zeros = static_cast<double>(p.size()) - ones;
    if (ones == 0 || zeros == 0) return 0.5;
    return (ranks - ones * (ones + 1) / 2) / (ones * zeros);
}

/// The share of answers that are right by the published measure.
double agreement(std::span<const double> p, std::span<const std::uint8_t> gained) {
    double right = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
        right += (p[i] >= 0.5) == (gained[i] != 0) ? 1 : 0;
    return right / static_cast<double>(p.size());
}

}  // namespace

FitScores score(std::span<const double> p, std::span<const std::uint8_t> y,
                std::span<const std::uint8_t> gained) {
    FitScores s;
    s.samples = p.size();
    if (p.empty()) return s;
    std::array<double, 2> right{};
    std::array<double, 2> count{};
    for (std::size_t i = 0; i < p.size(); ++i) {
        const std::size_t label = y[i];
        const bool yes = p[i] >= 0.5;
        ++count[label];
        right[label] += yes == (label != 0) ? 1 : 0;
        s.yes += yes ? 1 : 0;
        const double error = p[i] - static_cast<double>(label);
        s.brier += error * error;
        const auto bin =
            std::min<std::size_t>(9, static_cast<std::size_t>(std::max(0.0, p[i]) * 10));
        ++s.bins[bin].count;
        s.bins[bin].predicted += p[i];
        s.bins[bin].observed += static_cast<double>(label);
    }
    const double n = static_cast<double>(p.size());
    s.positives = count[1] / n;
    s.yes /= n;
    s.brier /= n;
    s.accuracy = (right[0] + right[1]) / n;
    s.majority = std::max(count[0], count[1]) / n;
    if (gained.size() == p.size()) s.label_accuracy = agreement(p, gained);
    // A class that does not occur says nothing.
    const double recall0 = count[0] > 0 ? right[0] / count[0] : right[1] / count[1];
    const double recall1 = count[1] > 0 ? right[1] / count[1] : recall0;
    s.balanced = (recall0 + recall1) / 2;
    s.auc = area(p, y);
    for (FitScores::Bin& bin : s.bins) {
        if (bin.count == 0) continue;
        s.calibration += std::abs(bin.predicted - bin.observed) / n;
        bin.predicted /= static_cast<double>(bin.count);
        bin.observed /= static_cast<double>(bin.count);
    }
    return s;
}

Json to_json(const FitScores& s) {
    Json bins = Json::array();
    for (const FitScores::Bin& bin : s.bins) {
        bins.push_back(
            {{"count", bin.count}, {"predicted", bin.predicted}, {"observed", bin.observed}});
    }
    return {{"samples", s.samples},
            {"positives", s.positives},
            {"yes", s.yes},
            {"accuracy", s.accuracy},
            {"balanced", s.balanced},
            {"auc", s.auc},
            {"brier", s.brier},
            {"calibration_error", s.calibration},
            {"calibration", bins},
            {"majority", s.majority},
            {"label_accuracy", s.label_accuracy ? Json(*s.label_accuracy) : Json()}};
}

std::vector<double> answers(Classifier& classifier, const FitData& data) {
    std::vector<double> p(data.rows());
    for (std::size_t i = 0; i < p.size(); ++i)
        p[i] = classifier.probability(data.row(i));
    return p;
}

FitScores score(Classifier& classifier, const FitData& data) {
    return score(answers(classifier, data), data.y, data.gained);
}

std::vector<double> permutation_importance(Classifier& classifier, const FitData& data,
                                           std::uint64_t seed) {
    // A few thousand rows say enough.
    constexpr std::size_t most_rows = 2000;
    FitData part = data;
    if (part.rows() > most_rows) {
        const std::size_t stride = (part.rows() + most_rows - 1) / most_rows;
        part.x.clear();
        part.y.clear();
        for (std::size_t i = 0; i < data.rows(); i += stride) {
            const auto row = data.row(i);
            part.x.insert(part.x.end(), row.begin(), row.end());
            part.y.push_back(data.y[i]);
        }
    }
    const double whole = score(answers(classifier, part), part.y).balanced;
    const RandomStream stream({.purpose = Purpose::steer, .seed = seed});
    std::vector<double> lost(part.columns);
    for (std::size_t c = 0; c < part.columns; ++c) {
        FitData shuffled = part;
        Draws draws(stream, c);
        for (std::size_t i = part.rows(); i > 1; --i) {
            std::swap(shuffled.x[(i - 1) * part.columns + c],
                      shuffled.x[draws.below(i) * part.columns + c]);
        }
        lost[c] = whole - score(answers(classifier, shuffled), part.y).balanced;
    }
    return lost;
}

}  // namespace rudder::steer
