// Classifiers: answers against slow direct evaluation, and files that are refused.
#include <algorithm>
#include <functional>

#include <gmock/gmock.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "random_models.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using Vector = std::vector<double>;

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

Vector product(const steer::ModelArray& m, const Vector& x) {
    Vector y(m.shape[0], 0);
    for (std::size_t o = 0; o < y.size(); ++o) {
        for (std::size_t i = 0; i < x.size(); ++i)
            y[o] += static_cast<double>(m.values[o * x.size() + i]) * x[i];
    }
    return y;
}

double with_bias(const steer::ModelArray& last, const Vector& x) {
    double sum = static_cast<double>(last.values.back());
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += static_cast<double>(last.values[i]) * x[i];
    return sum;
}

double slow_trees(const steer::Model& m, const Vector& x) {
    const auto& sum = m.array("sum", "").values;
    double total = static_cast<double>(sum[0]);
    for (const std::int32_t root : m.array("roots", "").wholes) {
        auto at = static_cast<std::size_t>(root);
        while (m.array("left", "").wholes[at] >= 0) {
            const auto feature = static_cast<std::size_t>(m.array("feature", "").wholes[at]);
            const bool left = x[feature] < static_cast<double>(m.array("split", "").values[at]);
            at = static_cast<std::size_t>(root + m.array(left ? "left" : "right", "").wholes[at]);
        }
        total += static_cast<double>(m.array("split", "").values[at]);
    }
    return sum[1] != 0 ? sigmoid(total) : std::clamp(total, 0.0, 1.0);
}

double slow_mlp(const steer::Model& m, Vector x) {
    for (std::size_t k = 0; k < 4; ++k) {
        Vector y = product(m.array(fmt::format("layer.{}.weights", k), ""), x);
        const auto& bias = m.array(fmt::format("layer.{}.bias", k), "").values;
        for (std::size_t i = 0; i < y.size(); ++i)
            y[i] = std::max(0.0, y[i] + static_cast<double>(bias[i]));
        x = y;
    }
    return sigmoid(with_bias(m.array("last", ""), x));
}

/// The projection onto the simplex by bisection, as plain as it gets.
Vector slow_sparsemax(const Vector& z) {
    double low = *std::ranges::min_element(z) - 1;
    double high = *std::ranges::max_element(z);
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        double sum = 0;
        for (const double v : z)
            sum += std::max(0.0, v - middle);
        (sum > 1 ? low : high) = middle;
    }
    Vector p;
    for (const double v : z)
        p.push_back(std::max(0.0, v - low));
    return p;
}

Vector affine(const steer::Model& m, Vector x, const std::string& factor,
              const std::string& shift) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = x[i] * static_cast<double>(m.array(factor, "").values[i]) +
               static_cast<double>(m.array(shift, "").values[i]);
    }
    return x;
}

Vector slow_transform(const steer::Model& m, Vector x, std::size_t s) {
    for (std::size_t k = 0; k < 4; ++k) {
        const std::string name =
            k < 2 ? fmt::format("shared.{}", k) : fmt::format("step.{}.own.{}", s, k - 2);
        const Vector y =
            affine(m, product(m.array(name, ""), x), fmt::format("step.{}.factor.{}", s, k),
                   fmt::format("step.{}.shift.{}", s, k));
        Vector out(128);
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = y[i] * sigmoid(y[i + 128]);
            if (k > 0) out[i] = (out[i] + x[i]) * std::sqrt(0.5);
        }
        x = out;
    }
    return x;
}

double slow_tabnet(const steer::Model& m, const Vector& given) {
    const Vector x = affine(m, given, "input.factor", "input.shift");
    Vector prior(x.size(), 1);
    Vector sum(64, 0);
    Vector out = slow_transform(m, x, 0);
    for (std::size_t s = 1; s <= 5; ++s) {
        const std::string name = fmt::format("step.{}.attend", s);
        Vector scores = affine(m, product(m.array(name, ""), {out.begin() + 64, out.end()}),
                               name + ".factor", name + ".shift");
        for (std::size_t i = 0; i < scores.size(); ++i)
            scores[i] *= prior[i];
        const Vector mask = slow_sparsemax(scores);
        Vector masked(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            prior[i] *= 1.5 - mask[i];
            masked[i] = mask[i] * x[i];
        }
        out = slow_transform(m, masked, s);
        for (std::size_t i = 0; i < 64; ++i)
            sum[i] += std::max(0.0, out[i]);
    }
    return sigmoid(with_bias(m.array("last", ""), sum));
}

double slow(const steer::Model& model, const Vector& x) {
    if (model.kind == "mlp") return slow_mlp(model, x);
    if (model.kind == "tabnet") return slow_tabnet(model, x);
    if (model.kind == "rf" || model.kind == "xgb") return slow_trees(model, x);
    return sigmoid(with_bias(model.array("weights", ""), x));
}

class Classifiers : public testing::TestWithParam<std::string_view> {
protected:
    TempDir folder_;
};

