#include "schedule.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <numeric>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "rudder/core/random.hpp"

#include "seed_blocks.hpp"

namespace rudder::sample {

namespace {

/// Epochs whose order is kept per part: look-ahead and training may be in different ones.
constexpr std::size_t kept_epochs = 4;

using Order = std::shared_ptr<const std::vector<LocalId>>;

/// The vertices of a role of one part that have a target, ascending.
std::vector<LocalId> training_vertices_of(const partition::Part& part, graph::Role role) {
    const auto roles = part.roles();
    const graph::TargetView targets = part.targets();
    std::vector<LocalId> vertices;
    for (std::size_t v = 0; v < roles.size(); ++v) {
        if (roles[v] == role && is_labelled(part.info().targets, targets, v))
            vertices.push_back(static_cast<LocalId>(v));
    }
    return vertices;
}

}  // namespace

struct Schedule::Orders {
    struct OwnPart {
        PartId id;
        VertexId first;  ///< global id of its first vertex
        std::vector<LocalId> training;
        std::vector<std::size_t>
            groups;  ///< where the clusters begin among them; the last: the end
        std::list<std::pair<std::uint32_t, Order>>
            recent;  ///< by epoch, the latest asked for first
    };

    std::vector<OwnPart> parts;
    Monitor monitor;

    [[nodiscard]] OwnPart& own(PartId id) {
        const auto found =
            std::ranges::find_if(parts, [=](const OwnPart& part) { return part.id == id; });
        RUDDER_CHECK(found != parts.end());
        return *found;
    }

    [[nodiscard]] static Order make(const OwnPart& part, const ScheduleOptions& options,
                                    std::uint32_t epoch) {
        auto order = std::make_shared<std::vector<LocalId>>(part.training);
        if (!options.shuffled) return order;
        // The part's first vertex keeps the parts apart: ranges do not overlap.
        const RandomStream stream(
            {.purpose = Purpose::schedule, .seed = options.seed, .epoch = epoch});
        Draws draws(stream, part.first);
        if (options.order == SeedOrder::random) {
            shuffle(std::span(*order), draws);
        } else {
            shuffle_blocks(*order, part.groups, seed_block(options.batch), draws);
        }
        return order;
    }

    /// The order of one epoch, from the kept ones or made now.
    [[nodiscard]] Order get(PartId id, const ScheduleOptions& options, std::uint32_t epoch) {
        Monitor::Lock lock(monitor);
        OwnPart& part = own(id);
        auto& recent = part.recent;
        const auto found =
            std::ranges::find_if(recent, [=](const auto& entry) { return entry.first == epoch; });
        if (found != recent.end()) {
            recent.splice(recent.begin(), recent, found);
        } else {
            recent.emplace_front(epoch, make(part, options, epoch));
            if (recent.size() > kept_epochs) recent.pop_back();
        }
        return recent.front().second;
    }
};

Schedule::Schedule(const comm::Communicator& comm, std::span<const partition::Part> own,
                   PartId parts, const ScheduleOptions& options)
    : options_(options), training_(parts, 0), orders_(std::make_unique<Orders>()) {
    for (const partition::Part& part : own) {
        Orders::OwnPart entry{.id = part.id(),
                              .first = part.range().begin,
                              .training = training_vertices_of(part, options.role),
                              .groups = {},
                              .recent = {}};
        entry.groups = group_by_cluster(entry.training, part.clusters());
        orders_->parts.push_back(std::move(entry));
    }
    if (agree_on_steps(comm) != 0) return;
    if (options.role != graph::Role::train) {
        throw input_error(
            fmt::format("no vertex for {}",
                        options.role == graph::Role::valid ? "validation" : "testing"),
            "the partitioned data set", "import it with labels and a split that has such vertices");
    }
    throw input_error("no vertex to train on", "the partitioned data set",
                      "import it with labels and a split that has training vertices");
}

Schedule::Schedule(const comm::Communicator& comm, std::span<const partition::Part> own,
                   std::span<const std::uint64_t> links, PartId parts,
                   const ScheduleOptions& options)
    : options_(options), training_(parts, 0), orders_(std::make_unique<Orders>()) {
    RUDDER_CHECK(links.size() == own.size() && options.order == SeedOrder::random);
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (links[i] > std::numeric_limits<LocalId>::max()) {
            throw input_error(
                fmt::format("part {} has {} links to train on", own[i].id(), links[i]),
                own[i].folder().path().string(),
                "a part may have 2^32 - 1 of them: partition into more parts");
        }
        Orders::OwnPart entry{.id = own[i].id(),
                              .first = own[i].range().begin,
                              .training = std::vector<LocalId>(links[i]),
                              .groups = {},
                              .recent = {}};
        std::iota(entry.training.begin(), entry.training.end(), LocalId{0});
        orders_->parts.push_back(std::move(entry));
    }
    if (agree_on_steps(comm) == 0) {
        throw input_error(
            "no link to train on", "the partitioned data set",
            "use a graph that has edges between different vertices; for targets of edges, "
            "one whose edges for training have them");
    }
}

