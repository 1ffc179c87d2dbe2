#include "step_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/buffer/id_buffer.hpp"
#include "rudder/buffer/row_numbering.hpp"
#include "rudder/core/element.hpp"
#include "rudder/core/error.hpp"
#include "rudder/nn/network.hpp"
#include "sample/batch_sampler.hpp"
#include "train/default_batch.hpp"

namespace rudder::run {

namespace {

constexpr std::uint64_t most_hosts = 4;   ///< that are looked at
constexpr std::uint64_t most_steps = 48;  ///< of each
constexpr double worth_it = 0.97;         ///< of a step, at most, with what is advised
constexpr double preset_buffer = 0.5;     ///< of presets/slow-network.toml
/// Of an id in a request, packed.
constexpr double id_bytes = 3;

/// Rows that a policy fetches in the second half of some steps, per step.
double rows_fetched(const std::vector<std::vector<VertexId>>& steps, VertexId vertices,
                    std::span<const VertexId> halo, double buffer, std::uint64_t window) {
    // More than there are vertices are of no use.
    const auto slots = static_cast<buffer::SlotId>(
        std::min(buffer * static_cast<double>(halo.size()), static_cast<double>(vertices)));
    const std::size_t half = steps.size() / 2;
    if (slots == 0) {
        double rows = 0;
        for (std::size_t s = half; s < steps.size(); ++s)
            rows += static_cast<double>(steps[s].size());
        return rows / static_cast<double>(steps.size() - half);
    }
    buffer::RowNumbering numbering(vertices, halo);
    std::vector<std::vector<buffer::RowKey>> rows(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
        rows[s].resize(steps[s].size());
        numbering.number(steps[s], rows[s]);
    }
    const buffer::PolicyFacts facts{&numbering, {}, {}, {}, 0};
    buffer::IdBuffer ids(buffer::PolicySpec::parse(fmt::format("window:{}", window)), facts, slots,
                         slots);
    std::size_t published = 0;
    std::uint64_t before = 0;
    for (std::size_t s = 0; s < rows.size(); ++s) {
        for (; published < rows.size() && published <= s + ids.horizon(); ++published)
            ids.publish(published, rows[published]);
        static_cast<void>(ids.advance());
        if (s + 1 == half) before = ids.accounts().fetched();
    }
    return static_cast<double>(ids.accounts().fetched() - before) /
           static_cast<double>(steps.size() - half);
}

/// The run's parts, and where they lie.
class Sampled {
public:
    Sampled(const partition::PartitionedDataset& data, const PlannedRun& run, std::uint64_t batch)
        : data_(data),
          run_(run),
          parts_(data.all_parts()),
          source_(sample::make_replicated_source(comm::Communicator::local(), data.book(), parts_)),
          schedule_(comm::Communicator::local(), parts_, data.parts(), {.batch = batch}),
          sampler_(schedule_, *source_,
                   {.fanout = run.fanout,
                    .sampler = sample::Sampler::shared,
                    .redraw = std::min<std::uint64_t>(32, schedule_.steps_per_epoch())}) {}
    ~Sampled() { source_->stop(); }
    Sampled(Sampled&&) = delete;

    [[nodiscard]] const sample::Schedule& schedule() const { return schedule_; }
    /// Adds the figures of a host's steps.
    void add_host(PartId first, PartId last, std::uint64_t steps, StepWork& sum) {
        std::vector<std::vector<VertexId>> remote(steps);
        for (std::uint64_t step = 0; step < steps; ++step) {
            for (PartId part = first; part < last; ++part) {
                sampler_.sample(part, step, batch_);
                if (step >= steps / 2) add_batch(sum);
                for (const VertexId v : batch_.vertices) {
                    if (!on_host(v, first, last)) remote[step].push_back(v);
                }
            }
            std::ranges::sort(remote[step]);
            remote[step].erase(std::unique(remote[step].begin(), remote[step].end()),
                               remote[step].end());
        }
        const std::vector<VertexId> halo = halo_of(first, last);
        const VertexId vertices = data_.book().vertices();
        sum.remote += rows_fetched(remote, vertices, halo, 0, run_.window);
        sum.fetched += rows_fetched(remote, vertices, halo, run_.buffer, run_.window);
        sum.fetched_double += rows_fetched(remote, vertices, halo, 2 * run_.buffer, run_.window);
    }

private:
    [[nodiscard]] bool on_host(VertexId v, PartId first, PartId last) const {
        return v >= data_.book().range(first).begin && v < data_.book().range(last - 1).end;
    }
    [[nodiscard]] std::vector<VertexId> halo_of(PartId first, PartId last) const {
        std::vector<VertexId> halo;
        for (PartId part = first; part < last; ++part) {
            for (const VertexId v : parts_[part].halo()) {
                if (!on_host(v, first, last)) halo.push_back(v);
            }
        }
        std::ranges::sort(halo);
        halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
        return halo;
    }
    void add_batch(StepWork& sum) const {
        const graph::DatasetInfo& info = data_.info();
        const NetworkWork network =
            network_work(batch_, info.features.width, run_.hidden, info.targets.count);
        sum.edges += static_cast<double>(batch_.edges());
        sum.rows += static_cast<double>(batch_.vertices.size());
        sum.network.flops += network.flops;
        sum.network.mean_bytes += network.mean_bytes;
    }

