#include "ground.hpp"

#include <numeric>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/log.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "train/input_rows.hpp"
#include "train/link_options.hpp"
#include "train/steps/record_book.hpp"
#include "train/types.hpp"

namespace rudder::train {

std::vector<partition::Part> open_parts(const comm::Communicator& comm,
                                        const partition::PartitionedDataset& data, bool verify) {
    const Span span("opening parts");
    const partition::PartShare share = partition::share_of(data.parts(), comm.size(), comm.rank());
    std::vector<partition::Part> parts;
    comm::do_together(comm, [&] {
        for (PartId p = share.first; p < share.last; ++p) {
            const partition::Part& part = parts.emplace_back(data.part(p));
            if (verify) {
                static_cast<void>(part.check(data.info().vertices));
            } else {
                part.check_bounds(data.info().vertices);
            }
        }
    });
    return parts;
}

namespace {

std::uint64_t memory_of_host(const TrainOptions& options) {
    return options.memory != 0 ? options.memory : memory_info().available;
}

/// Refuses a topology that does not fit this host, before any of it is there.
void check_topology(const partition::PartitionedDataset& data, const TrainOptions& options) {
    const std::uint64_t bytes = sample::replicated_bytes(data.info().vertices, data.info().edges,
                                                         carries_of(options, data.info()));
    const std::uint64_t memory = memory_of_host(options);
    if (bytes <= memory) return;
    throw usage_error(fmt::format("the topology needs {} on every host, and this one has {}",
                                  format_bytes(bytes), format_bytes(memory)),
                      "--topology", "choose --topology partitioned, or raise --memory");
}

/// Whether the degrees of all vertices are needed to draw pairs.
bool draws_by_degree(const TrainOptions& options) {
    return options.task == TaskKind::link &&
           parse_negatives(options.links.negatives).kind == sample::Negatives::degree;
}

/// Refuses a vertex that is trained on or scored without knowing when.
void check_times(std::span<const partition::Part> parts) {
    for (const partition::Part& part : parts) {
        for (std::size_t v = 0; v < part.own(); ++v) {
            if (part.vertex_times()[v] != graph::no_time) continue;
            if (part.roles()[v] == graph::Role::none ||
                !graph::is_labelled(part.info().targets, part.targets(), v))
                continue;
            throw input_error(
                fmt::format("vertex {} of the data set has no time", part.original_ids()[v]),
                part.folder().path().string(),
                "give the time of each vertex of the split, or train without --temporal");
        }
    }
}

}  // namespace

sample::SourceCarries carries_of(const TrainOptions& options,
                                 const graph::DatasetInfo& info) noexcept {
    return {.weights = options.weighted,
            .times = options.temporal != sample::Temporal::off,
            .types = info.types.present()};
}

void check_carried(const partition::PartitionedDataset& data, const TrainOptions& options) {
    const std::string where = data.folder().path().string();
    const graph::DatasetInfo& info = data.info();
    if (options.weighted && !info.edge_weight) {
        throw input_error("its edges have no weights", where,
                          "import edge_weight, or train without --weighted");
    }
    if (options.temporal == sample::Temporal::off) return;
    if (!info.edge_time) {
        throw input_error("its edges have no times", where,
                          "import edge_time, or train without --temporal");
    }
    if (!info.vertex_time) {
        throw input_error("its vertices have no times", where,
                          "import node_time, or train without --temporal");
    }
}

std::unique_ptr<sample::NeighbourSource> make_source(const comm::Communicator& comm,
                                                     const partition::PartitionedDataset& data,
                                                     std::span<const partition::Part> parts,
                                                     const TrainOptions& options,
                                                     std::shared_ptr<comm::MessageCoder> coder,
                                                     const sample::OwnLinks* links) {
    const Span span("placing the topology");
    const auto messages =
        links == nullptr ? std::span<const sample::MessageRows>{} : links->messages;
    TopologyChoice choice = options.topology;
    if (choice == TopologyChoice::choose) {
        const std::uint64_t bytes = sample::replicated_bytes(
            data.info().vertices, data.info().edges, carries_of(options, data.info()));
        // All ranks must choose the same, so the host with least memory decides.
        const std::int64_t fits = comm.all_min(bytes <= memory_of_host(options) / 4 ? 1 : 0);
        choice = fits == 1 ? TopologyChoice::replicated : TopologyChoice::partitioned;
    }
    if (choice == TopologyChoice::replicated && options.topology == choice) {
        comm::do_together(comm, [&] { check_topology(data, options); });
    }
    if (choice == TopologyChoice::replicated) {
        return sample::make_replicated_source(comm, data.book(), parts,
                                              carries_of(options, data.info()), messages);
    }
    const bool degrees = nn::model_wants_degrees(options.model) || draws_by_degree(options);
    return sample::make_partitioned_source(comm, data.book(), parts, degrees, std::move(coder),
                                           carries_of(options, data.info()), messages);
}

std::unique_ptr<LinkGround> divide(const comm::Communicator& comm,
                                   const partition::PartitionedDataset& data,
                                   std::span<const partition::Part> parts,
                                   const TrainOptions& options) {
    if (options.task != TaskKind::link) return nullptr;
    const Span span("dividing links");
    const bool symmetric = data.info().symmetric;
    auto ground = std::make_unique<LinkGround>();
    ground->divided = sample::divide_links(
        comm, data.book(), parts, sample::LinkDraws({}, symmetric, options.seed), symmetric);
    return ground;
}

namespace {

/// Checked before anything is opened or sent.
const TrainOptions& checked(const partition::PartitionedDataset& data,
                            const TrainOptions& options) {
    check_options(options);
    check_types(data.info(), options, data.folder().path().string());
    check_carried(data, options);
    return options;
}

/// Collective: when the vertices of these parts ask, where seeds have times.
sample::SeedTimes times_of(const comm::Communicator& comm, std::span<const partition::Part> parts,
                           const TrainOptions& options) {
    if (options.temporal == sample::Temporal::off) return {};
    comm::do_together(comm, [&] { check_times(parts); });
    return sample::SeedTimes(parts);
}

/// Collective: which of this rank's vertices or links are seeds when.
sample::Schedule schedule_of(const comm::Communicator& comm, std::span<const partition::Part> own,
                             PartId parts, const TrainOptions& o, const GroundUse& use,
                             LinkGround* links) {
    const sample::ScheduleOptions options{.batch = o.batch,
                                          .order = o.seed_order,
                                          .seed = o.seed,
                                          .role = use.role,
                                          .shuffled = use.shuffled};
    if (links == nullptr) return {comm, own, parts, options};
    std::vector<std::uint64_t> counts;
    for (const sample::PartLinks& of_part : links->divided.links)
        counts.push_back(of_part.train.size());
    return {comm, own, counts, parts, options};
}

/// How links become seeds.
void set_seeds(const Ground& ground, LinkGround& links) {
    const NegativeDraws draws = parse_negatives(ground.options.links.negatives);
    const VertexId vertices = ground.source->vertices();
    if (draws.kind == sample::Negatives::degree) {
        std::vector<VertexId> all(vertices);
        std::iota(all.begin(), all.end(), VertexId{0});
        std::vector<std::uint32_t> degrees(vertices);
        ground.source->degrees(all, degrees);
        links.degrees = sample::DegreeTable(degrees);
    }
    links.seeds.emplace(ground.parts, links.divided.links,
                        sample::PairOptions{.negatives = draws.kind,
                                            .count = draws.count,
                                            .vertices = vertices,
                                            .degrees = &links.degrees},
                        ground.data.info().symmetric, ground.options.seed);
}

}  // namespace

Ground::Ground(const comm::Communicator& c, const partition::PartitionedDataset& d,
               const TrainOptions& o, const GroundUse& use)
    : comm(c),
      start_memory(process_memory()),
      before(open_accounts(c)),
      data(d),
      options(checked(d, o)),
      share(partition::share_of(d.parts(), c.size(), c.rank())),
      coders(c, o.force_coding ? comm::CodingMode::always : comm::coding_mode(o.coding)),
      parts(open_parts(c, d, o.verify)),
      times(times_of(c, parts, o)),
      links(divide(c, d, parts, o)),
      types(typed_sampling(d, o)),
      schedule(schedule_of(c, parts, d.parts(), o, use, links.get())),
      source(make_source(c, d, parts, o, coders.topology,
                         links == nullptr ? nullptr : &links->divided)),
      store(c, d,
            {.precision = o.precision,
             .shards = o.shards,
             .bulk = o.bulk,
             .coder = coders.features,
             .sparse = types == nullptr ? o.sparse : store::SparseChoice::off,
             .assembled = use.assembled.value_or(assembled_for(o.model))}) {
    if (links != nullptr) set_seeds(*this, *links);
    if (comm.rank() != 0) return;
    if (store.format().sparse() != nullptr && store::rounds(o.precision)) {
        log::warning(
            fmt::format("precision {} has no effect: sparse rows stay exact, and are shorter",
                        to_string(o.precision)));
    }
    if (!store.outlier()) return;
    log::warning(
        fmt::format("--precision {} changes column {} of the features by {:.2g} of its "
                    "spread (root mean square), since it has outliers; choose bfloat16, "
                    "and see what doctor says of the data",
                    to_string(o.precision), store.outlier()->column, store.outlier()->of_spread));
}

sample::SamplerOptions Ground::sampler_options() const {
    return {.fanout = options.fanout,
            .with_replacement = options.with_replacement,
            .sampler = sampler_of(options),
            .redraw = redraw_of(options, schedule.steps_per_epoch()),
            .seed = options.seed,
            .degrees = nn::model_wants_degrees(options.model),
            .weighted = options.weighted,
            .temporal = options.temporal,
            .times = &times,
            .links = links == nullptr ? nullptr : &*links->seeds,
            .types = types.get()};
}

std::uint64_t Ground::memory() const {
    return memory_of_host(options);
}

std::uint64_t Ground::queue_limit() const {
    // An eighth of the host's memory for batches that wait, shared by its ranks.
    const auto ranks = static_cast<std::uint64_t>(comm.host().size());
    return memory() / 8 / ranks;
}

void Ground::stop() {
    comm.barrier();
    source->stop();
    store.stop();
}

}  // namespace rudder::train
