#include "simulated_run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/json.hpp"
#include "core/staging.hpp"
#include "graph/generate/generate.hpp"
#include "graph/generate/stand_ins.hpp"
#include "partition/partition.hpp"
#include "partition/partitioner.hpp"
#include "partition/share.hpp"
#include "report/json_lines_sink.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"
#include "run/data_json.hpp"
#include "run/run_folder.hpp"
#include "train/default_batch.hpp"
#include "train/simulate/simulation.hpp"

#include "machine_speed.hpp"

namespace rudder::run {

namespace fs = std::filesystem;

namespace {

/// As folders may be called.
std::string plain_name(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.'; },
        '-');
    return text;
}

void check_ranks_fit(const Scenario& scenario, const SimulatedJob& job, VertexId vertices) {
    if (job.ranks <= vertices) return;
    throw scenario.fault("ranks",
                         fmt::format("{} ranks for {} vertices", job.ranks, format_count(vertices)),
                         "simulate fewer ranks, or a larger graph (graph.scale)");
}

/// Before a graph is made that then cannot be divided.
void check_method(const Scenario& scenario, const SimulatedJob& job) {
    try {
        if (!job.method.empty()) static_cast<void>(partition::partitioner(job.method));
    } catch (const Error& error) {
        throw scenario.fault("graph.method", error.problem(), error.remedy());
    }
}

/// The data set that a stand-in is made as, once.
fs::path made_graph(const Scenario& scenario, const SimulatedJob& job, const fs::path& cache,
                    Progress& progress) {
    graph::GenerateOptions options;
    options.kind = job.source;
    options.scale = job.scale;
    options.generator.seed = job.graph_seed;
    try {
        const auto wanted = graph::stand_in_options(options);
        check_ranks_fit(scenario, job, wanted.generator.vertices);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::input) throw;
        const bool scaled = graph::is_stand_in(job.source) && job.scale > 1;
        throw scenario.fault(scaled ? "graph.scale" : "graph.source", error.problem(),
                             error.remedy());
    }
    fs::path folder = cache / plain_name(fmt::format("{}-{}-seed{}", job.source.substr(5),
                                                     job.scale, job.graph_seed));
    if (graph::ArrayFolder::is(folder, graph::dataset_format)) return folder;
    options.output = folder;
    options.existing = Existing::replace;
    fs::create_directories(cache);
    static_cast<void>(graph::generate_dataset(options, progress));
    return folder;
}

std::string checksum_of(const graph::Dataset& data) {
    const std::string manifest = data.folder().manifest().dump();
    return to_hex(hash_bytes(std::as_bytes(std::span(manifest))));
}

fs::path divided(const Scenario& scenario, const SimulatedJob& job, const fs::path& whole,
                 const fs::path& cache, Progress& progress) {
    const graph::Dataset data(whole);
    check_ranks_fit(scenario, job, data.info().vertices);
    partition::PartitionOptions options;
    options.parts = static_cast<PartId>(job.ranks);
    if (!job.method.empty()) options.method = job.method;
    const std::string name = fs::absolute(whole).lexically_normal().filename().string();
    fs::path folder =
        cache / plain_name(fmt::format("{}-{}.{}-{}", name, checksum_of(data).substr(0, 8),
                                       options.method, job.ranks));
    if (graph::ArrayFolder::is(folder, partition::partition_format)) return folder;
    fs::create_directories(cache);
    try {
        partition::partition_dataset(data, folder, options, Existing::replace, progress);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw scenario.fault("graph.method", error.problem(), error.remedy());
    }
    return folder;
}

}  // namespace

fs::path simulate_cache(const fs::path& out) {
    return fs::absolute(out).lexically_normal().parent_path() / "simulate-cache";
}