    const partition::PartitionedDataset& data_;
    const PlannedRun& run_;
    std::vector<partition::Part> parts_;
    std::unique_ptr<sample::NeighbourSource> source_;
    sample::Schedule schedule_;
    sample::BatchSampler sampler_;
    sample::Batch batch_;
};

/// The gradient of all weights.
double gradient_bytes(const graph::DatasetInfo& info, const PlannedRun& run) {
    nn::NetworkOptions network;
    network.inputs = info.features.width;
    network.hidden = run.hidden;
    network.outputs = info.targets.count;
    network.layers = static_cast<int>(run.fanout.size());
    return static_cast<double>(nn::make_network(network)->weights().size() * sizeof(float));
}

void check_data(const partition::PartitionedDataset& data) {
    const graph::DatasetInfo& info = data.info();
    const std::string where = data.folder().manifest_path();
    if (!info.features.present()) {
        throw input_error("the partition has no features", where,
                          "import the data set with --features random:100");
    }
    if (info.targets.count == 0) {
        throw input_error("the partition has no classes to train for", where,
                          "name a partition of a data set with labels");
    }
}

}  // namespace

NetworkWork network_work(const sample::Batch& batch, std::uint64_t inputs, std::uint64_t hidden,
                         std::uint64_t outputs) {
    NetworkWork work;
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        const auto in = static_cast<double>(l == 0 ? inputs : hidden);
        const auto out = static_cast<double>(l + 1 == batch.blocks.size() ? outputs : hidden);
        // Forward, back to the weights, and above the first layer back to the rows below.
        const double passes = l == 0 ? 2 : 3;
        work.flops += passes * 2 * block.destinations * 2 * in * out;
        work.mean_bytes += (passes - 1) * sizeof(float) * in *
                           (static_cast<double>(block.edges()) + block.destinations);
    }
    return work;
}

double wire_row_bytes(const graph::FeatureInfo& stored, store::Precision precision) {
    const auto width = static_cast<double>(stored.width);
    const auto native = static_cast<double>(stored.row_bytes());
    switch (precision) {
        case store::Precision::native:
            return native;
        case store::Precision::float32:
            return width * 4;
        case store::Precision::bfloat16:
            return width * 2;
        case store::Precision::int8:
            return width;
        case store::Precision::int4:
            return std::ceil(width / 2);
    }
    return native;
}

StepWork step_work(const partition::PartitionedDataset& data, const PlannedRun& run) {
    check_data(data);
    StepWork work;
    const std::uint64_t each = run.ranks_per_host;
    work.ranks = data.parts();
    work.hosts = (work.ranks + each - 1) / each;
    work.batch = run.batch != 0 ? run.batch : train::default_batch(data.info(), data.summary());
    Sampled sampled(data, run, work.batch);
    work.steps_per_epoch = sampled.schedule().steps_per_epoch();
    const std::uint64_t steps =
        std::max<std::uint64_t>(2, std::min(most_steps, 2 * work.steps_per_epoch));
    const std::uint64_t looked_at = std::min(most_hosts, work.hosts);
    double ranks = 0;
    for (std::uint64_t i = 0; i < looked_at; ++i) {
        const std::uint64_t host = i * work.hosts / looked_at;
        const auto first = static_cast<PartId>(host * each);
        const auto last = static_cast<PartId>(std::min(work.ranks, (host + 1) * each));
        sampled.add_host(first, last, steps, work);
        ranks += static_cast<double>(last - first);
    }
    // Batches were added up over half of the steps, rows of hosts are per step already.
    const std::uint64_t counted = steps - steps / 2;
    const double batches = ranks * static_cast<double>(counted);
    work.edges /= batches;
    work.rows /= batches;
    work.network.flops /= batches;
    work.network.mean_bytes /= batches;
    work.remote /= ranks;
    work.fetched /= ranks;
    work.fetched_double /= ranks;
    work.input_bytes = work.rows * static_cast<double>(data.info().features.width) * sizeof(float);
    work.row_bytes = wire_row_bytes(data.info().features, run.precision);
    work.gradient_bytes = gradient_bytes(data.info(), run);
    return work;
}

