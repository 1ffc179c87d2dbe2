// Samples the batches of a schedule's steps, whether their seeds are vertices or links.
#pragma once

#include <vector>

#include "link_seeds.hpp"
#include "sampler.hpp"
#include "schedule.hpp"

namespace rudder::sample {

/// One task uses it; what is given must outlive it.
class BatchSampler {
public:
    BatchSampler(const Schedule& schedule, const NeighbourSource& source,
                 const SamplerOptions& options)
        : schedule_(schedule), links_(options.links), sampler_(source, options) {}

    /// The batch of an own part in a global step.
    void sample(PartId part, std::uint64_t step, Batch& out) {
        const BatchKey key{schedule_.epoch_of(step), step, part};
        if (links_ == nullptr) {
            schedule_.seeds(part, step, seeds_);
            sampler_.sample(key, seeds_, out);
        } else {
            schedule_.links(part, step, scratch_.places);
            sampler_.sample_links(key, links_->lay_out(key, scratch_), out);
        }
    }
    /// Instead of that batch one without seeds: nothing is drawn.
    void sample_nothing(PartId part, std::uint64_t step, Batch& out) {
        const BatchKey key{schedule_.epoch_of(step), step, part};
        if (links_ == nullptr) {
            sampler_.sample(key, {}, out);
        } else {
            scratch_.places.clear();
            sampler_.sample_links(key, links_->lay_out(key, scratch_), out);
        }
    }

private:
    const Schedule& schedule_;
    const LinkSeeds* links_;
    NeighbourSampler sampler_;
    std::vector<VertexId> seeds_;
    LinkSeeds::Scratch scratch_;
};

}  // namespace rudder::sample
