#include "published_refit.hpp"

#include <algorithm>
#include <utility>

#include "rudder/core/check.hpp"

#include "fit.hpp"
#include "refit.hpp"
#include "tabular.hpp"

namespace rudder::steer {

namespace {

/// New weights of the last layer, to what the layers below make of the rows.
void refit_last(Model& model, std::span<const float> rows, std::span<const std::uint8_t> labels) {
    const auto classifier = make_classifier(model, "refit");
    const std::size_t columns = model.mean.size();
    std::vector<float> inputs;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        static_cast<void>(classifier->probability(rows.subspan(i * columns, columns)));
        std::ranges::copy(classifier->last_input(), std::back_inserter(inputs));
    }
    const auto last = std::ranges::find(model.arrays, "last", &ModelArray::name);
    RUDDER_CHECK(last != model.arrays.end());
    last->values = refit_last_layer(inputs, labels, last->values, PublishedRefit::epochs,
                                    PublishedRefit::learning_rate);
}

}  // namespace

Model refit_as_published(const Model& model, std::span<const float> rows,
                         std::span<const std::uint8_t> labels) {
    Model made = model;
    if (model.kind != "tabnet") {
        refit_last(made, rows, labels);
        return made;
    }
    const std::vector<float> weight(labels.size(), 1);
    const TabularData data{model.mean.size(), rows, labels, weight};
    made.arrays = model_arrays(fit_tabnet(data, {}, FitTask{}.seed));
    return made;
}

void PublishedRefit::add(const ClassifierRecord& record, std::span<const float> features) {
    const auto before = std::exchange(before_, record);
    if (!before) return;
    rows_.insert(rows_.end(), features.begin(), features.end());
    labels_.push_back(gained_as_published(*before, record) ? 1 : 0);
}

void PublishedRefit::begin(const Model& now) {
    fit_ = std::make_shared<Fit>(Fit{std::exchange(rows_, {}), std::exchange(labels_, {}), now});
    const auto work = [fit = fit_, body = body_] {
        fit->model = body(fit->model, fit->rows, fit->labels);
    };
    if (repeatable_) {
        work();  // replays run side by side in a loop, where nobody may wait
    } else {
        task_ = Executor::current().spawn("refit", work);
    }
}

std::optional<Model> PublishedRefit::update(const Model& now) {
    if (!fit_ && labels_.size() >= interval) begin(now);
    if (!fit_ || !(repeatable_ || task_.done())) return std::nullopt;
    const auto fit = std::exchange(fit_, nullptr);
    if (task_.valid()) task_.finish();
    ++taken_;
    return std::move(fit->model);
}

PublishedRefit::~PublishedRefit() {
    task_.settle();  // what it made is not wanted any more, and neither is why it failed
}

}  // namespace rudder::steer
