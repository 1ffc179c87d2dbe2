#include "collector.hpp"

#include "rudder/core/check.hpp"
#include "rudder/core/random.hpp"

#include "prompt_collector.hpp"
#include "sample_collector.hpp"

namespace rudder::steer {

Collector::~Collector() = default;

void Collector::start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) {
    published_ = buffer.next_step();
    helm_->start(facts, buffer);
}

void Collector::published(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    RUDDER_CHECK(step == published_);
    coming_.push_back(rows);
    ++published_;
    tell(step, rows);
    helm_->published(step, rows);
}

buffer::PilotOrder Collector::before(std::uint64_t step, const buffer::IdBuffer& buffer) {
    buffer::PilotOrder order = helm_->before(step, buffer);
    try_step({step, buffer, coming_.front(), order});
    return order;
}

void Collector::after(std::uint64_t step, const Rows& accounts) {
    helm_->after(step, accounts);
    static_cast<void>(helm_->take_records(false));
    taken(coming_.front(), accounts);
    coming_.pop_front();
}

bool Collector::drawn(std::uint64_t step) const {
    const RandomStream stream({.purpose = Purpose::steer, .seed = options_.seed, .layer = 1});
    Draws draws(stream, (std::uint64_t{host_} << 40) + step);
    return draws.below(options_.stride) == 0;
}

std::unique_ptr<Collector> make_collector(HelmOptions helm, const CollectOptions& options) {
    if (options.purpose == CollectFor::llm)
        return std::make_unique<PromptCollector>(std::move(helm), options);
    return std::make_unique<SampleCollector>(std::move(helm), options);
}

}  // namespace rudder::steer
