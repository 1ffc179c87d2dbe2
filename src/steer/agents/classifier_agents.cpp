// lr, svm, rf, xgb, mlp, tabnet: replace when a fitted classifier says so.
#include <array>
#include <deque>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "rudder/core/error.hpp"
#include "steer/classifiers/classifier.hpp"
#include "steer/fit/published_refit.hpp"
#include "steer/fit/refit.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr SpecParameter file{"file", ParameterKind::file, 0,
                             0,      std::nullopt,        "model file, written by 'agent train'"};
constexpr SpecParameter faithful{
    "faithful", ParameterKind::flag,
    0,          0,
    {},         "require a model of the published features and labels"};
constexpr SpecParameter threshold_parameter{
    "threshold", ParameterKind::real, 0, 1, 0.5, "lowest probability at which rows are replaced"};
constexpr SpecParameter interval{"interval", ParameterKind::whole,         1, 1000000,
                                 1,          "steps between two decisions"};
constexpr SpecParameter fixed{"fixed", ParameterKind::flag, 0,
                              0,       std::nullopt,        "do not refit during the run"};

constexpr std::array plain{file, faithful, threshold_parameter, interval};
constexpr std::array tuned{file, faithful, threshold_parameter, interval, fixed};

constexpr AgentInfo info_of(std::string_view name, std::string_view sentence,
                            std::string_view costs, bool tunes) {
    const auto parameters =
        tunes ? std::span<const SpecParameter>(tuned) : std::span<const SpecParameter>(plain);
    AgentInfo info{
        {name, sentence, parameters, SpecValue::required}, "a trained model", costs, true};
    info.predicts = true;
    return info;
}

/// Answers by a model. Those with a last linear layer go on learning: that layer is fitted again to
/// what turned out or, in models of the published features and label, what the paper fits.
class ClassifierAgent final : public Agent {
public:
    ClassifierAgent(const AgentSpec& spec, const AgentFacts& facts)
        : ClassifierAgent(spec, facts, spec.text("file")) {}

    [[nodiscard]] std::uint64_t interval() const noexcept override { return interval_; }

    [[nodiscard]] Answer decide(const Observation& observation) override {
        standardise(model_, features_.make(observation), input_);
        learning_ == Learning::published ? learn_as_published(observation) : learn(observation);
        const double p = classifier_->probability(input_);
        const auto last = classifier_->last_input();
        if (learning_ == Learning::repaired) {
            open_.push_back({observation.step, {last.begin(), last.end()}});
            if (open_.size() > most_open) open_.pop_front();
        }
        Answer answer;
        answer.action =
            p >= threshold_ ? Action::replace(Reason::predicted) : Action::keep(Reason::predicted);
        answer.note = fmt::format("probability {:.3f}", p);
        return answer;
    }

    [[nodiscard]] std::string learned() const override {
        if (published_.taken() != 0)
            return fmt::format("fitted again as published {} times", published_.taken());
        if (refit_.taken() + refit_.turned_down() == 0) return {};
        return fmt::format("last layer fitted again {} times, {} times turned down", refit_.taken(),
                           refit_.turned_down());
    }

private:
    ClassifierAgent(const AgentSpec& spec, const AgentFacts& facts, const std::string& path)
        : model_(read_model(path)),
          classifier_(make_classifier(model_, path)),
          features_(model_.features),
          input_(model_.mean.size()),
          threshold_(spec.number("threshold")),
          interval_(spec.whole("interval")),
          learning_(learning_of(spec, facts)),
          refit_(facts.repeatable, metered(LastLayerRefit::Body(refit_last_layer), facts)),
          published_(facts.repeatable, metered(PublishedRefit::Body(refit_as_published), facts)) {
        if (model_.kind != spec.name()) {
            throw usage_error(fmt::format("the model is a {}, not a {}", model_.kind, spec.name()),
                              path, fmt::format("write {}:{}", model_.kind, path));
        }
        if (spec.given("faithful") && !as_published(model_)) {
            throw usage_error("the model was not fitted to the published features and label", path,
                              "fit it with 'rudder agent train --faithful'");
        }
    }

    /// How it goes on learning, if at all.
    enum class Learning : std::uint8_t { none, repaired, published };
    [[nodiscard]] Learning learning_of(const AgentSpec& spec, const AgentFacts& facts) const {
        if (!facts.refit || classifier_->last_input().empty() || spec.given("fixed"))
            return Learning::none;
        return as_published(model_) ? Learning::published : Learning::repaired;
    }
    static bool as_published(const Model& model) {
        return model.features == FeatureSet::faithful && model.label == LabelKind::paper;
    }

    /// The same, with its CPU time counted where that is asked for.
    template <class Body>
    static Body metered(Body body, const AgentFacts& facts) {
        if (facts.refit_cpu == nullptr) return body;
        return [sum = facts.refit_cpu, body = std::move(body)](const auto&... arguments) {
            const CpuMeter meter(*sum);
            return body(arguments...);
        };
    }

    void learn_as_published(const Observation& observation) {
        published_.add(classifier_record(observation), input_);
        auto made = published_.update(model_);
        if (!made) return;
        model_ = std::move(*made);
        classifier_ = make_classifier(model_, "refit");
    }

    /// What became of earlier answers: replacing was right where it was better, as in the labels of
    /// collected samples.
    void learn(const Observation& observation) {
        if (learning_ == Learning::none) return;
        for (const PastDecision& past : observation.history) {
            if (!past.correct || past.action.kind == ActionKind::set) continue;
            while (!open_.empty() && open_.front().step < past.step)
                open_.pop_front();
            if (open_.empty() || open_.front().step != past.step) continue;
            const bool replaced = past.action.kind == ActionKind::replace;
            refit_.add(open_.front().input, !past.tied && replaced == *past.correct);
            open_.pop_front();
        }
        refit_.update(classifier_->last_weights());
    }

    struct Open {
        std::uint64_t step;
        std::vector<float> input;
    };
    static constexpr std::size_t most_open = 256;

    Model model_;
    std::unique_ptr<Classifier> classifier_;
    FeatureMaker features_;
    std::vector<float> input_;
    double threshold_;
    std::uint64_t interval_;
    Learning learning_;
    LastLayerRefit refit_;
    PublishedRefit published_;
    std::deque<Open> open_;  ///< answers whose outcome is not known yet
};

}  // namespace

const AgentInfo lr_info =
    info_of("lr", "Replaces when a logistic regression predicts a gain.", "1 us", false);
const AgentInfo svm_info =
    info_of("svm", "Replaces when a linear support vector machine predicts a gain.", "1 us", false);
const AgentInfo rf_info =
    info_of("rf", "Replaces when a random forest predicts a gain.", "50 us", false);
const AgentInfo xgb_info =
    info_of("xgb", "Replaces when boosted trees predict a gain.", "50 us", false);
const AgentInfo mlp_info = info_of(
    "mlp",
    "Replaces when a small neural network predicts a gain, and keeps learning during the run.",
    "10 us", true);
const AgentInfo tabnet_info = info_of(
    "tabnet",
    "Replaces when an attentive network predicts a gain, and keeps learning during the run.",
    "50 us", true);

std::unique_ptr<Agent> make_classifier_agent(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<ClassifierAgent>(spec, facts);
}

}  // namespace rudder::steer
