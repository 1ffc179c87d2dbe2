// Loss and accuracy.
#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

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
    const EpochAxis axis = epoch_axis(shown);
    LineChart chart;
    chart.text.id = shown.id + "accuracy";
    chart.text.title = "Accuracy";
    if (const auto best = shown.answers.best_epoch)
        chart.text.note = fmt::format("Epoch {} is the best by validation.", count_text(*best));
    if (axis.width > 1) {
        chart.text.note += fmt::format(
            " Each point is the mean of {} epochs; the band reaches from "
            "the least to the most.",
            axis.width);
    }
    chart.x = axis.x;
    chart.unit = Unit::share;
    chart.from_zero = false;
    chart.lines.push_back(epoch_line(shown, axis, "training", 6, &EpochData::train));
    chart.lines.push_back(epoch_line(shown, axis, "validation", 0, &EpochData::valid));
    chart.lines.push_back(epoch_line(shown, axis, "test", 1, &EpochData::test));
    chart.lines[0].dash = 2;
    chart.lines[2].dash = 1;
    return chart;
}

}  // namespace

void write_learning(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "learning", "Learning");
    if (simulated(shown)) {
        html.leaf("p", "The run was simulated: nothing was computed, so there are no losses.",
                  {{"class", "gap"}});
        return;
    }
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
        html.leaf("p", "No steps are recorded: the loss curve is missing.", {{"class", "gap"}});
    }
    if (!shown.run.epochs.empty()) {
        draw(html, accuracy_chart(shown));
    } else {
        html.leaf("p",
                  "epochs.jsonl is missing, and the accuracy curve with it; the answer above "
                  "has what the summary says.",
                  {{"class", "gap"}});
    }
}

}  // namespace rudder::report
