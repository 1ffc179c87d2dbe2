// Loss and accuracy.
#include <fmt/format.h>

#include "sections.hpp"

namespace rudder {

namespace {

std::string loss_note(const ShownRun& shown, const Series& loss) {
    const auto first = shown.run.summary.number("loss.first");
    const auto last = shown.run.summary.number("loss.last");
    std::string text;
    if (first && last) {
        text = fmt::format("From {:.4g} at the first step to {:.4g} at the last.", *first, *last);
    } else if (!loss.mean.empty() && loss.mean.front() && loss.mean.back()) {
        text = fmt::format("From {:.4g} to {:.4g}.", *loss.mean.front(), *loss.mean.back());
    }
    return text + width_note(shown);
}

LineChart accuracy_chart(const ShownRun& shown) {
    const RunData& run = shown.run;
    LineChart chart{.text = {shown.id + "accuracy", "Accuracy", ""},
                    .x = {.name = "epoch", .at = {}, .names = {}},
                    .unit = Unit::share,
                    .lines = {},
                    .from_zero = false};
    Series train{.name = "training", .colour = 6, .mean = {}, .dash = 2};
    Series valid{.name = "validation", .colour = 0, .mean = {}};
    Series test{.name = "test", .colour = 1, .mean = {}, .dash = 1};
    for (const EpochData& epoch : run.epochs) {
        chart.x.at.push_back(static_cast<double>(epoch.epoch));
        chart.x.names.push_back(fmt::format("{}", epoch.epoch));
        train.mean.push_back(epoch.train);
        valid.mean.push_back(epoch.valid);
        test.mean.push_back(epoch.test);
    }
    if (!chart.x.at.empty()) {
        chart.x.min = chart.x.at.front();
        chart.x.max = std::max(chart.x.at.back(), chart.x.min + 1);
    }
    chart.lines = {train, valid, test};
    if (const auto best = shown.answers.best_epoch)
        chart.text.note = fmt::format("Epoch {} is the best by validation.", count_text(*best));
    return chart;
}

}  // namespace

void write_learning(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "learning", "Learning");
    const Element pair(html, "div", {{"class", "pair"}});
    const StepAxis axis = step_axis(shown);
    Series loss = step_line(shown, axis, "loss", 0, series_column("loss"));
    if (!axis.buckets.empty()) {
        LineChart chart;
        chart.text = {shown.id + "loss", "Loss", loss_note(shown, loss)};
        chart.x = axis.x;
        chart.lines.push_back(std::move(loss));
        draw(html, chart);
    } else {
        html.leaf("p", "No steps are recorded, so there is no curve of the loss.",
                  {{"class", "gap"}});
    }
    if (!shown.run.epochs.empty()) {
        draw(html, accuracy_chart(shown));
    } else {
        html.leaf(
            "p",
            "There is no epochs.jsonl, so there is no curve of the accuracy; the answer above "
            "has what the summary says.",
            {{"class", "gap"}});
    }
}

}  // namespace rudder