std::string_view StepEstimate::limit() const {
    if (rows > processor()) return gradients > rows ? "gradients" : "rows";
    const std::array<std::pair<double, std::string_view>, 5> parts{{{network, "network"},
                                                                    {sampling, "sampling"},
                                                                    {gathering, "gathering"},
                                                                    {policy, "policy"},
                                                                    {gradients, "gradients"}}};
    return std::ranges::max_element(parts)->second;
}

StepEstimate estimate_step(const StepWork& work, const MachineProfile& profile,
                           std::uint64_t threads) {
    const ComputeRates rates = profile.compute_with(threads);
    StepEstimate estimate;
    estimate.sampling = work.edges / rates.shared_edges_per_second;
    estimate.gathering = work.input_bytes / rates.gather_bytes_per_second;
    estimate.policy = work.remote / rates.policy_rows_per_second;
    estimate.network =
        rates.step_factor * (work.network.flops / rates.product_flops_per_second +
                             work.network.mean_bytes / rates.aggregate_bytes_per_second);
    if (!profile.network || work.ranks < 2) return estimate;
    const bool far = work.hosts > 1;
    const LinkRates& link = far                       ? profile.network->widest()
                            : profile.network->within ? *profile.network->within
                                                      : *profile.network->between;
    const double latency = link.latency_us * 1e-6;
    if (far && work.fetched > 0) {
        // A question and its answer.
        estimate.rows =
            2 * latency + work.fetched * (work.row_bytes + id_bytes) / link.all_bytes_per_second;
    }
    // Every rank sends its pieces to their owners, and its own sum to all; messages leave one after
    // the other.
    const auto others = static_cast<double>(work.ranks - 1);
    const double way = latency + others / link.messages_per_second +
                       work.gradient_bytes * others / (others + 1) / link.all_bytes_per_second;
    estimate.gradients = 2 * way;
    return estimate;
}

std::vector<Advice> advise(const StepWork& work, const PlannedRun& run,
                           const graph::FeatureInfo& features, const MachineProfile& profile,
                           std::uint64_t threads) {
    std::vector<Advice> all;
    const double now = estimate_step(work, profile, threads).step();
    const auto consider = [&](std::string setting, std::string reason, const StepWork& changed,
                              std::uint64_t with_threads) {
        const StepEstimate estimate = estimate_step(changed, profile, with_threads);
        if (estimate.step() <= worth_it * now)
            all.push_back({std::move(setting), std::move(reason), estimate});
    };
    for (const store::Precision precision : {store::Precision::bfloat16, store::Precision::int8}) {
        StepWork changed = work;
        changed.row_bytes = wire_row_bytes(features, precision);
        if (changed.row_bytes >= work.row_bytes) continue;
        consider(fmt::format("--precision {}", to_string(precision)), "shorter rows on the wire",
                 changed, threads);
    }
    if (run.buffer > 0) {
        StepWork changed = work;
        changed.fetched = work.fetched_double;
        consider(fmt::format("--buffer {}", 2 * run.buffer), "fewer rows on the wire", changed,
                 threads);
    }
    if (run.buffer == preset_buffer / 2) {  // else it is not what twice the size was found for
        StepWork changed = work;
        changed.row_bytes =
            std::min(work.row_bytes, wire_row_bytes(features, store::Precision::int8));
        changed.fetched = work.fetched_double;
        consider("--preset slow-network",
                 fmt::format("by its --precision int8 and --buffer {}", preset_buffer), changed,
                 threads);
    }
    StepWork narrow = work;
    narrow.gradient_bytes /= 2;
    consider("--gradient-precision bfloat16", "shorter gradients on the wire", narrow, threads);
    const std::uint64_t cores =
        profile.machine.cores / std::max<std::uint64_t>(1, run.ranks_per_host);
    if (cores > threads) {
        consider(fmt::format("--threads {}", cores), "all cores of the machine", work, cores);
    }
    std::ranges::stable_sort(all, {}, [](const Advice& one) { return one.estimate.step(); });
    return all;
}

}  // namespace rudder::run
