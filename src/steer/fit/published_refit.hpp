// Going on learning as the paper's classifiers do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/executor/executor.hpp"
#include "steer/classifiers/classifier.hpp"

namespace rudder::steer {

/// As published: of an mlp the last layer (3 epochs, 1e-4), of a tabnet the whole network, which is
/// fitted anew. `rows` are standardised features.
[[nodiscard]] Model refit_as_published(const Model& model, std::span<const float> rows,
                                       std::span<const std::uint8_t> labels);

/// Every decision adds a sample: its own features, and whether things got better from the record
/// before to this one, whatever was decided. 50 samples are fitted to and forgotten; what comes of
/// it is taken as it is. In live runs a fit is a task of its own, for which no answer waits.
class PublishedRefit {
public:
    static constexpr std::size_t interval = 50;
    static constexpr std::uint32_t epochs = 3;
    static constexpr double learning_rate = 1e-4;

    /// What fits: refit_as_published, or what measures or stands in for it.
    using Body = std::function<decltype(refit_as_published)>;
    /// `repeatable`: a fit is made and taken over at once (replays).
    explicit PublishedRefit(bool repeatable, Body body = refit_as_published)
        : body_(std::move(body)), repeatable_(repeatable) {}
    /// Waits for a fit that is under way.
    ~PublishedRefit();
    PublishedRefit(PublishedRefit&&) = delete;

    /// What a decision was asked with; the first one has no record before it, and is no sample.
    void add(const ClassifierRecord& record, std::span<const float> features);
    /// The model to go on with, where a fit of `now` has ended; begins one if enough came.
    [[nodiscard]] std::optional<Model> update(const Model& now);

    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

private:
    struct Fit {
        std::vector<float> rows;
        std::vector<std::uint8_t> labels;
        Model model;
    };
    void begin(const Model& now);

    Body body_;
    bool repeatable_;
    std::optional<ClassifierRecord> before_;
    std::vector<float> rows_;
    std::vector<std::uint8_t> labels_;
    Task task_;
    std::shared_ptr<Fit> fit_;  ///< under way
    std::uint64_t taken_ = 0;
};

}  // namespace rudder::steer