fs::path simulated_parts(const Scenario& scenario, const SimulatedJob& job, const fs::path& cache,
                         Progress& progress) {
    check_method(scenario, job);
    if (graph::is_stand_in(job.source))
        return divided(scenario, job, made_graph(scenario, job, cache, progress), cache, progress);
    if (graph::ArrayFolder::is(job.source, graph::dataset_format))
        return divided(scenario, job, job.source, cache, progress);
    try {
        const partition::PartitionedDataset data(job.source);
        check_ranks_fit(scenario, job, data.info().vertices);
        partition::check_ranks(static_cast<int>(job.ranks), data.parts());
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw scenario.fault("ranks", error.problem(), error.remedy());
    }
    return job.source;
}

train::ClusterModel cluster_of(const Scenario& scenario, const SimulatedJob& job) {
    MachineSpeed speed;
    try {
        speed = machine_speed(job.profile, job.threads, train::sampler_of(job.train));
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw scenario.fault("profile", error.problem(), error.remedy());
    }
    const auto link = [&](const std::string& text, std::string_view key) {
        try {
            return comm::parse_link(text);
        } catch (const Error&) {
            const bool rate = key == "network.rate";
            throw scenario.fault(
                key, fmt::format("invalid {}: '{}'", key, rate ? job.rate : job.latency),
                rate ? "give a rate, such as 10gbit or 500MB" : "give a time, such as 20us");
        }
    };
    if (!job.latency.empty())
        speed.link.delay = link(job.latency + ",1gbit", "network.latency").delay;
    if (!job.rate.empty())
        speed.link.bytes_per_second = link("1us," + job.rate, "network.rate").bytes_per_second;
    train::ClusterModel cluster;
    cluster.ranks = static_cast<int>(job.ranks);
    cluster.ranks_per_host = static_cast<int>(std::min(job.ranks_per_host, job.ranks));
    cluster.sample_tasks = job.train.sample_tasks > 0
                               ? job.train.sample_tasks
                               : static_cast<int>(std::max<std::uint64_t>(1, job.threads / 4));
    cluster.compute = speed.compute;
    cluster.network = {.link = speed.link,
                       .oversubscription = job.oversubscription,
                       .incast = job.incast,
                       .sums = job.sums};
    if (job.train.memory != 0) {
        cluster.memory = job.train.memory;
    } else if (speed.memory != 0) {
        cluster.memory = speed.memory;
    }
    return cluster;
}

/// What was measured of a step: edges that are drawn, rows that a policy decides on, and messages.
double job_seconds(const SimulatedJob& job, double train_vertices) {
    constexpr double per_edge = 60e-9;
    constexpr double per_message = 2e-6;
    const double ranks = static_cast<double>(job.ranks);
    const double batch = job.batch_given ? static_cast<double>(job.train.batch)
                                         : std::clamp(train_vertices / ranks / 20, 32.0, 1000.0);
    double rows = batch;
    double edges = 0;
    const std::vector<std::int32_t> outwards(job.train.fanout.rbegin(), job.train.fanout.rend());
    for (const std::int32_t fanout : outwards) {
        rows *= fanout < 0 ? 100 : fanout;
        edges += rows;
    }
    double steps = std::ceil(train_vertices / ranks / batch) * job.train.epochs;
    if (job.steps != 0) steps = std::min(steps, static_cast<double>(job.steps));
    const double messages = 2 * std::min(ranks, rows);
    const double agents = train::steered(job.train) ? 20 : 1;
    return ranks * steps * (edges * per_edge * agents + messages * per_message);
}

namespace {

/// Lines of a run's folder, as they come.
class FolderLines final : public train::TrainObserver {
public:
    explicit FolderLines(const fs::path& folder) : lines_(folder) {}
    void records(std::span<const train::StepRecord> records) override { lines_.steps(records); }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        lines_.decisions(decisions);
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t /*epochs*/) override {
        lines_.epoch(record);
    }
    void close() { lines_.close(); }

private:
    report::JsonLinesSink lines_;
};

/// As --link takes it.
std::string link_text(const train::ClusterModel& cluster) {
    const comm::LinkModel& link = cluster.network.link;
    const double mbit = link.bytes_per_second * 8 / 1e6;
    return fmt::format("{:g}us,{:g}{}", to_seconds(link.delay) * 1e6,
                       mbit < 1000 ? mbit : mbit / 1000, mbit < 1000 ? "mbit" : "gbit");
}

