// What four sampled shadows (1 in 16) cost in a live run, as the program counts it: under mpirun.
//
//   ranks_train_shadows PARTS BATCH [EPOCHS]
//
// PARTS is a partition. Every rank counts as a host; the buffer is a quarter of the halo.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/figures.hpp"
#include "comm/mpi_transport.hpp"
#include "core/system.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/steer/agent_registry.hpp"
#include "rudder/train/trainer.hpp"

namespace {

using namespace rudder;

/// Has three shadows opened beside the twin, which follows the policy of the run, and changes
/// nothing.
class ShadowAgent final : public steer::Agent {
public:
    [[nodiscard]] steer::Answer decide(const steer::Observation& seen) override {
        steer::Answer answer;
        if (!seen.shadows.empty()) {
            told_.clear();
            for (const steer::ShadowReading& shadow : seen.shadows) {
                told_ += fmt::format(
                    "{} {:.3f}, ", shadow.setting.policy.text(),
                    static_cast<double>(shadow.total.fetched()) /
                        static_cast<double>(std::max<std::uint64_t>(1, shadow.total.needed)));
            }
            return answer;
        }
        for (const char* text : {"lru", "lfu", "scored,every:16"}) {
            steer::Setting setting = seen.setting;
            setting.policy = buffer::PolicySpec::parse(text);
            answer.shadows.push_back(
                {steer::ShadowOrder::Kind::open, std::string("s ") + text, setting});
        }
        return answer;
    }
    [[nodiscard]] std::string learned() const override { return told_ + "of the rows needed"; }

private:
    std::string told_;
};

const steer::AgentInfo shadows_info{
    {"shadows", "Runs three shadows and changes nothing."}, "nothing", "nothing", false, true};

std::unique_ptr<steer::Agent> make_shadows(const steer::AgentSpec& /*spec*/,
                                           const steer::AgentFacts& /*facts*/) {
    return std::make_unique<ShadowAgent>();
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2) {
        fmt::print(stderr, "shadows_bench: PARTS BATCH [EPOCHS]\n");
        return 2;
    }
    steer::register_agent(shadows_info, make_shadows);
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
    options.steer.agent = "shadows";
    options.precision = store::Precision::float32;
    train::Trainer trainer(comm, data, options);
    train::TrainObserver observer;
    const train::TrainResult result = trainer.run(observer);
    if (comm.rank() != 0) return 0;
    const double seconds = result.agent.totals.cpu_seconds;
    const double share = seconds / result.cpu_seconds;
    bench::report(
        fmt::format("four shadows, {} ranks", comm.size()), 100 * share, "% of the CPU", "<= 3",
        share <= 0.03,
        fmt::format("{:.3f} ms of {:.1f} ms per step and rank; the real buffer {:.2f} %; {}",
                    seconds / static_cast<double>(result.steps) / comm.size() * 1e3,
                    result.cpu_seconds / static_cast<double>(result.steps) / comm.size() * 1e3,
                    100 * result.policy_seconds / result.cpu_seconds,
                    fmt::join(result.agent.learned, "; ")));
    return 0;
}