TEST_P(Classifiers, AnswerAsTheSlowEvaluation) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 3});
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const steer::Model model = random_model(std::string(GetParam()), seed);
        const auto classifier = steer::make_classifier(model, "test");
        Draws draws(stream, seed);
        for (int i = 0; i < 20; ++i) {
            const auto x = drawn(draws, model.mean.size(), 3);
            const double expected = slow(model, {x.begin(), x.end()});
            EXPECT_NEAR(classifier->probability(x), expected, 2e-5);
            EXPECT_NEAR(classifier->probability(x), expected, 2e-5) << "and again";
        }
    }
}

TEST_P(Classifiers, SurviveTheirFile) {
    const steer::Model model = random_model(std::string(GetParam()), 5);
    steer::write_model(model, folder_ / "a.model", false);
    const steer::Model read = steer::read_model(folder_ / "a.model");
    EXPECT_EQ(read.kind, model.kind);
    EXPECT_EQ(read.mean, model.mean);
    ASSERT_EQ(read.arrays.size(), model.arrays.size());
    for (std::size_t i = 0; i < read.arrays.size(); ++i) {
        EXPECT_EQ(read.arrays[i].name, model.arrays[i].name);
        EXPECT_EQ(read.arrays[i].shape, model.arrays[i].shape);
        EXPECT_EQ(read.arrays[i].values, model.arrays[i].values);
        EXPECT_EQ(read.arrays[i].wholes, model.arrays[i].wholes);
    }
    EXPECT_THROW(steer::write_model(model, folder_ / "a.model", false), Error)
        << "it is there already";
    steer::write_model(model, folder_ / "a.model", true);
}

INSTANTIATE_TEST_SUITE_P(Six, Classifiers, testing::ValuesIn(steer::classifier_kinds),
                         [](const auto& one) { return std::string(one.param); });

/// Expects an input Error with these words.
void refused(const std::function<void()>& what, const std::string& words) {
    try {
        what();
        ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(words));
        EXPECT_FALSE(error.remedy().empty());
    }
}

TEST(ModelFile, DamageIsRefused) {
    const TempDir folder;
    const auto path = folder / "a.model";
    steer::write_model(random_model("xgb", 1), path, false);
    const std::string whole = read_text(path, 1 << 30);
    const auto read_changed = [&](const std::string& bytes) {
        write_text(path, bytes);
        static_cast<void>(steer::read_model(path));
    };
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string bytes = whole;
        const auto at = bytes.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return bytes.replace(at, from.size(), to);
    };
    refused([&] { read_changed("nothing of ours"); }, "not a classifier");
    refused([&] { read_changed(whole.substr(0, 12)); }, "cut short");
    refused([&] { read_changed(whole.substr(0, whole.size() - 1)); }, "cut short");
    refused([&] { read_changed(replaced("\"version\":1", "\"version\":2")); }, "version");
    refused([&] { read_changed(replaced("\"hit_rate\"", "\"hit_fate\"")); }, "another list");
    refused([&] { read_changed(replaced("\"repaired\"", "\"desired!\"")); }, "feature list");
    std::string flipped = whole;
    flipped[flipped.size() - 40] = static_cast<char>(flipped[flipped.size() - 40] ^ 1);
    refused([&] { read_changed(flipped); }, "was changed");
    for (std::size_t cut = 0; cut < whole.size(); cut += whole.size() / 37)
        EXPECT_THROW(read_changed(whole.substr(0, cut)), Error);
}

TEST(ModelFile, ArraysThatDoNotFitAreRefused) {
    for (const std::string_view kind : steer::classifier_kinds) {
        const steer::Model whole = random_model(std::string(kind), 2);
        for (std::size_t i = 0; i < whole.arrays.size(); ++i) {
            steer::Model model = whole;
            model.arrays.erase(model.arrays.begin() + static_cast<std::ptrdiff_t>(i));
            refused([&] { static_cast<void>(steer::make_classifier(model, "test")); },
                    "has no array");
        }
    }
    steer::Model loop = random_model("xgb", 2);
    loop.arrays[0].wholes[0] = 0;  // its own child
    refused([&] { static_cast<void>(steer::make_classifier(loop, "test")); }, "broken");
    steer::Model far = random_model("xgb", 2);
    far.arrays[1].wholes[0] = 1 << 30;
    refused([&] { static_cast<void>(steer::make_classifier(far, "test")); }, "broken");
    steer::Model feature = random_model("xgb", 2);
    feature.arrays[2].wholes[0] = 99;
    refused([&] { static_cast<void>(steer::make_classifier(feature, "test")); }, "broken");
    steer::Model twice = random_model("xgb", 2);
    twice.arrays[1].wholes[0] = twice.arrays[0].wholes[0];  // one child for both sides
    refused([&] { static_cast<void>(steer::make_classifier(twice, "test")); }, "broken");
}

}  // namespace
}  // namespace rudder::test
