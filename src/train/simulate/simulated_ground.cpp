#include "simulated_ground.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "train/steps/gradient_exchange.hpp"
#include "train/steps/steering.hpp"
#include "train/steps/step_facts_size.hpp"

#include "simulation.hpp"

namespace rudder::train {

namespace {

/// A usage Error about an option.
void refuse(bool wrong, const std::string& what, const std::string& option,
            const std::string& remedy) {
    if (wrong) throw usage_error(what + " cannot be simulated", option, remedy);
}

/// As a simulation takes them.
TrainOptions simulated_options(const partition::PartitionedDataset& data, TrainOptions options) {
    check_simulated(options);
    refuse(data.info().types.present(), "a graph of several types", "simulate",
           "simulate one of one type");
    options.topology = TopologyChoice::replicated;
    options.eval_every = 0;
    options.verify = false;
    options.memory = 0;
    return options;
}

std::vector<int> ranks_of_parts(PartId parts, int ranks) {
    std::vector<int> of_part;
    for (PartId p = 0; p < parts; ++p)
        of_part.push_back(partition::rank_of(p, parts, ranks));
    return of_part;
}

/// Columns that the first layer reads, and that each layer puts out.
std::vector<std::uint64_t> widths_of(const nn::NetworkOptions& network) {
    std::vector<std::uint64_t> widths{network.inputs};
    for (int layer = 1; layer < network.layers; ++layer)
        widths.push_back(network.hidden);
    widths.push_back(network.outputs);
    return widths;
}

}  // namespace

void check_simulated(const TrainOptions& options) {
    refuse(options.topology == TopologyChoice::partitioned, "topology 'partitioned'", "topology",
           "leave topology out: every host has the whole of it");
    refuse(options.coding != "off", "coded messages", "coding",
           "leave coding out: bytes are those before");
    refuse(options.task != TaskKind::vertex, "training on links or edges", "task",
           "simulate the task 'vertex'");
    refuse(options.temporal != sample::Temporal::off, "sampling by time", "temporal",
           "leave temporal out");
    refuse(!options.trace.empty(), "recording traces", "trace", "record them in a run of train");
    refuse(options.steer.collect.has_value(), "collecting samples", "collect",
           "collect them in a run of train");
    refuse(!options.embeddings.empty(), "learning rows", "embeddings", "leave embeddings out");
    refuse(options.device != "cpu", "a GPU", "device",
           "leave device out: how fast a rank computes is said by the machine profile");
    refuse(!options.slow.empty(), "a rank that is slow", "slow", "leave slow out");
}

SimulatedGround::SimulatedGround(const partition::PartitionedDataset& data,
                                 const TrainOptions& options, const ClusterModel& cluster,
                                 std::uint64_t steps)
    : ground_(comm::Communicator::local(), data, simulated_options(data, options)),
      cluster_(cluster),
      steps_(steps == 0 ? ground_.steps() : std::min(steps, ground_.steps())),
      rank_of_part_(ranks_of_parts(data.parts(), cluster.ranks)),
      sums_(find_sums()) {}

SumBytes SimulatedGround::find_sums() {
    Learner learner(ground_);
    widths_ = widths_of(learner.options());
    parameters_ = learner.weights().size();
    const bool narrow = options().gradient_precision == "bfloat16";
    std::vector<SummedVector> vectors;
    for (const BucketGroup& group : group_buckets(learner.network().buckets(), narrow ? 2 : 4,
                                                  cluster_.network.link.bytes_under_way())) {
        vectors.push_back({.floats = group.range.size, .width = narrow ? 2U : 4U});
    }
    const std::size_t extra = Steering::extra_floats(options(), cluster_.ranks);
    vectors.push_back({.floats = fact_floats(data().parts(), cluster_.ranks, extra), .width = 4});
    std::vector<std::uint64_t> contributions;
    for (int r = 0; r < cluster_.ranks; ++r)
        contributions.push_back(share(r).last - share(r).first);
    return {cluster_, contributions, vectors};
}

partition::PartShare SimulatedGround::share(int rank) const {
    return partition::share_of(data().parts(), cluster_.ranks, rank);
}

VertexId SimulatedGround::first_vertex(int rank) const {
    return data().book().range(share(rank).first).begin;
}

/// As run::network_work, by which a machine's step_factor was found, has it: two products a layer
/// where a vertex's own row has weights of its own; backward one for the weights and, but for the
/// first layer, one for what came in.
BatchWork SimulatedGround::work_of(const sample::Batch& batch) const {
    const double products = options().model == "sage" ? 2 : 1;
    BatchWork work;
    for (std::size_t l = 0; l < batch.blocks.size() && l + 1 < widths_.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        const auto in = static_cast<double>(widths_[l]);
        const double passes = l == 0 ? 2 : 3;
        work.flops += 2 * products * passes * static_cast<double>(block.destinations) * in *
                      static_cast<double>(widths_[l + 1]);
        work.aggregate_bytes += (passes - 1) * sizeof(float) * in *
                                (static_cast<double>(block.edges()) + block.destinations);
    }
    return work;
}

/// As parts are exchanged (sample/part_exchange), and halos and degrees are told (buffer_setup).
std::uint64_t SimulatedGround::placement_bytes() const {
    const auto others = static_cast<std::uint64_t>(cluster_.hosts() - 1);
    const std::uint64_t id =
        IdArray::needs_wide(data().info().vertices) ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
    std::uint64_t bytes = 0;
    for (const partition::Part& part : parts())
        bytes += others * (part.own() * sizeof(EdgeIndex) + part.neighbours().size() * id);
    if (options().weighted) bytes += others * data().info().edges * sizeof(float);
    return bytes;
}

SimulatedGround::Sampler::Sampler(const SimulatedGround& ground) : ground_(ground) {
    {
        const std::scoped_lock lock(ground_.mutex_);
        if (!ground_.idle_.empty()) {
            held_ = std::move(ground_.idle_.back());
            ground_.idle_.pop_back();
            return;
        }
    }
    held_ = std::make_unique<sample::BatchSampler>(ground_.schedule(), *ground_.ground_.source,
                                                   ground_.ground_.sampler_options());
}

SimulatedGround::Sampler::~Sampler() {
    const std::scoped_lock lock(ground_.mutex_);
    ground_.idle_.push_back(std::move(held_));
}

}  // namespace rudder::train
