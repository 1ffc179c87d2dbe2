// Which training vertices, or links, are the seeds of which step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/types.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::sample {

struct ScheduleOptions {
    std::uint64_t batch = 1000;  ///< seeds per part and step, at most
    SeedOrder order = SeedOrder::random;
    std::uint64_t seed = 0;
    graph::Role role = graph::Role::train;  ///< of the vertices that become seeds
    bool shuffled = true;                   ///< else by ascending id, in every epoch
};

/// The schedule of design section 4. Each part shuffles its own training vertices (or those of
/// another role, which are meant below where training vertices are named), each epoch anew;
/// step i of an epoch is the i-th batch of every part, and an epoch has as many steps as the part
/// with most training vertices needs for batches of at most `batch`. Each part's vertices are
/// divided evenly: its batches of an epoch differ by at most one seed.
///
/// Any task may ask for any step, in any order.
class Schedule {
public:
    /// Collective over `comm`: ranks tell each other how many training vertices each part has.
    /// `own` are the parts of this rank and must outlive it. No such vertex anywhere, or a batch of
    /// 0, is an Error.
    Schedule(const comm::Communicator& comm, std::span<const partition::Part> own, PartId parts,
             const ScheduleOptions& options);
    /// The same where links are the seeds: `links` says how many to train on each own part has.
    /// In random order.
    Schedule(const comm::Communicator& comm, std::span<const partition::Part> own,
             std::span<const std::uint64_t> links, PartId parts, const ScheduleOptions& options);
    ~Schedule();

    [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept { return steps_per_epoch_; }
    [[nodiscard]] std::uint32_t epoch_of(std::uint64_t step) const noexcept {
        return static_cast<std::uint32_t>(step / steps_per_epoch_);
    }
    /// How many seeds any part, own or not, has in a global step; and all parts together.
    [[nodiscard]] std::uint64_t seed_count(PartId part, std::uint64_t step) const noexcept;
    [[nodiscard]] std::uint64_t seed_count(std::uint64_t step) const noexcept;
    /// The seeds (global ids) of an own part in a global step.
    void seeds(PartId part, std::uint64_t step, std::vector<VertexId>& out) const;
    /// Where links are: which of an own part's are those of a global step.
    void links(PartId part, std::uint64_t step, std::vector<LocalId>& out) const;
    /// Where seeds of an own part stand among all vertices that become seeds, by ascending id.
    void positions(std::span<const VertexId> seeds, PartId part, std::span<std::int64_t> out) const;
    /// Training vertices (or links) of any part, own or not.
    [[nodiscard]] std::uint64_t training_vertices(PartId part) const noexcept {
        return training_[part];
    }

private:
    /// Collective, once the own parts are there: steps, and what the part with most has.
    std::uint64_t agree_on_steps(const comm::Communicator& comm);
    /// The place in a part's order where the batch of a step within an epoch begins.
    [[nodiscard]] std::uint64_t first_seed(PartId part, std::uint64_t step) const noexcept;

    struct Orders;
    ScheduleOptions options_;
    std::vector<std::uint64_t> training_;  ///< by part
    std::uint64_t steps_per_epoch_ = 0;
    std::unique_ptr<Orders> orders_;  ///< of the own parts, the epochs asked for last
};

}  // namespace rudder::sample
