// Runs one stage of training by itself on a data set at size, and prints its figures as one line of
// JSON.
//
//   scale_stages STAGE PARTS [THREADS=1 [ROUNDS=5 [BATCH=1000 [STEPS=8]]]]
//
// STAGE: sample, own-rows, remote-rows (under mpirun) or policy. bench_scale.py calls it.
#include "stages.hpp"

#include <charconv>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::bench {

SampledSteps::SampledSteps(const StageSettings& settings)
    : data_(settings.parts),
      parts_(data_.all_parts()),
      source_(sample::make_replicated_source(comm::Communicator::local(), data_.book(), parts_)),
      schedule_(comm::Communicator::local(), parts_, data_.parts(), {.batch = settings.batch}),
      sampler_(*source_, options_) {}

std::vector<VertexId> SampledSteps::seeds(PartId part, std::uint64_t step) const {
    std::vector<VertexId> seeds;
    schedule_.seeds(part, step, seeds);
    return seeds;
}

sample::Batch SampledSteps::batch(PartId part, std::uint64_t step) {
    sample::Batch batch;
    sampler_.sample({schedule_.epoch_of(step), step, part}, seeds(part, step), batch);
    return batch;
}

}  // namespace rudder::bench

namespace {

using namespace rudder;

using Stage = bench::StageFigures (*)(const bench::StageSettings&);

Stage stage_named(std::string_view name) {
    if (name == "sample") return bench::sample_stage;
    if (name == "own-rows") return bench::own_rows_stage;
    if (name == "remote-rows") return bench::remote_rows_stage;
    if (name == "policy") return bench::policy_stage;
    return nullptr;
}

/// A whole number above 0.
std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size() || number == 0 ||
        number > 1'000'000)
        return std::nullopt;
    return number;
}

int wrong_use(const std::string& what) {
    fmt::print(stderr,
               "scale_stages: {}\n"
               "usage: scale_stages sample|own-rows|remote-rows|policy PARTS [THREADS [ROUNDS "
               "[BATCH [STEPS]]]]\n",
               what);
    return 2;
}

void print_figures(std::string_view stage, const bench::StageFigures& figures) {
    if (figures.empty()) return;
    std::string line = fmt::format(R"({{"stage": "{}")", stage);
    for (const auto& [name, value] : figures)
        line += fmt::format(R"(, "{}": {:.6g})", name, value);
    fmt::print("{}}}\n", line);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2 || arguments.size() > 6)
        return wrong_use("a stage and a partitioned data set are needed");
    const Stage stage = stage_named(arguments[0]);
    if (stage == nullptr) return wrong_use(fmt::format("invalid stage: '{}'", arguments[0]));
    bench::StageSettings settings;
    settings.parts = arguments[1];
    for (std::size_t i = 2; i < arguments.size(); ++i) {
        const auto number = number_of(arguments[i]);
        if (!number) return wrong_use(fmt::format("invalid number: '{}'", arguments[i]));
        if (i == 2) settings.threads = static_cast<int>(*number);
        if (i == 3) settings.rounds = static_cast<int>(*number);
        if (i == 4) settings.batch = *number;
        if (i == 5) settings.steps = *number;
    }
    try {
        set_thread_count(settings.threads);
        print_figures(arguments[0], stage(settings));
    } catch (const std::exception& error) {
        fmt::print(stderr, "scale_stages: {}\n", error.what());
        return 1;
    }
    return 0;
}
