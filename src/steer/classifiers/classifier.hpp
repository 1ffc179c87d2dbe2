// Classifiers: plain weights or trees in a file, and their answer to a row of features.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steer/samples/features.hpp"

namespace rudder::steer {

/// The six of the paper, in its order.
inline constexpr std::array<std::string_view, 6> classifier_kinds{"lr",  "svm", "rf",
                                                                  "xgb", "mlp", "tabnet"};
inline constexpr std::uint64_t model_version = 1;

/// What a model was fitted to: ours, 1 if and only if replacing now costs fewer rows over the next
/// steps than not replacing; or the published one.
enum class LabelKind : std::uint8_t { counterfactual, paper };
[[nodiscard]] std::string_view to_string(LabelKind label) noexcept;

/// One array of a model; floats, or whole numbers (of trees).
struct ModelArray {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::vector<float> values;
    std::vector<std::int32_t> wholes;  ///< where there are no floats
};

/// A fitted model, as its file holds it. Features are standardised before anything else: less
/// their mean, over their spread, and cut at plus and minus `standard_limit`.
struct Model {
    std::string kind;
    FeatureSet features = FeatureSet::repaired;
    LabelKind label = LabelKind::counterfactual;
    std::vector<float> mean;    ///< by feature
    std::vector<float> spread;  ///< by feature; above 0
    std::vector<ModelArray> arrays;
    std::string report;  ///< JSON text: how well it did when it was fitted; may be empty

    /// The array of that name; an input Error naming `where` if there is none.
    [[nodiscard]] const ModelArray& array(std::string_view name, const std::string& where) const;
};
/// An unseen graph may lie far outside; a linear rule should not follow it there.
inline constexpr float standard_limit = 8;

/// The features of a model's file, standardised.
void standardise(const Model& model, std::span<const double> features, std::span<float> out);

/// Writes the file whole or not at all. A usage Error where it exists and may not be replaced.
void write_model(const Model& model, const std::filesystem::path& path, bool force);
/// Reads and checks it: an input Error with the remedy where it is no model, was cut or changed, or
/// is of another version or feature list.
[[nodiscard]] Model read_model(const std::filesystem::path& path);

/// Answers for one model. Not safe from several tasks at once: it has scratch memory.
class Classifier {
public:
    virtual ~Classifier() = default;
    Classifier(Classifier&&) = delete;

    /// How likely replacing now is right; of standardised features.
    [[nodiscard]] virtual double probability(std::span<const float> standardised) = 0;

    // Of those that end in a linear layer which may be fitted again while running (mlp, tabnet).
    /// What that layer was given by the last call of `probability`; empty for the others.
    [[nodiscard]] virtual std::span<const float> last_input() const { return {}; }
    /// Its weights, the bias last.
    [[nodiscard]] virtual std::span<float> last_weights() { return {}; }

protected:
    Classifier() = default;
};

/// Takes the model apart; an input Error naming `where` if its arrays do not fit together.
[[nodiscard]] std::unique_ptr<Classifier> make_classifier(const Model& model,
                                                          const std::string& where);

}  // namespace rudder::steer