std::uint64_t Schedule::agree_on_steps(const comm::Communicator& comm) {
    if (options_.batch == 0)
        throw usage_error("invalid batch size: 0", "--batch", "give 1 or more");
    std::vector<std::uint64_t> mine;
    for (const Orders::OwnPart& part : orders_->parts)
        mine.insert(mine.end(), {part.id, part.training.size()});
    std::uint64_t most = 0;
    for (const auto& theirs : comm.all_gather(std::span<const std::uint64_t>(mine))) {
        for (std::size_t i = 0; i < theirs.size(); i += 2) {
            RUDDER_CHECK(theirs[i] < training_.size());
            training_[theirs[i]] = theirs[i + 1];
            most = std::max(most, theirs[i + 1]);
        }
    }
    steps_per_epoch_ = most / options_.batch + (most % options_.batch != 0 ? 1 : 0);
    return most;
}

Schedule::~Schedule() = default;

std::uint64_t Schedule::first_seed(PartId part, std::uint64_t step) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{step} * training_[part] / steps_per_epoch_);
}

std::uint64_t Schedule::seed_count(PartId part, std::uint64_t step) const noexcept {
    const std::uint64_t within = step % steps_per_epoch_;
    return first_seed(part, within + 1) - first_seed(part, within);
}

std::uint64_t Schedule::seed_count(std::uint64_t step) const noexcept {
    std::uint64_t sum = 0;
    for (PartId part = 0; part < training_.size(); ++part)
        sum += seed_count(part, step);
    return sum;
}

void Schedule::seeds(PartId part, std::uint64_t step, std::vector<VertexId>& out) const {
    const Order order = orders_->get(part, options_, epoch_of(step));
    const std::uint64_t first = first_seed(part, step % steps_per_epoch_);
    const std::uint64_t count = seed_count(part, step);
    const VertexId base = orders_->own(part).first;
    out.resize(count);
    for (std::uint64_t i = 0; i < count; ++i)
        out[i] = base + (*order)[first + i];
}

void Schedule::links(PartId part, std::uint64_t step, std::vector<LocalId>& out) const {
    const Order order = orders_->get(part, options_, epoch_of(step));
    const auto first =
        order->begin() + static_cast<std::ptrdiff_t>(first_seed(part, step % steps_per_epoch_));
    out.assign(first, first + static_cast<std::ptrdiff_t>(seed_count(part, step)));
}

void Schedule::positions(std::span<const VertexId> seeds, PartId part,
                         std::span<std::int64_t> out) const {
    const Orders::OwnPart& own = orders_->own(part);
    std::uint64_t before = 0;
    for (PartId p = 0; p < part; ++p)
        before += training_[p];
    for (std::size_t i = 0; i < seeds.size(); ++i) {
        const auto local = static_cast<LocalId>(seeds[i] - own.first);
        const auto found = std::ranges::lower_bound(own.training, local);
        out[i] = static_cast<std::int64_t>(before) + (found - own.training.begin());
    }
}

}  // namespace rudder::sample
