// How long training stands still for a checkpoint of a 104 MB network (SAGE, hidden 3,600, 3
// layers; with Adam's memory 311 MB are copied and written): the gap between the last step of an
// epoch and the first of the next, less that gap in the same run without checkpoints. No
// evaluation.
//
//   bench_train_checkpoint [FOLDER [EPOCHS]]
//
// FOLDER (default: a new one in the current folder, removed at the end) is for the graph and the
// run. The writing itself goes on beside training; the seconds of steps with and without it are
// printed, too.
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/figures.hpp"
#include "graph/generate/generate.hpp"
#include "partition/partition.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/text.hpp"
#include "rudder/train/trainer.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"

namespace {

using namespace rudder;
namespace fs = std::filesystem;

/// Takes down when each step ended.
class StepTimes final : public train::TrainObserver {
public:
    void step_done(const train::StepRecord& record, std::uint64_t) override {
        ends_.push_back(bench::seconds());
        steps_.push_back(record.seconds.step);
    }
    /// From the last step of an epoch to the first of the next, without those steps; in
    /// milliseconds, by epoch.
    [[nodiscard]] std::vector<double> gaps(std::uint64_t steps_per_epoch) const {
        std::vector<double> found;
        for (std::size_t i = steps_per_epoch; i < ends_.size(); i += steps_per_epoch)
            found.push_back((ends_[i] - ends_[i - 1] - steps_[i]) * 1e3);
        return found;
    }
    [[nodiscard]] double step_milliseconds() const {
        std::vector<double> steps(steps_.begin() + 1, steps_.end());
        return bench::median(steps) * 1e3;
    }

private:
    std::vector<double> ends_;
    std::vector<double> steps_;
};

partition::PartitionedDataset make_data(const fs::path& folder) {
    graph::GenerateOptions options;
    options.kind = "sbm";
    options.output = folder / "graph";
    options.generator.vertices = 400;
    options.generator.classes = 4;
    options.features = "random:16";
    graph::generate_dataset(options, Progress::none());
    partition::PartitionOptions partition;
    partition.parts = 1;
    partition::partition_dataset(graph::Dataset(folder / "graph"), folder / "parts", partition,
                                 Existing::refuse);
    return partition::PartitionedDataset(folder / "parts");
}

train::TrainOptions options_of(std::uint32_t epochs) {
    train::TrainOptions options;
    options.layers = 3;
    options.hidden = 3600;
    options.fanout = {2, 2, 2};
    options.batch = 30;
    options.epochs = epochs;
    options.eval_every = 0;
    return options;
}

struct Measured {
    std::vector<double> gaps;
    double step;
    std::uint64_t bytes;  ///< of the weights
};

Measured train(const partition::PartitionedDataset& data, std::uint32_t epochs,
               const fs::path& run) {
    train::Trainer trainer(comm::Communicator::local(), data, options_of(epochs));
    StepTimes times;
    train::CheckpointPlan plan;
    std::optional<train::CheckpointKeeper> keeper;
    if (!run.empty()) {
        keeper.emplace(run);
        plan = {
            .every_epochs = 1, .keeper = &*keeper, .wanted = true, .data = {}, .data_checksum = {}};
    }
    const train::TrainResult result = trainer.run(times, plan);
    return {times.gaps(result.steps_per_epoch), times.step_milliseconds(),
            trainer.weights().size_bytes()};
}

void measure(const fs::path& folder, std::uint32_t epochs) {
    const partition::PartitionedDataset data = make_data(folder);
    Measured without = train(data, epochs, {});
    Measured with = train(data, epochs, folder / "run");
    const double usual = bench::median(without.gaps);
    for (double& gap : with.gaps)
        gap -= usual;
    const double first = with.gaps.front();
    const double pause = bench::median(with.gaps);
    bench::report("pause of training for a checkpoint", pause, "ms", "< 50", pause < 50,
                  fmt::format("network of {}; {} checkpoints: the first {:.1f} ms, longest {:.1f}; "
                              "steps of {:.0f} ms, {:.0f} without checkpoints",
                              format_bytes(with.bytes), with.gaps.size(), first, with.gaps.back(),
                              with.step, without.step));
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const bool own = arguments.empty();
    const fs::path folder =
        own ? fs::path(fmt::format("checkpoint-bench-{}", ::getpid())) : fs::path(arguments[0]);
    const auto epochs =
        static_cast<std::uint32_t>(arguments.size() > 1 ? std::stoul(arguments[1]) : 10);
    fs::create_directories(folder);
    measure(folder, epochs);
    if (own) fs::remove_all(folder);
    return 0;
}
