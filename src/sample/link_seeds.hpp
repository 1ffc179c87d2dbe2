// Links as the seeds of batches: the vertices that a batch of them asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/sample/batch.hpp"

#include "links.hpp"
#include "sampler.hpp"

namespace rudder::sample {

/// The links of one role of a rank's parts, and what is drawn beside them. Any task may ask.
class LinkSeeds {
public:
    /// What a batch is asked about its links.
    enum class Question : std::uint8_t {
        joined,   ///< whether they are: their edges are left out of what is drawn
        carried,  ///< what they carry: nothing is left out, nor drawn beside them
    };

    /// What is given must outlive it. `seed` is the run's; a link is an edge of both of its
    /// vertices where that is `symmetric`, or in a graph of several types goes back.
    LinkSeeds(std::span<const partition::Part> own, std::span<const PartLinks> links,
              const PairOptions& pairs, bool symmetric, std::uint64_t seed,
              graph::Role role = graph::Role::train, Question question = Question::joined,
              const std::optional<LinkTypes>& types = {})
        : own_(own),
          links_(links),
          pairs_(pairs),
          symmetric_(symmetric || (types && types->reverse)),
          seed_(seed),
          role_(role),
          question_(question),
          types_(types) {}

    /// Memory of one task.
    struct Scratch {
        std::vector<LocalId> places;
        RawVector<VertexId> sources;
        RawVector<VertexId> targets;
        RawVector<VertexId> ids;
    };

    /// The batch of the links of an own part that scratch.places say; the draws beside them are
    /// keyed by the batch, and by the place of a link in it.
    [[nodiscard]] LinkIds lay_out(const BatchKey& key, Scratch& scratch) const;
    /// Pairs of each link: it, and those beside it.
    [[nodiscard]] std::uint32_t group() const noexcept { return pairs_.count + 1; }

private:
    std::span<const partition::Part> own_;
    std::span<const PartLinks> links_;
    PairOptions pairs_;
    bool symmetric_;
    std::uint64_t seed_;
    graph::Role role_;
    Question question_;
    std::optional<LinkTypes> types_;
};

}  // namespace rudder::sample
