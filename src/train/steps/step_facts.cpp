#include "step_facts.hpp"

#include <algorithm>

#include "core/field_parts.hpp"

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
    put_part(record.knobs, pipeline.times());
    record.seconds.sample = step.sampled.seconds;
    record.seconds.fetch = step.fetch_seconds;
    for (const sample::Batch& batch : step.sampled.batches)
        record.edges += batch.edges();
}

}  // namespace rudder::train
