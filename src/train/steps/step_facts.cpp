#include "step_facts.hpp"

#include <algorithm>

#include "steering.hpp"

namespace rudder::train {

sample::LookAheadOptions look_ahead_of(const Ground& ground, std::uint64_t first) {
    sample::LookAheadOptions options;
    options.window = steps_ahead(ground.options);
    options.first_step = std::min(first, ground.steps());
    options.last_step = ground.steps();
    options.max_bytes = ground.queue_limit();
    options.tasks = sampling_tasks(ground.options);
    options.most_tasks = Steering::most_sample_tasks(ground.options);
    for (PartId p = ground.share.first; p < ground.share.last; ++p)
        options.parts.push_back(p);
    return options;
}

void note_step(const AssembledStep& step, Pipeline& pipeline, StepRecord& record) {
    record.rows = step.counts;
    record.bytes_by_owner = step.bytes_by_owner;
    record.buffered = step.knobs.has_value();
    if (step.knobs) record.knobs = *step.knobs;
    record.knobs.bulk = pipeline.bulk();
    record.knobs.sample_threads = static_cast<std::uint64_t>(pipeline.look_ahead().tasks());
    record.knobs.fetch_threads = pipeline.fetch_tasks();
    record.knobs.demand_first = pipeline.demand_first() ? 1 : 0;
    record.knobs.in_flight = pipeline.in_flight();
    record.seconds.sample = step.sampled.seconds;
    record.seconds.fetch = step.fetch_seconds;
    for (const sample::Batch& batch : step.sampled.batches)
        record.edges += batch.edges();
}

}  // namespace rudder::train
