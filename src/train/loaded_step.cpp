#include "loaded_step.hpp"

#include <utility>

namespace rudder::train {

void list_edges(const sample::Batch& batch, LoadedBatch& loaded) {
    const std::uint64_t count = batch.edges();
    loaded.edges.resize(2 * count);
    std::int64_t* source = loaded.edges.data();
    std::int64_t* destination = source + count;
    for (std::size_t b = batch.blocks.size(); b-- > 0;) {
        const sample::Block& block = batch.blocks[b];
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const std::uint32_t end = block.offsets[d + std::size_t{1}];
            for (std::uint32_t e = block.offsets[d]; e < end; ++e) {
                *source++ = block.neighbours[e];
                *destination++ = d;
            }
        }
    }
}

std::shared_ptr<LoadedStep> StepPool::take() {
    std::unique_ptr<LoadedStep> step;
    {
        const std::scoped_lock lock(mutex_);
        if (!free_.empty()) {
            step = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (step == nullptr) step = std::make_unique<LoadedStep>();
    const auto back = [pool = weak_from_this()](LoadedStep* held) {
        std::unique_ptr<LoadedStep> owned(held);
        if (const auto alive = pool.lock()) alive->give_back(std::move(owned));
    };
    return {step.release(), back};
}

std::size_t StepPool::kept() const {
    const std::scoped_lock lock(mutex_);
    return free_.size();
}

void StepPool::give_back(std::unique_ptr<LoadedStep> step) {
    const std::scoped_lock lock(mutex_);
    if (free_.size() < most_) free_.push_back(std::move(step));
}

}  // namespace rudder::train
