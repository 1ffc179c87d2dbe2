// Trains on two ranks with a policy of its own, 'first-come', and says what it saved.
//
//   train_own_policy PARTS
#include <cstdio>

#include "rudder/buffer/cloned_policy.hpp"
#include "rudder/buffer/policy_registry.hpp"
#include "rudder/core/error.hpp"
#include "rudder/run/ranks.hpp"
#include "rudder/train/trainer.hpp"

namespace buffer = rudder::buffer;

/// Keeps the rows that were missed first, for good.
class FirstCome final : public buffer::ClonedPolicy<FirstCome> {
public:
    FirstCome(const buffer::PolicyFacts& facts, buffer::Residents& residents)
        : ClonedPolicy(facts, residents) {}
    void advance(std::uint64_t /*step*/, std::span<const buffer::RowKey> rows,
                 const buffer::Decision& /*decision*/, buffer::StepPlan& plan) override {
        for (std::uint32_t i = 0; i < rows.size() && residents_->room() > 0; ++i) {
            if (plan.slots[i] == buffer::no_slot)
                plan.admit.push_back({i, residents_->place(rows[i])});
        }
    }
    void capacity_changed(std::uint64_t /*step*/, buffer::StepPlan& plan) override {
        for (buffer::SlotId s = 0; residents_->count() > residents_->capacity(); ++s)
            if (residents_->row_at(s) != buffer::no_row) leave(residents_->row_at(s), plan);
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }
};

int main(int argc, char** argv) try {
    if (argc != 2) return std::fputs("usage: train_own_policy PARTS\n", stderr), 2;
    const buffer::PolicyInfo info{{"first-come", "Keeps the first rows missed."}, "an example"};
    buffer::register_policy(info, [](const auto&, const auto& facts, auto& residents) {
        return std::unique_ptr<buffer::Policy>(std::make_unique<FirstCome>(facts, residents));
    });
    rudder::train::TrainOptions options;
    options.policy = "first-come";
    options.batch = 200;
    options.epochs = 3;
    rudder::run::RankOptions ranks{.ranks_per_host = 1, .arguments = {argv[1]}};
    if (!rudder::run::is_rank()) ranks.ranks = 2;  // starts itself as ranks
    return rudder::run::run_ranked(ranks, {}, [&](const rudder::comm::Communicator& comm) {
        const rudder::partition::PartitionedDataset data(argv[1]);
        rudder::train::TrainObserver nobody;
        const auto result = rudder::train::Trainer(comm, data, options).run(nobody);
        if (comm.rank() != 0) return 0;
        std::printf("test accuracy %.1f %%\n", 100 * result.epochs.back().scores.test.share());
        std::printf("remote rows: %llu fetched, %llu found in the buffer\n",
                    static_cast<unsigned long long>(result.rows.demand),
                    static_cast<unsigned long long>(result.rows.hit));
        return 0;
    });
} catch (const rudder::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), error.exit_code();
}
