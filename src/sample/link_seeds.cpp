#include "link_seeds.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

namespace rudder::sample {

LinkIds LinkSeeds::lay_out(const BatchKey& key, Scratch& scratch) const {
    const auto part = std::ranges::find_if(
        own_, [&](const partition::Part& own) { return own.id() == key.part; });
    RUDDER_CHECK(part != own_.end());
    const LinkList& list = links_[static_cast<std::size_t>(part - own_.begin())].of(role_);
    const VertexId first = part->range().begin;
    scratch.sources.resize(scratch.places.size());
    scratch.targets.resize(scratch.places.size());
    for (std::size_t i = 0; i < scratch.places.size(); ++i) {
        scratch.sources[i] = first + list.sources[scratch.places[i]];
        scratch.targets[i] = list.targets[scratch.places[i]];
    }
    // Layer 0 is of vertices' roles, 1 of links'.
    const StreamKey stream{.purpose = Purpose::split,
                           .seed = seed_,
                           .epoch = key.epoch,
                           .step = key.step,
                           .layer = key.part + 2};
    lay_out_pairs(stream, pairs_, scratch.sources, scratch.targets, scratch.ids);
    return {scratch.ids, pairs_.count + 2, symmetric_, question_ == Question::joined, types_};
}

}  // namespace rudder::sample
