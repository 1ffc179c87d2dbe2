#include "ground.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/log.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "train/given_negatives.hpp"
#include "train/input_rows.hpp"
#include "train/learned/learned_options.hpp"
#include "train/link_options.hpp"
#include "train/steps/record_book.hpp"
#include "train/steps/seed_targets.hpp"
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
            .types = info.types.present(),
            .features = read_edge_features(options, info)};
}

graph::FeatureInfo read_edge_features(const TrainOptions& options,
                                      const graph::DatasetInfo& info) noexcept {
    return options.edge_features ? info.edge_features : graph::FeatureInfo{};
}

void check_carried(const partition::PartitionedDataset& data, const TrainOptions& options) {
    const std::string where = data.folder().path().string();
    const graph::DatasetInfo& info = data.info();
    if (options.weighted && !info.edge_weight) {
        throw input_error("its edges have no weights", where,
                          "import edge_weight, or train without --weighted");
    }
    if (options.edge_features && !info.edge_features.present()) {
        throw input_error("its edges have no features", where,
                          "import edge_attr, or train without --edge-features");
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

namespace {

/// Collective: says how many edges were to be trained on and are not.
void warn_of_withheld(const comm::Communicator& comm, EdgeIndex own) {
    std::uint64_t all = 0;
    for (const auto& theirs : comm.all_gather(std::span<const EdgeIndex>(&own, 1)))
        all += theirs.front();
    if (all == 0 || comm.rank() != 0) return;
    log::warning(fmt::format(
        "{} stored edges for training are left out of messages and training: the same pairs are "
        "also for validation or test",
        format_count(all)));
}

/// Collective: reads the pairs that are given, and says what they do not cover.
void give_pairs(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                std::span<const partition::Part> parts, const TrainOptions& options,
                LinkGround& ground) {
    const LinkOptions& o = options.links;
    if (o.negatives_from.empty()) return;
    ground.given = read_given_negatives(comm, data, parts, o.negatives_from);
    const sample::GivenNegatives& given = *ground.given;
    const bool trains = parse_negatives(o.negatives).kind == sample::Negatives::given;
    if (trains && comm.all_max(given.train.targets.empty() ? 0 : 1) == 0) {
        throw input_error("no pair is given for training", o.negatives_from,
                          "give some, or choose other --negatives");
    }
    for (const graph::Role role : {graph::Role::train, graph::Role::valid, graph::Role::test}) {
        if (role == graph::Role::train && !trains) continue;
        const std::uint64_t without = links_without(comm, parts, ground.divided.links, given, role);
        if (without == 0 || comm.rank() != 0) continue;
        constexpr std::array names{"", "training", "validation", "test"};
        log::warning(fmt::format(
            "the sources of {} links for {} are in no pair of {}: drawn "
            "pairs stand in",
            format_count(without), names.at(static_cast<std::size_t>(role)), o.negatives_from));
    }
}

}  // namespace

std::unique_ptr<LinkGround> divide(const comm::Communicator& comm,
                                   const partition::PartitionedDataset& data,
                                   std::span<const partition::Part> parts,
                                   const TrainOptions& options) {
    if (options.task == TaskKind::vertex) return nullptr;
    const Span span("dividing links");
    auto ground = std::make_unique<LinkGround>();
    ground->types = typed_links(data.info(), options);
    ground->symmetric = ground->types ? ground->types->symmetric : data.info().symmetric;
    ground->targets = ground->types
                          ? sample::VertexStretches(data.book(), data.types(), ground->types->to)
                          : sample::VertexStretches(data.info().vertices);
    const bool symmetric = ground->symmetric;
    const sample::LinkDraws draws({}, symmetric, options.seed);
    if (options.task == TaskKind::edge) {
        ground->divided.links = sample::labelled_edges(comm, data.book(), parts, draws, symmetric);
        return ground;
    }
    ground->divided =
        sample::divide_links(comm, data.book(), parts, draws, symmetric, ground->edge_types());
    warn_of_withheld(comm, ground->divided.withheld);
    give_pairs(comm, data, parts, options, *ground);
    return ground;
}

namespace {

/// Checked before anything is opened or sent.
const TrainOptions& checked(const partition::PartitionedDataset& data,
                            const TrainOptions& options) {
    check_options(options);
    check_types(data.info(), options, data.folder().path().string());
    static_cast<void>(learned_widths(options.embeddings, data.info()));
    check_carried(data, options);
    if (options.task == TaskKind::edge) {
        static_cast<void>(
            objective_of(options.task, data.info().edge_targets, data.folder().path().string()));
    }
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
        counts.push_back(of_part.of(use.role).size());
    return {comm, own, counts, parts, options};
}

/// All other vertices are drawn by no degree.
void keep_only(const sample::VertexStretches& of, std::vector<std::uint32_t>& degrees) {
    auto from = degrees.begin();
    for (const sample::VertexStretches::Stretch& stretch : of.all()) {
        std::fill(from, degrees.begin() + static_cast<std::ptrdiff_t>(stretch.begin), 0U);
        from = degrees.begin() + static_cast<std::ptrdiff_t>(stretch.end);
    }
    std::fill(from, degrees.end(), 0U);
}

/// How links of that role become seeds.
void set_seeds(const Ground& ground, LinkGround& links, graph::Role role) {
    if (ground.options.task == TaskKind::edge) {
        links.seeds.emplace(ground.parts, links.divided.links, sample::PairOptions{.count = 0},
                            ground.data.info().symmetric, ground.options.seed, role,
                            sample::LinkSeeds::Question::carried);
        return;
    }
    const NegativeDraws draws = parse_negatives(ground.options.links.negatives);
    const VertexId vertices = ground.source->vertices();
    if (draws.kind == sample::Negatives::degree) {
        std::vector<VertexId> all(vertices);
        std::iota(all.begin(), all.end(), VertexId{0});
        std::vector<std::uint32_t> degrees(vertices);
        ground.source->degrees(all, degrees);
        if (links.types) keep_only(links.targets, degrees);
        links.degrees = sample::DegreeTable(degrees);
    }
    links.seeds.emplace(ground.parts, links.divided.links,
                        sample::PairOptions{.negatives = draws.kind,
                                            .count = draws.count,
                                            .vertices = vertices,
                                            .among = links.types ? &links.targets : nullptr,
                                            .degrees = &links.degrees,
                                            .pairs = links.given ? &links.given->train : nullptr},
                        links.symmetric, ground.options.seed, role,
                        sample::LinkSeeds::Question::joined, links.edge_types());
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
      store(
          c, d,
          {.precision = o.precision,
           .shards = o.shards,
           .bulk = o.bulk,
           .coder = coders.features,
           .sparse = types == nullptr && o.embeddings.empty() ? o.sparse : store::SparseChoice::off,
           .assembled = use.assembled.value_or(assembled_for(o.model)),
           .learned = learned_widths(o.embeddings, d.info())}) {
    if (links != nullptr) set_seeds(*this, *links, use.role);
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
            .edge_features = edge_features(),
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
