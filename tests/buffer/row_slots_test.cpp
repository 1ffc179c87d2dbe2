// The feature rows of a buffer: whatever a policy plans, a step reads what the store has.
#include "buffer/live/row_slots.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "rudder/buffer/id_buffer.hpp"
#include "rudder/core/random.hpp"
#include "store/suite.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t run_steps = 14;

/// What is drawn for one run.
struct SlotsCase {
    std::string policy = "lru";
    buffer::SlotId slots = 20;
    std::uint64_t seed = 0;
    std::uint64_t in_flight = 1;  ///< steps planned and not read yet
    bool change_capacity = false;
    bool cut = false;  ///< memory is given back now and then
};

/// One step between its plan and the end of its reading.
struct OpenStep {
    std::vector<buffer::RowKey> rows;
    buffer::RowSlots::Sources sources;
};

class SlotsRun {
public:
    SlotsRun(const comm::Communicator& comm, const partition::PartitionedDataset& data,
             const SlotsCase& drawn)
        : comm_(comm),
          data_(data),
          drawn_(drawn),
          store_(comm, data, {}),
          numbering_(data.info().vertices, halo()),
          slots_(store_, drawn.slots) {}

    void run() {
        const RandomStream stream({Purpose::test, drawn_.seed, 41});
        Draws draws(stream, static_cast<std::uint64_t>(comm_.rank()));
        for (auto& step : steps_)
            draw(draws, step);
        const std::vector<std::uint32_t> degree(numbering_.halo(), 1);
        buffer::IdBuffer ids(buffer::PolicySpec::parse(drawn_.policy), {&numbering_, degree},
                             drawn_.slots, drawn_.slots);
        background(ids.fill());
        std::deque<OpenStep> open;
        std::uint64_t published = 0;
        for (std::uint64_t s = 0; s < run_steps; ++s) {
            for (; published < run_steps && published <= s + ids.horizon(); ++published)
                ids.publish(published, steps_[published]);
            if (drawn_.change_capacity && draws.below(4) == 0) {
                background(ids.set_capacity(
                    static_cast<buffer::SlotId>(draws.below(drawn_.slots + std::uint64_t{1}))));
            }
            if (drawn_.cut && s % 3 == 2 && ids.residents().capacity() > 0) {
                const auto most =
                    static_cast<buffer::SlotId>(draws.below(ids.residents().capacity()));
                slots_.give_back(most);
                EXPECT_EQ(slots_.slot_bytes(), most * store_.format().row_bytes());
                background(ids.cut(most));
            }
            slots_.wait_for_room();
            EXPECT_LE(slots_.queued_rows(), drawn_.slots);
            OpenStep& step = open.emplace_back();
            const buffer::StepPlan& plan = ids.advance({draws.below(2) == 0, 1});
            step.rows = steps_[s];
            step.sources.demand_by_owner.assign(static_cast<std::size_t>(comm_.size()), 0);
            slots_.note_uses(plan, s);
            slots_.plan_step(plan, step.rows, numbering_, step.sources);
            EXPECT_EQ(step.sources.demand, step.rows.size() - plan.hits);
            background(plan);
            slots_.ask(step.sources);
            if (open.size() < drawn_.in_flight) continue;
            read(open.front());
            open.pop_front();
        }
        for (OpenStep& step : open)
            read(step);
        slots_.finish();
        fetched_ = ids.accounts().fetched();
        comm_.barrier();
        store_.stop();
    }

    [[nodiscard]] std::uint64_t wrong() const noexcept { return wrong_; }
    [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }
    [[nodiscard]] std::uint64_t asked() const noexcept { return asked_; }
    [[nodiscard]] std::uint64_t fetched() const noexcept { return fetched_; }

private:
    /// All rows of other hosts.
    [[nodiscard]] std::vector<VertexId> halo() const {
        std::vector<VertexId> ids;
        for (VertexId v = 0; v < data_.info().vertices; ++v) {
            if (!store_.local(v)) ids.push_back(v);
        }
        return ids;
    }

    void draw(Draws& draws, std::vector<buffer::RowKey>& step) const {
        std::vector<bool> in(numbering_.size(), false);
        for (std::uint64_t i = draws.below(40); i-- > 0;) {
            const double u = draws.uniform();
            const auto row = static_cast<buffer::RowKey>(u * u * numbering_.size());
            if (!in[row]) step.push_back(row);
            in[row] = true;
        }
    }

    void background(const buffer::StepPlan& plan) {
        std::vector<std::uint64_t> by_owner(static_cast<std::size_t>(comm_.size()), 0);
        slots_.plan_background(plan.replacement, numbering_, by_owner);
        slots_.plan_background(plan.ahead, numbering_, by_owner);
        EXPECT_EQ(by_owner[static_cast<std::size_t>(comm_.rank())], 0U);
        for (const std::uint64_t rows : by_owner)
            asked_ += rows;
    }

