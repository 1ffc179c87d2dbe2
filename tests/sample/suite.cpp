#include "sample/suite.hpp"

#include <map>
#include <mutex>
#include <stdexcept>

#include "rudder/core/checksum.hpp"
#include "sample/bed.hpp"
#include "sample/look_ahead.hpp"

namespace rudder::test {

namespace {

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

/// Steps as samplers publish them, while the test takes others.
class PublishedSteps {
public:
    void add(std::uint64_t step) {
        const std::scoped_lock lock(mutex_);
        steps_.push_back(step);
    }
    [[nodiscard]] bool has(std::uint64_t step) {
        const std::scoped_lock lock(mutex_);
        return steps_.size() > step && steps_[step] == step;
    }

private:
    std::mutex mutex_;
    std::vector<std::uint64_t> steps_;
};

/// Takes every step and notes the digests of its batches, by step and part.
std::vector<std::uint64_t> take_all(sample::LookAhead& queue, std::uint64_t steps,
                                    PublishedSteps& published) {
    std::vector<std::uint64_t> digests;
    for (std::uint64_t t = 0; t < steps; ++t) {
        sample::SampledStep step = queue.take();
        require(step.step == t, "steps come in order");
        require(published.has(t), "steps are published before, in order");
        for (const sample::Batch& batch : step.batches)
            digests.insert(digests.end(), {t, batch.key.part, digest(batch)});
        if (t % 3 != 0) queue.recycle(std::move(step));
    }
    require(queue.take().step == steps, "an empty step past the last");
    return digests;
}

/// One text out of what all ranks have.
std::string combine(const comm::Communicator& comm, const std::vector<std::uint64_t>& mine) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> all;
    for (const auto& theirs : comm.all_gather(std::span<const std::uint64_t>(mine))) {
        for (std::size_t i = 0; i < theirs.size(); i += 3)
            all[{theirs[i], theirs[i + 1]}] = theirs[i + 2];
    }
    ChecksumStream sum;
    for (const auto& [key, value] : all)
        sum.update(std::as_bytes(std::span(&value, 1)));
    return to_hex(sum.finish()) + " of " + std::to_string(all.size()) + " batches";
}

}  // namespace

std::vector<partition::Part> own_parts(const comm::Communicator& comm,
                                       const partition::PartitionedDataset& data) {
    const PartId each = data.parts() / static_cast<PartId>(comm.size());
    std::vector<partition::Part> own;
    for (PartId i = 0; i < each; ++i)
        own.push_back(data.part(static_cast<PartId>(comm.rank()) * each + i));
    return own;
}

std::string run_sampling(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                         const SamplingRun& options) {
    const std::vector<partition::Part> own = own_parts(comm, data);
    const bool timed = options.temporal != sample::Temporal::off;
    const graph::FeatureInfo features =
        options.edge_features ? data.info().edge_features : graph::FeatureInfo{};
    const sample::SourceCarries carries{
        .weights = options.weighted, .times = timed, .features = features};
    const sample::SeedTimes times = timed ? sample::SeedTimes(own) : sample::SeedTimes();
    const auto source =
        options.partitioned
            ? sample::make_partitioned_source(comm, data.book(), own, false,
                                              comm::Coders(comm, options.coding).topology, carries)
            : sample::make_replicated_source(comm, data.book(), own, carries);
    const sample::Schedule schedule(comm, own, data.parts(),
                                    {.batch = options.batch, .order = options.order, .seed = 5});
    const std::uint64_t steps = schedule.steps_per_epoch() * 3 + 1;
    PublishedSteps published;
    sample::LookAheadOptions ahead;
    ahead.window = options.window;
    ahead.last_step = steps;
    ahead.tasks = options.tasks;
    ahead.max_bytes = options.max_bytes;
    for (const partition::Part& part : own)
        ahead.parts.push_back(part.id());
    ahead.published = [&](const sample::SampledStep& step) { published.add(step.step); };
    std::string text;
    {
        sample::LookAhead queue(schedule, *source,
                                {.fanout = {3, 5},
                                 .sampler = options.sampler,
                                 .redraw = options.redraw,
                                 .seed = 9,
                                 .weighted = options.weighted,
                                 .edge_features = features,
                                 .temporal = options.temporal,
                                 .times = &times},
                                ahead);
        text = combine(comm, take_all(queue, steps, published));
    }
    source->stop();
    return text;
}

}  // namespace rudder::test