/// On a clock that begins with the run.
std::string time_at(double seconds) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// run.json: nothing in it is of the machine that simulates.
Json card_of(const SweptJob& job, const partition::PartitionedDataset& data,
             const train::ClusterModel& cluster, const train::Simulation& simulation,
             const std::string& source) {
    const train::TrainOptions& o = job.job.train;
    Json swept = Json::object();
    for (const auto& [key, value] : job.at)
        swept[key] = value;
    Json card{{"schema", 1},
              {"version", version()},
              {"simulated", true},
              {"command", Json::array({"rudder", "simulate", "scenario.toml"})},
              {"started", time_at(0)},
              {"host", "simulated"},
              {"pid", 0},
              {"ranks", cluster.ranks},
              {"hosts", cluster.hosts()},
              {"cores", static_cast<int>(job.job.threads) * cluster.ranks_per_host},
              {"data", source},
              {"partition", partition_json(data)},
              {"model", o.model},
              {"seed", o.seed},
              {"epochs", o.epochs},
              {"steps_per_epoch", simulation.steps_per_epoch()},
              {"policy", simulation.policy().text()},
              {"agent", train::agent_of(o).text()},
              {"link", link_text(cluster)},
              {"profile", job.job.profile},
              {"swept", std::move(swept)},
              {"resumed", Json::array()},
              {"error", nullptr}};
    if (const std::string name = job.name(); !name.empty()) card["title"] = name;
    return card;
}

std::unique_ptr<train::Simulation> simulation_of(const Scenario& scenario,
                                                 const partition::PartitionedDataset& data,
                                                 const train::TrainOptions& options,
                                                 const train::ClusterModel& cluster,
                                                 std::uint64_t steps) {
    try {
        return std::make_unique<train::Simulation>(data, options, cluster, steps);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw scenario.fault("train." + error.where(), error.problem(), error.remedy());
    }
}

}  // namespace

SimulatedSummary simulate_job(const Scenario& scenario, const SweptJob& job, const fs::path& parts,
                              const fs::path& out, Existing existing) {
    const partition::PartitionedDataset data(parts);
    train::TrainOptions options = job.job.train;
    if (!job.job.batch_given) options.batch = train::default_batch(data.info(), data.summary());
    options.floor = false;
    options.eval_every = 0;
    const train::ClusterModel cluster = cluster_of(scenario, job.job);
    const auto simulation = simulation_of(scenario, data, options, cluster, job.job.steps);
    SimulatedJob resolved = job.job;
    resolved.train = options;
    RunFolder folder(out, existing, job_config(resolved));
    write_text(folder.path() / "scenario.toml", job_scenario(resolved));
    FolderLines lines(folder.path());
    train::Simulated done = simulation->run(lines);
    lines.close();
    // Parts of a cache lie elsewhere for each output: what they are made of says what they are.
    const std::string source = graph::is_stand_in(job.job.source)
                                   ? fmt::format("{} at scale {}", job.job.source, job.job.scale)
                                   : job.job.source;
    SimulatedSummary made;
    made.receive_skew = done.receive_skew;
    made.step_seconds =
        done.result.seconds / static_cast<double>(std::max<std::uint64_t>(1, done.result.steps));
    made.summary = train::summary_of(done.result, options,
                                     {.ranks = cluster.ranks,
                                      .hosts = cluster.hosts(),
                                      .parts = data.parts(),
                                      .data = source,
                                      .link = link_text(cluster),
                                      .threads = static_cast<int>(job.job.threads),
                                      .regression = true});
    made.summary.loss.digest.clear();  // there are no losses
    Json card = card_of(job, data, cluster, *simulation, source);
    card["state"] = "finished";
    card["ended"] = time_at(done.result.seconds);
    write_text(folder.path() / "run.json", card.dump(2) + "\n");
    Json summary = to_json(made.summary);
    summary["simulated"] = true;
    summary["receive_skew"] = made.receive_skew;
    summary["checkpoints"] = Json();
    folder.finish(summary);
    return made;
}

}  // namespace rudder::run
