#include "floor.hpp"

#include "rudder/buffer/replay.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

namespace {

/// Writes down what each step fetched; changes nothing.
class FetchRecorder final : public BufferPilot {
public:
    void start(const PolicyFacts& /*facts*/, const IdBuffer& /*buffer*/) override {}
    void published(std::uint64_t /*step*/, std::span<const RowKey> /*rows*/) override {}
    PilotOrder before(std::uint64_t /*step*/, const IdBuffer& /*buffer*/) override { return {}; }
    void after(std::uint64_t /*step*/, const Rows& accounts) override {
        rows.push_back(static_cast<double>(accounts.fetched() - before_));
        before_ = accounts.fetched();
    }

    std::vector<double> rows;

private:
    std::uint64_t before_ = 0;
};

}  // namespace

FloorSteps floor_steps(const Trace& trace) {
    FloorSteps floor;
    floor.first_step = trace.front()->header().first_step;
    for (const auto& host : trace) {
        if (host->header().capacity == 0) {
            throw usage_error("the trace does not say how large the buffer was", "trace",
                              "train with a policy that has a buffer");
        }
    }
    std::vector<FetchRecorder> recorders(trace.size());
    const PolicySpec optimal = PolicySpec::parse("optimal");
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const HostTrace& host = *trace[chunk.index];
        static_cast<void>(
            replay_host(host, optimal, host.header().capacity, &recorders[chunk.index]));
    });
    for (const FetchRecorder& recorder : recorders) {
        floor.rows.resize(std::max(floor.rows.size(), recorder.rows.size()));
        for (std::size_t i = 0; i < recorder.rows.size(); ++i)
            floor.rows[i] += recorder.rows[i];
    }
    return floor;
}

}  // namespace rudder::buffer
