// What a run will need: memory from the sizes of things, traffic from a few steps sampled ahead.
#include <algorithm>

#include "core/span.hpp"
#include "sample/batch_sampler.hpp"

#include "trainer_state.hpp"

namespace rudder::train {

namespace {

constexpr std::uint64_t steps_looked_at = 4;

/// What this rank's batches of a few steps need, per step.
struct Samples {
    double rows = 0;
    double remote = 0;
    double row_bytes = 0;    ///< of the largest step, assembled
    double batch_bytes = 0;  ///< of the largest step's blocks
    double edges = 0;        ///< of that step
    double activations = 0;  ///< of the largest batch
    double device = 0;       ///< likewise, on the device
};

Samples sample_steps(const Ground& g, const nn::Network& network, std::uint64_t steps) {
    Samples own;
    sample::BatchSampler sampler(g.schedule, *g.source, g.sampler_options());
    sample::Batch batch;
    RawVector<VertexId> memory;
    for (std::uint64_t step = 0; step < steps; ++step) {
        double rows = 0;
        double bytes = 0;
        double edges = 0;
        for (const partition::Part& part : g.parts) {
            sampler.sample(part.id(), step, batch);
            rows += static_cast<double>(batch.vertices.size());
            own.remote += static_cast<double>(
                std::ranges::count_if(sample::distinct_vertices(batch, memory),
                                      [&](VertexId v) { return !g.store.local(v); }));
            bytes += static_cast<double>(batch.bytes());
            edges += static_cast<double>(batch.edges());
            own.activations =
                std::max(own.activations, static_cast<double>(network.activation_bytes(batch)));
            const std::uint64_t staged = g.options.in_flight * g.parts.size();
            own.device =
                std::max(own.device, static_cast<double>(network.device_bytes(batch, staged)));
        }
        own.rows += rows;
        const double floats = rows * static_cast<double>(g.store.format().row_floats());
        own.row_bytes = std::max(own.row_bytes, floats * sizeof(float));
        if (bytes > own.batch_bytes) {
            own.batch_bytes = bytes;
            own.edges = edges;
        }
    }
    return own;
}

/// What a rank needs, and what its batches need per epoch.
struct Figures {
    double rows, remote, network, in_flight, queue, queue_asked, memory, topology, store, buffer;
    double evaluation;
    double bookkeeping, remote_vertices, edges_ahead, device;
    int host;
};

/// Collective: rows of all ranks, and the bytes of the host that needs most.
TrainPlan fullest_host(const comm::Communicator& comm, const Figures& own, bool replicated) {
    TrainPlan all;
    std::vector<TrainPlan> hosts(static_cast<std::size_t>(comm.hosts().hosts()));
    for (const auto& each : comm.all_gather(std::span<const Figures>(&own, 1))) {
        const Figures& f = each.front();
        all.rows += f.rows;
        all.remote_rows += f.remote;
        TrainPlan& host = hosts[static_cast<std::size_t>(f.host)];
        host.network_bytes += static_cast<std::uint64_t>(f.network);
        host.in_flight_bytes += static_cast<std::uint64_t>(f.in_flight);
        host.buffer_bytes += static_cast<std::uint64_t>(f.buffer);
        host.bookkeeping_bytes += static_cast<std::uint64_t>(f.bookkeeping);
        host.remote_vertices += static_cast<std::uint64_t>(f.remote_vertices);
        host.queue_bytes += static_cast<std::uint64_t>(f.queue);
        host.queue_asked_bytes += static_cast<std::uint64_t>(f.queue_asked);
        host.edges_ahead += static_cast<std::uint64_t>(f.edges_ahead);
        host.device_bytes += static_cast<std::uint64_t>(f.device);
        host.evaluation_bytes += static_cast<std::uint64_t>(f.evaluation);
        host.memory_bytes = static_cast<std::uint64_t>(f.memory);
        host.store_bytes = static_cast<std::uint64_t>(f.store);
        // A replicated topology is one per host, a partitioned one the sum of its ranks'.
        const auto topology = static_cast<std::uint64_t>(f.topology);
        host.topology_bytes = replicated ? topology : host.topology_bytes + topology;
    }
    TrainPlan plan = *std::ranges::max_element(
        hosts, {}, [](const TrainPlan& host) { return host.needed_bytes(); });
    plan.rows = all.rows;
    plan.remote_rows = all.remote_rows;
    return plan;
}

}  // namespace

TrainPlan Trainer::plan() {
    const Span span("planning");
    State& s = *state_;
    const Ground& g = s.ground;
    const std::uint64_t looked_at = std::min(steps_looked_at, g.schedule.steps_per_epoch());
    const Samples own = sample_steps(g, s.learner.network(), looked_at);
    const std::uint64_t parameters = s.learner.weights().size();
    const auto steps = static_cast<double>(std::max<std::uint64_t>(looked_at, 1));
    const double epoch = static_cast<double>(g.schedule.steps_per_epoch()) / steps;
    const double weights = static_cast<double>(parameters) * sizeof(float);
    // Weights, their sum of gradients, two memories of the optimiser, a gradient per own part.
    const double rows = s.rows == nullptr ? 0 : static_cast<double>(s.rows->bytes());
    const double network =
        weights * (4.0 + static_cast<double>(g.parts.size())) + own.activations + rows;
    const double in_flight = own.row_bytes * static_cast<double>(g.options.in_flight);
    // As far as the policy sees, and the steps that are drawn meanwhile.
    const std::uint64_t seen = buffer::horizon_of(s.buffer.policy) + 1 +
                               static_cast<std::uint64_t>(sampling_tasks(g.options));
    const std::uint64_t ahead = std::max(steps_ahead(g.options), s.buffer.used ? seen : 0);
    const auto waiting = static_cast<double>(ahead + g.options.in_flight);
    const double asked = own.batch_bytes * waiting;
    const double queue = std::min(asked, static_cast<double>(g.queue_limit()));
    const double fits = own.batch_bytes == 0 ? 0 : queue / own.batch_bytes;  // steps
    const buffer::BookkeepingBytes books = buffer::bookkeeping_bytes(
        s.buffer.policy, bookkeeping_shape(g, s.buffer, {own.remote / steps, own.rows / steps}));
    const Figures figures{own.rows * epoch,
                          own.remote * epoch,
                          network,
                          in_flight,
                          queue,
                          asked,
                          static_cast<double>(g.memory()),
                          static_cast<double>(g.source->bytes()),
                          static_cast<double>(g.store.bytes()),
                          static_cast<double>(s.buffer.slots * g.store.format().row_bytes()),
                          static_cast<double>(s.evaluation.planned_bytes()),
                          static_cast<double>(books.sum()),
                          books.sum() == 0 ? 0 : static_cast<double>(remote_vertices(g, s.buffer)),
                          own.edges * fits,
                          own.device,
                          g.comm.hosts().host_of(g.comm.rank())};
    TrainPlan plan = fullest_host(g.comm, figures, g.source->name() == "replicated");
    plan.steps_per_epoch = g.schedule.steps_per_epoch();
    plan.parameters = parameters;
    plan.topology = g.source->name();
    const store::RowFormat& format = g.store.format();
    plan.feature_bytes =
        plan.remote_rows *
        (g.coders.used() ? format.message_bytes() : static_cast<double>(format.row_bytes()));
    const auto ranks = static_cast<double>(g.comm.size());
    // Each rank sends its contributions once and gets the sum once, less its own piece.
    plan.gradient_bytes = static_cast<double>(plan.steps_per_epoch) * weights * (ranks - 1) *
                          (1 + static_cast<double>(g.parts.size()));
    plan.coded = g.coders.used();
    g.comm.barrier();  // nobody asks any more, whatever comes next
    return plan;
}

}  // namespace rudder::train
