#include "train_view.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "describe.hpp"
#include "live_frame.hpp"

namespace rudder::cli {

namespace {

constexpr auto frame_pause = std::chrono::milliseconds(100);

std::string score_text(const train::Score& score) {
    return score.answers == 0 ? "-" : fmt::format("{:.2f} %", score.share() * 100);
}

std::string epoch_line(const std::string& title, const train::EpochRecord& record,
                       std::uint32_t epochs) {
    std::string line = title.empty() ? "" : title + "  ";
    line += fmt::format("epoch {}/{}  loss {:.4f}  train {}", record.epoch + 1, epochs, record.loss,
                        score_text(record.scores.train));
    if (record.scores.valid_links && record.scores.test_links) {
        line += fmt::format("  valid MRR {:.4f}  test MRR {:.4f}", record.scores.valid_links->mrr,
                            record.scores.test_links->mrr);
    } else if (record.scores.evaluated) {
        line += fmt::format("  valid {}  test {}", score_text(record.scores.valid),
                            score_text(record.scores.test));
    }
    return line + fmt::format("  {:.2f} s", record.seconds);
}

}  // namespace

void print_below_view(const std::string& text, bool live) {
    if (live) Screen::clear();
    if (!live || !output_on_terminal()) {
        print_text(text);
        return;
    }
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

report::RunPlan run_plan(const train::TrainOptions& options, const comm::Communicator& comm,
                         const std::string& name) {
    return {.name = name,
            .epochs = options.epochs,
            .steps = 0,
            .ranks = static_cast<std::uint64_t>(comm.size()),
            .policy = train::policy_of(options).text(),
            .agent = train::agent_of(options).text()};
}

TrainView::TrainView(ViewOptions options)
    : options_(std::move(options)), watch_(options_.plan), next_draw_(Clock::now()) {
    if (options_.live) screen_.emplace();
}

void TrainView::step_done(const train::StepRecord& record, std::uint64_t steps) {
    if (!options_.live) return;
    const Clock::time_point now = Clock::now();
    watch_.step(record, steps);
    if (now < next_draw_) return;
    next_draw_ = now + frame_pause;
    const ScreenLook look = screen_look();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    Screen::draw(live_frame(watch_.standing(elapsed), look), look);
}

void TrainView::records(std::span<const train::StepRecord> records) {
    if (options_.live) watch_.records(records);
}

void TrainView::decisions(std::span<const steer::DecisionRecord> decisions) {
    if (options_.live) watch_.decisions(decisions);
}

void TrainView::epoch_done(const train::EpochRecord& record, std::uint32_t epochs) {
    watch_.epoch(record.epoch, record.valid(), record.evaluation_seconds);
    if (!options_.lines) return;
    std::string line = epoch_line(options_.plan.name, record, epochs);
    if (output_on_terminal()) {
        const ScreenLook look = screen_look();
        line = cut_to(line, look.columns - 1, look.utf8);
    }
    try {
        print_below_view(line + "\n", options_.live);
    } catch (const Error&) {
        // Nobody reads on: no reason to end the run. The summary will say so.
    }
}

}  // namespace rudder::cli
