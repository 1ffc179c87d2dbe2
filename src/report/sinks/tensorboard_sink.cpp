#include "report/tensorboard_sink.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <unistd.h>

#include "report/catalogue.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "event_bytes.hpp"

namespace rudder::report {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view file_prefix = "events.out.tfevents.";

double wall_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

/// Files are read in the order of their names, which begin with their seconds: later than any that
/// is there.
fs::path next_file(const fs::path& folder) {
    auto seconds = static_cast<std::uint64_t>(wall_time());
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(file_prefix)) continue;
        const auto rest = std::string_view(name).substr(file_prefix.size());
        if (const auto there = parse_u64(rest.substr(0, rest.find('.'))))
            seconds = std::max(seconds, *there + 1);
    }
    return folder / fmt::format("{}{:010}.{}.{}", file_prefix, seconds, host_name(), ::getpid());
}

}  // namespace

struct TensorBoardSink::State {
    File file;
    std::array<std::string, metric_count> tags;
    std::array<bool, metric_count> summed{};
    EventBytes event;
    std::string out;

    void write() {
        file.write(std::as_bytes(std::span(out)));
        out.clear();
    }
    void add(std::span<const train::StepRecord> ranks, double time);
};

TensorBoardSink::TensorBoardSink(const fs::path& folder, std::uint64_t first_step)
    : state_(new State{File::create(next_file(folder)), {}, {}, {}, {}}) {
    const auto catalogue = metric_catalogue();
    for (std::size_t i = 0; i < metric_count; ++i) {
        state_->tags[i] = tensorboard_tag(catalogue[i]);
        state_->summed[i] = catalogue[i].kind == FieldKind::count;
    }
    state_->event.begin(wall_time(), 0);
    state_->event.file_version();
    state_->event.end(state_->out);
    if (first_step != 0) {
        state_->event.begin(wall_time(), first_step);
        state_->event.session_start();
        state_->event.end(state_->out);
    }
    state_->write();
}

TensorBoardSink::~TensorBoardSink() = default;

/// One event of the step of all ranks.
void TensorBoardSink::State::add(std::span<const train::StepRecord> ranks, double time) {
    std::array<double, metric_count> sums{};
    for (const train::StepRecord& rank : ranks) {
        const auto values = metric_values(rank);
        for (std::size_t i = 0; i < metric_count; ++i)
            sums[i] += values[i];
    }
    event.begin(time, ranks.front().step);
    for (std::size_t i = 0; i < metric_count; ++i) {
        const double value = summed[i] ? sums[i] : sums[i] / static_cast<double>(ranks.size());
        event.value(tags[i], static_cast<float>(value));
    }
    event.end(out);
}

void TensorBoardSink::steps(std::span<const train::StepRecord> steps) {
    if (steps.empty()) return;
    // Steps come long after they were done, many at once: the last one ended just now.
    double time = wall_time();
    for (const train::StepRecord& step : steps)
        if (step.rank == steps.front().rank) time -= step.seconds.step;
    for (auto begin = steps.begin(); begin != steps.end();) {
        const auto end = std::find_if(begin, steps.end(), [&](const train::StepRecord& other) {
            return other.step != begin->step;
        });
        time += begin->seconds.step;
        state_->add({begin, end}, time);
        begin = end;
    }
    state_->write();
}

void TensorBoardSink::epoch(const train::EpochRecord& epoch) {
    // Epochs have the same number of steps.
    const std::uint64_t last = (std::uint64_t{epoch.epoch} + 1) * epoch.steps - 1;
    state_->event.begin(wall_time(), last);
    for (const EpochMetric& metric : epoch_metrics()) {
        if (const auto value = metric.value(epoch))
            state_->event.value(metric.tag, static_cast<float>(*value));
    }
    state_->event.end(state_->out);
    state_->write();
}

void TensorBoardSink::close() {
    state_->file.sync_and_close();
}

const fs::path& TensorBoardSink::file() const noexcept {
    return state_->file.path();
}

}  // namespace rudder::report
