#include "buffer_setup.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "buffer/fitting_window.hpp"
#include "buffer/inclusion.hpp"
#include "comm/together.hpp"
#include "core/span.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "sample/batch_sampler.hpp"

#include "buffer_size.hpp"

namespace rudder::train {

namespace {

/// Steps that are sampled to estimate inclusion where no rank holds the whole graph.
constexpr std::uint64_t presampled_steps = 32;

bool shared(const Ground& g) {
    return g.options.buffer_scope == buffer::BufferScope::host && g.comm.host().size() > 1;
}

bool first(const Ground& g) {
    return !shared(g) || g.comm.host().rank() == 0;
}

/// Whether the buffer may be asked for the row of a vertex.
bool buffered(const Ground& g, VertexId v) {
    return !g.store.local(v) && !g.store.learned().contains(v);
}

void join_ranges(std::vector<buffer::LocalRange>& ranges) {
    std::ranges::sort(ranges, {}, &buffer::LocalRange::begin);
    std::vector<buffer::LocalRange> joined;
    for (const buffer::LocalRange& range : ranges) {
        if (!joined.empty() && joined.back().end >= range.begin) {
            joined.back().end = std::max(joined.back().end, range.end);
        } else {
            joined.push_back(range);
        }
    }
    ranges = std::move(joined);
}

/// The stretches of vertices on this host, and how many of its parts share the buffer. Learned rows
/// change with every step that reads them: wherever they lie, none is kept.
void find_local(const Ground& g, BufferSetup& setup) {
    const partition::PartitionBook& book = g.data.book();
    const int here = g.comm.global_rank(g.comm.rank());
    setup.parts = 0;
    for (PartId p = 0; p < book.parts(); ++p) {
        const int rank = partition::rank_of(p, book.parts(), g.comm.size());
        if (!g.comm.hosts().same(here, g.comm.global_rank(rank))) continue;
        if (shared(g) || rank == g.comm.rank()) ++setup.parts;
        const auto range = book.range(p);
        setup.local.push_back({range.begin, range.end});
    }
    for (const store::LearnedSet::Stretch& of : g.store.learned().stretches())
        setup.apart.push_back({of.begin, of.end});
    setup.local.insert(setup.local.end(), setup.apart.begin(), setup.apart.end());
    join_ranges(setup.local);
    join_ranges(setup.apart);
}

/// Remote vertices next to the parts that share the buffer; on the first rank.
std::vector<VertexId> find_halo(const Ground& g) {
    std::vector<VertexId> own;
    for (const partition::Part& part : g.parts) {
        std::ranges::copy_if(part.halo(), std::back_inserter(own),
                             [&](VertexId v) { return buffered(g, v); });
    }
    std::vector<VertexId> halo;
    if (shared(g)) {
        const auto all =
            g.comm.host().gather(0, std::span<const VertexId>(own), comm::Kind::topology);
        for (const auto& of_rank : all)
            halo.insert(halo.end(), of_rank.begin(), of_rank.end());
    } else {
        halo = std::move(own);
    }
    std::sort(halo.begin(), halo.end());
    halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
    return halo;
}

/// The degree of each vertex, told by its owner.
std::vector<std::uint32_t> find_degrees(const Ground& g, std::span<const VertexId> halo) {
    comm::PerRank<VertexId> asked(static_cast<std::size_t>(g.comm.size()));
    for (const VertexId v : halo)
        asked[static_cast<std::size_t>(g.store.owner(v))].push_back(v);
    const auto questions = g.comm.all_to_all(asked, comm::Kind::topology);
    comm::PerRank<std::uint32_t> answers(questions.size());
    for (std::size_t r = 0; r < questions.size(); ++r) {
        for (const VertexId v : questions[r]) {
            const auto part = std::ranges::find_if(
                g.parts, [v](const partition::Part& own) { return own.range().contains(v); });
            const VertexId row = v - part->range().begin;
            const EdgeIndex degree = part->offsets()[row + 1] - part->offsets()[row];
            answers[r].push_back(static_cast<std::uint32_t>(
                std::min<EdgeIndex>(degree, std::numeric_limits<std::uint32_t>::max())));
        }
    }
    const auto told = g.comm.all_to_all(answers, comm::Kind::topology);
    // Owners have ascending ranges, so their answers follow each other as the halo does.
    std::vector<std::uint32_t> degrees;
    for (const auto& of_rank : told)
        degrees.insert(degrees.end(), of_rank.begin(), of_rank.end());
    return degrees;
}

// ---- inclusion ---------------------------------------------------------------------------------

std::vector<double> computed_inclusion(const Ground& g, PartId part) {
    std::vector<double> seed(g.source->vertices(), 0);
    std::vector<VertexId> seeds;
    const double training = static_cast<double>(g.schedule.training_vertices(part));
    const double share = std::min(1.0, static_cast<double>(g.options.batch) / training);
    for (std::uint64_t step = 0; step < g.schedule.steps_per_epoch(); ++step) {
        g.schedule.seeds(part, step, seeds);
        for (const VertexId v : seeds)
            seed[v] = share;
    }
    return buffer::inclusion_probabilities(g.source->topology(), seed, g.options.fanout);
}

std::vector<double> sampled_inclusion(const Ground& g, PartId part) {
    std::vector<std::uint32_t> counts(g.source->vertices(), 0);
    sample::BatchSampler sampler(g.schedule, *g.source, g.sampler_options());
    sample::Batch batch;
    RawVector<VertexId> memory;
    const std::uint64_t steps = std::min(presampled_steps, g.schedule.steps_per_epoch());
    for (std::uint64_t step = 0; step < steps; ++step) {
        sampler.sample(part, step, batch);
        for (const VertexId v : sample::distinct_vertices(batch, memory))
            ++counts[v];
    }
    return buffer::presampled_inclusion(counts, steps);
}

}  // namespace

bool needs_inclusion(const buffer::PolicySpec& policy) {
    return policy.name() == "static-vip" || policy.given("inclusion");
}

std::vector<double> inclusion_of(const Ground& g, PartId part) {
    // Which vertices links ask for is seen, not computed.
    const bool computed = g.source->topology().vertices() != 0 && g.links == nullptr;
    return computed ? computed_inclusion(g, part) : sampled_inclusion(g, part);
}

namespace {

/// By halo row; on the first rank.
std::vector<double> find_inclusion(const Ground& g, std::vector<VertexId> halo) {
    const Span span("inclusion probabilities");
    if (shared(g)) {
        const comm::Communicator host = g.comm.host();
        comm::share(host, halo, comm::Kind::topology);
    }
    std::vector<double> absent(halo.size(), 1);
    for (const partition::Part& part : g.parts) {
        const auto of_part = inclusion_of(g, part.id());
        const auto included = buffer::halo_inclusion(halo, std::span(&of_part, 1));
        for (std::size_t i = 0; i < halo.size(); ++i)
            absent[i] *= 1 - included[i];
    }
    if (shared(g)) {
        const auto all =
            g.comm.host().gather(0, std::span<const double>(absent), comm::Kind::topology);
        if (!first(g)) return {};
        absent = all.front();
        for (std::size_t r = 1; r < all.size(); ++r) {
            for (std::size_t i = 0; i < absent.size(); ++i)
                absent[i] *= all[r][i];
        }
    }
    for (double& p : absent)
        p = 1 - p;
    return absent;
}

// ---- size --------------------------------------------------------------------------------------

}  // namespace

double rows_asked(const TrainOptions& o, std::uint64_t halo, std::uint64_t row_bytes) {
    if (o.buffer_rows) return static_cast<double>(*o.buffer_rows);
    if (o.buffer_bytes) {
        const std::uint64_t whole_rows = *o.buffer_bytes / row_bytes;
        return static_cast<double>(whole_rows);
    }
    return std::floor(o.buffer * static_cast<double>(halo));
}

namespace {

/// Ranks with buffers of their own share the host's memory.
double buffers_of_host(const Ground& g) {
    return shared(g) ? 1 : g.comm.host().size();
}

buffer::SlotId find_slots(const Ground& g, const BufferSetup& setup) {
    double asked = rows_asked(g.options, setup.facts.halo.size(), g.store.format().row_bytes());
    const auto row_bytes = static_cast<double>(g.store.format().row_bytes());
    const double needs = asked * row_bytes * buffers_of_host(g);
    const auto text = [](double bytes) {
        return bytes < 1e18 ? format_bytes(static_cast<std::uint64_t>(bytes))
                            : fmt::format("{:.3g} bytes", bytes);
    };
    const auto memory = static_cast<double>(g.memory());
    const bool shrinks = g.options.shrinks;
    if (shrinks) asked = std::min(asked, std::floor(memory / row_bytes / buffers_of_host(g)));
    if (needs > memory && !shrinks) {
        throw usage_error(
            fmt::format("the buffer needs {}, and the host has {}", text(needs), text(memory)),
            "--buffer",
            "lower --buffer (or --buffer-rows, --buffer-bytes), or choose "
            "--precision bfloat16 or int8");
    }
    const auto remote = static_cast<double>(remote_vertices(g, setup));
    // No row is here twice, so more slots than remote rows would stay empty.
    return static_cast<buffer::SlotId>(std::min({asked, remote, buffer::no_slot - 1.0}));
}

/// Refuses bookkeeping that does not fit beside the rows.
void check_bookkeeping(const Ground& g, const BufferSetup& setup) {
    if (g.options.shrinks) return;  // the plan counts it
    const std::uint64_t books =
        buffer::bookkeeping_bytes(setup.policy, bookkeeping_shape(g, setup)).of_rows();
    const std::uint64_t rows = setup.slots * g.store.format().row_bytes();
    if (static_cast<double>(books + rows) * buffers_of_host(g) <= static_cast<double>(g.memory()))
        return;
    throw usage_error(
        fmt::format("the bookkeeping of the buffer needs {} for {} remote rows, the rows {}, and "
                    "the host has {}",
                    format_bytes(books), format_count(remote_vertices(g, setup)),
                    format_bytes(rows), format_bytes(g.memory())),
        "--buffer", "lower --buffer, give a host fewer ranks or more memory, or --policy none");
}

// ---- window ------------------------------------------------------------------------------------

/// What decides how far to look ahead, of one rank.
struct WindowFacts {
    std::uint64_t slots = 0;
    std::uint64_t rows = 0;   ///< remote, of its first step
    std::uint64_t bytes = 0;  ///< of that step's batches
};

WindowFacts sample_first_step(const Ground& g, const BufferSetup& setup) {
    WindowFacts facts{.slots = setup.slots};
    sample::BatchSampler sampler(g.schedule, *g.source, g.sampler_options());
    sample::Batch batch;
    RawVector<VertexId> memory;
    for (const partition::Part& part : g.parts) {
        sampler.sample(part.id(), 0, batch);
        facts.rows += static_cast<std::uint64_t>(std::ranges::count_if(
            sample::distinct_vertices(batch, memory), [&](VertexId v) { return buffered(g, v); }));
        facts.bytes += batch.bytes();
    }
    return facts;
}

/// Where nobody has said how far to look ahead: as far as its first step says is good, and as the
/// batches that wait may take half of their memory. Collective; ranks that share a buffer agree.
void fit_window(const Ground& g, BufferSetup& setup) {
    const Span span("fitting the window");
    WindowFacts all = sample_first_step(g, setup);
    if (shared(g)) {
        const WindowFacts own = std::exchange(all, {});
        for (const auto& each : g.comm.host().all_gather(std::span(&own, 1))) {
            all.slots += each.front().slots;
            all.rows += each.front().rows;
            all.bytes = std::max(all.bytes, each.front().bytes);
        }
    }
    const std::uint64_t fits = g.queue_limit() / 2 / std::max<std::uint64_t>(all.bytes, 1);
    const std::uint64_t window = std::min(buffer::fitting_window(all.slots, all.rows), fits);
    setup.policy.set("window",
                     static_cast<double>(std::max(window, buffer::shortest_fitting_window)));
    g.comm.barrier();  // nobody asks for neighbours any more, whatever comes next
}

}  // namespace

std::uint64_t remote_vertices(const Ground& g, const BufferSetup& setup) {
    return g.data.info().vertices - setup.own_vertices();
}

buffer::BookkeepingShape bookkeeping_shape(const Ground& g, const BufferSetup& setup,
                                           const StepVertices& step) {
    if (!setup.used || setup.floor_slots == 0) return {};
    const double ranks = shared(g) ? g.comm.host().size() : 1;
    return {.vertices = g.data.info().vertices,
            .rows = remote_vertices(g, setup),
            .slots = setup.slots,
            .rows_per_step = step.remote * ranks,
            .vertices_per_step = step.all,
            .steps_ahead = steps_ahead(g.options),
            .several_batches = setup.parts > 1,
            .floor = g.options.floor || !g.options.trace.empty()};
}

BufferSetup set_up_buffer(const Ground& g) {
    const Span span("setting up the buffer");
    BufferSetup setup{.policy = policy_of(g.options)};
    find_local(g, setup);
    const bool watched = g.options.floor || !g.options.trace.empty();
    const bool none = setup.policy.name() == "none";
    // Without a buffer, a rank alone on its host only has to pull. All ranks choose the same.
    setup.used = g.comm.all_max(!none || shared(g) || watched ? 1 : 0) == 1;
    if (!setup.used) return setup;
    setup.facts.halo = find_halo(g);
    setup.facts.degree = find_degrees(g, setup.facts.halo);
    if (needs_inclusion(setup.policy)) setup.facts.inclusion = find_inclusion(g, setup.facts.halo);
    comm::do_together(g.comm, [&] {
        if (first(g) && (!none || watched)) setup.floor_slots = find_slots(g, setup);
        if (!none) setup.slots = setup.floor_slots;
        check_bookkeeping(g, setup);
    });
    if (window_adapts(g.options)) fit_window(g, setup);
    return setup;
}

}  // namespace rudder::train
