// What four sampled shadows (1 in 16) cost in a live run, as the program counts it: under mpirun.
//
//   ranks_train_shadows PARTS BATCH [EPOCHS]
//
// PARTS is a partition. Every rank counts as a host; the buffer is a quarter of the halo.
#include <memory>

#include <fmt/format.h>

#include "buffer/shadow_buffer.hpp"
#include "comm/figures.hpp"
#include "core/system.hpp"
#include "rudder/comm/mpi_transport.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/train/trainer.hpp"

namespace {

using namespace rudder;

/// Runs the shadows, and changes nothing.
class ShadowPilot final : public buffer::BufferPilot, public train::RunPilot {
public:
    [[nodiscard]] buffer::BufferPilot* buffer_pilot() override { return this; }
    void start(const buffer::PolicyFacts& facts, const buffer::BufferControl& control) override {
        feed_ = std::make_shared<buffer::ShadowFeed>(facts, buffer::ShadowOptions{});
        for (const char* text : {"lru", "lfu", "scored,every:16", "window:16"}) {
            shadows_.push_back(std::make_unique<buffer::ShadowBuffer>(
                buffer::PolicySpec::parse(text), feed_, control.slots(), control.capacity()));
        }
    }
    [[nodiscard]] std::uint64_t horizon() const override { return 16; }
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override {
        feed_->publish(step, rows);
    }
    buffer::Decision before(std::uint64_t /*step*/, buffer::BufferControl& /*control*/) override {
        return {};
    }
    void after(std::uint64_t step, const buffer::RowAccounts& /*accounts*/) override {
        for (const auto& shadow : shadows_)
            shadow->advance();
        feed_->forget(step + 1);
    }
    [[nodiscard]] std::string told() const {
        std::string text;
        for (const auto& shadow : shadows_) {
            const buffer::RowAccounts rows = shadow->estimated();
            text += fmt::format("{} {:.3f}, ", shadow->spec().text(),
                                static_cast<double>(rows.fetched()) /
                                    static_cast<double>(std::max<std::uint64_t>(1, rows.needed)));
        }
        return text + "of the rows needed";
    }

private:
    std::shared_ptr<buffer::ShadowFeed> feed_;
    std::vector<std::unique_ptr<buffer::ShadowBuffer>> shadows_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2) {
        fmt::print(stderr, "shadows_bench: PARTS BATCH [EPOCHS]\n");
        return 2;
    }
    const comm::MpiSession session;
    comm::MpiOptions mpi;
    mpi.ranks_per_host = 1;
    const comm::Communicator comm(comm::make_mpi_transport(mpi));
    set_thread_count(std::max(1, usable_cores() / comm.size()));
    const partition::PartitionedDataset data(arguments[0]);
    train::TrainOptions options;
    options.batch = std::stoull(arguments[1]);
    options.epochs =
        arguments.size() > 2 ? static_cast<std::uint32_t>(std::stoul(arguments[2])) : 5;
    options.eval_every = 0;
    options.policy = "window:16";
    options.precision = store::Precision::float32;
    train::Trainer trainer(comm, data, options);
    train::TrainObserver observer;
    ShadowPilot pilot;
    const train::TrainResult result = trainer.run(observer, {}, &pilot);
    if (comm.rank() != 0) return 0;
    const double share = result.pilot_seconds / result.cpu_seconds;
    bench::report(
        fmt::format("four shadows, {} ranks", comm.size()), 100 * share, "% of the CPU", "<= 3",
        share <= 0.03,
        fmt::format("{:.3f} ms of {:.1f} ms per step and rank; the real buffer {:.2f} %; {}",
                    result.pilot_seconds / static_cast<double>(result.steps) / comm.size() * 1e3,
                    result.cpu_seconds / static_cast<double>(result.steps) / comm.size() * 1e3,
                    100 * result.policy_seconds / result.cpu_seconds, pilot.told()));
    return 0;
}