    void read(OpenStep& step) {
        slots_.wait(step.sources);
        for (const std::uint64_t rows : step.sources.demand_by_owner)
            asked_ += rows;
        for (std::size_t i = 0; i < step.rows.size(); ++i) {
            const VertexId v = numbering_.vertex(step.rows[i]);
            const partition::Part part = data_.part(data_.book().owner(v));
            const auto stored = part.features().row(v - part.range().begin);
            ++compared_;
            wrong_ +=
                std::memcmp(step.sources.rows[i], stored.data(), stored.size()) == 0 ? 0U : 1U;
        }
        slots_.done(step.sources);
    }

    const comm::Communicator& comm_;
    const partition::PartitionedDataset& data_;
    SlotsCase drawn_;
    store::FeatureStore store_;
    buffer::RowNumbering numbering_;
    buffer::RowSlots slots_;
    std::array<std::vector<buffer::RowKey>, run_steps> steps_;
    std::uint64_t wrong_ = 0;
    std::uint64_t compared_ = 0;
    std::uint64_t asked_ = 0;
    std::uint64_t fetched_ = 0;
};

class RowSlotsOf : public testing::Test {
protected:
    static std::filesystem::path made(const TempDir& temp, std::uint32_t width) {
        static_cast<void>(store_data(temp.path(), {.width = width, .type = ElementType::f32}));
        return temp / "parts";
    }
    static const std::filesystem::path& folder() {
        static const TempDir temp;
        static const std::filesystem::path path = made(temp, 5);
        return path;
    }

    static void expect_rows(const SlotsCase& drawn, const comm::SimulationOptions& options,
                            const std::filesystem::path& folder = RowSlotsOf::folder()) {
        SCOPED_TRACE(drawn.policy + ", seed " + std::to_string(drawn.seed));
        std::uint64_t compared = 0;
        comm::SimulatedCluster cluster(options);
        cluster.run([&](const comm::Communicator& comm) {
            const partition::PartitionedDataset data(folder);
            SlotsRun run(comm, data, drawn);
            run.run();
            EXPECT_EQ(run.wrong(), 0U);
            EXPECT_EQ(run.asked(), run.fetched());
            compared += run.compared();
        });
        EXPECT_GT(compared, 100U);
    }
};

const std::vector<std::string> slot_policies{"none",     "lru",           "lfu",
                                             "clock",    "static-degree", "scored,every:2",
                                             "window:1", "window:4",      "window:8,distance:4"};

TEST_F(RowSlotsOf, EveryPolicyHoldTheRowsOfTheStore) {
    for (const std::string& policy : slot_policies)
        expect_rows({.policy = policy}, {.ranks = 2, .seed = 1});
}

TEST_F(RowSlotsOf, StepsThatOverlapReadWhatWasThereForThem) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const SlotsCase drawn{.policy = slot_policies[seed % slot_policies.size()],
                              .slots = static_cast<buffer::SlotId>(1 + seed % 30),
                              .seed = seed,
                              .in_flight = 1 + seed % 4,
                              .change_capacity = seed % 2 == 0};
        comm::SimulationOptions options{.ranks = 2, .seed = seed, .jitter = 500us};
        if (seed % 3 == 0) options.link = comm::parse_link("50us,1gbit");
        expect_rows(drawn, options);
    }
}

/// A row takes more than a page here, so that every slot that is given back loses its row.
TEST_F(RowSlotsOf, MemoryIsGivenBackOnceItWasRead) {
    const TempDir temp;
    const std::filesystem::path wide = made(temp, 2048);
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const SlotsCase drawn{.policy = slot_policies[seed % slot_policies.size()],
                              .slots = 60,
                              .seed = seed,
                              .in_flight = 1 + seed % 4,
                              .cut = true};
        expect_rows(drawn, {.ranks = 2, .seed = seed, .jitter = 500us}, wide);
    }
}

TEST_F(RowSlotsOf, FourRanksOfTwoHosts) {
    expect_rows({.policy = "window:4", .in_flight = 3},
                {.ranks = 4, .ranks_per_host = 2, .seed = 7, .jitter = 200us});
}

TEST_F(RowSlotsOf, NoSlotsAtAll) {
    expect_rows({.policy = "lru", .slots = 0, .in_flight = 2}, {.ranks = 2, .seed = 3});
}

TEST_F(RowSlotsOf, ABufferMayBeDroppedWithRowsUnderWay) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 5, .jitter = 2ms});
    cluster.run([&](const comm::Communicator& comm) {
        const partition::PartitionedDataset data(folder());
        store::FeatureStore store(comm, data, {});
        std::vector<VertexId> halo;
        for (VertexId v = 0; v < data.info().vertices; ++v) {
            if (!store.local(v)) halo.push_back(v);
        }
        const buffer::RowNumbering numbering(data.info().vertices, halo);
        {
            buffer::RowSlots slots(store, 8);
            EXPECT_EQ(slots.slot_bytes(), 8 * store.format().row_bytes());
            std::vector<std::uint64_t> by_owner(2, 0);
            const std::vector<buffer::Placed> placed{{0, 0}, {1, 5}};
            slots.plan_background(placed, numbering, by_owner);
            slots.plan_background({}, numbering, by_owner);
            EXPECT_EQ(by_owner[comm.rank() == 0 ? 1 : 0], 2U);
        }
        comm.barrier();
        store.stop();
    });
}

}  // namespace
}  // namespace rudder::test
