// The sampler against a plain one (hash map, scalar draws) in the same run, on one thread; and two
// sampling tasks against one. npm_deps, fan-out 10,25, batch 2000. Then one thread on a generated
// graph whose rows do not fit the caches.
//
//   bench_sample_sampler [VERTICES]    the generated graph alone, of so many (600,000 unless given)
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>
#include <unordered_map>

#include <fmt/format.h>

#include "sample/look_ahead.hpp"

#include "bed.hpp"

namespace {

using namespace rudder;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t batch_size = 2000;
constexpr int rounds = 9;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Of the processor, of this thread or (CLOCK_PROCESS_CPUTIME_ID) of all: what others do on the
/// machine then counts less.
double cpu_seconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// What one would write without further thought: Floyd's draws with a small list, a standard hash
/// map, vectors that grow.
class PlainSampler {
public:
    PlainSampler(std::span<const EdgeIndex> offsets, std::span<const std::uint32_t> neighbours)
        : offsets_(offsets), neighbours_(neighbours) {}

    std::uint64_t sample(std::span<const VertexId> seeds, std::span<const std::uint32_t> fanout) {
        std::vector<VertexId> vertices(seeds.begin(), seeds.end());
        std::unordered_map<VertexId, LocalId> place;
        for (std::size_t i = 0; i < seeds.size(); ++i)
            place.emplace(seeds[i], static_cast<LocalId>(i));
        std::uint64_t edges = 0;
        for (std::size_t layer = fanout.size(); layer-- > 0;) {
            std::vector<std::uint32_t> rows{0};
            std::vector<LocalId> entries;
            const std::size_t destinations = vertices.size();
            for (std::size_t i = 0; i < destinations; ++i) {
                for (const VertexId u : draw(vertices[i], fanout[layer])) {
                    const auto [found, is_new] =
                        place.emplace(u, static_cast<LocalId>(vertices.size()));
                    if (is_new) vertices.push_back(u);
                    entries.push_back(found->second);
                }
                rows.push_back(static_cast<std::uint32_t>(entries.size()));
            }
            edges += entries.size();
        }
        return edges;
    }

private:
    std::span<const VertexId> draw(VertexId v, std::uint32_t fanout) {
        drawn_.clear();
        const EdgeIndex begin = offsets_[v];
        const EdgeIndex degree = offsets_[v + 1] - begin;
        if (degree <= fanout) {
            for (EdgeIndex e = 0; e < degree; ++e)
                drawn_.push_back(neighbours_[begin + e]);
            return drawn_;
        }
        chosen_.clear();
        for (EdgeIndex j = degree - fanout; j < degree; ++j) {
            EdgeIndex t = std::uniform_int_distribution<EdgeIndex>(0, j)(random_);
            if (std::ranges::find(chosen_, t) != chosen_.end()) t = j;
            chosen_.push_back(t);
            drawn_.push_back(neighbours_[begin + t]);
        }
        return drawn_;
    }

    std::span<const EdgeIndex> offsets_;
    std::span<const std::uint32_t> neighbours_;
    std::mt19937 random_;
    std::vector<EdgeIndex> chosen_;
    std::vector<VertexId> drawn_;
};

/// The whole graph as the plain sampler wants it.
struct WholeGraph {
    std::vector<EdgeIndex> offsets{0};
    std::vector<std::uint32_t> neighbours;

    explicit WholeGraph(std::span<const partition::Part> parts) {
        for (const partition::Part& part : parts) {
            for (LocalId v = 0; v < part.own(); ++v) {
                for (const LocalId u : part.row(v))
                    neighbours.push_back(static_cast<std::uint32_t>(part.global(u)));
                offsets.push_back(neighbours.size());
            }
        }
    }
};

/// Millions of edges per second (of processor time) of one epoch.
double our_speed(const sample::NeighbourSource& source,
                 const std::vector<std::vector<VertexId>>& batches,
                 const sample::SamplerOptions& options = {}) {
    sample::NeighbourSampler sampler(source, options);
    sample::Batch batch;
    sampler.sample({}, batches.front(), batch);  // memory touched
    std::uint64_t edges = 0;
    const double start = cpu_seconds();
    for (std::size_t i = 0; i < batches.size(); ++i) {
        sampler.sample({0, i, 0}, batches[i], batch);
        edges += batch.edges();
    }
    return static_cast<double>(edges) / (cpu_seconds() - start) / 1e6;
}

/// Time per kept edge of samples that share their numbers over that of plain ones, in turns.
void shared_cost(const sample::NeighbourSource& source,
                 const std::vector<std::vector<VertexId>>& batches) {
    for (const std::uint64_t redraw : {1U, 8U, 32U, 128U}) {
        std::vector<double> speeds;
        std::vector<double> ratios;
        for (int i = 0; i < rounds; ++i) {
            const double plain = our_speed(source, batches);
            speeds.push_back(
                our_speed(source, batches, {.sampler = sample::Sampler::shared, .redraw = redraw}));
            ratios.push_back(plain / speeds.back());
        }
        fmt::print("shared, redraw {}: {:.1f} M edges/s, {:.2f} of plain's time (wanted: 1.5)\n",
                   redraw, median(speeds), median(ratios));
    }
}

double plain_speed(const WholeGraph& graph, const std::vector<std::vector<VertexId>>& batches) {
    PlainSampler sampler(graph.offsets, graph.neighbours);
    const std::vector<std::uint32_t> fanout{10, 25};
    std::uint64_t edges = 0;
    const double start = cpu_seconds();
    for (const auto& seeds : batches)
        edges += sampler.sample(seeds, fanout);
    return static_cast<double>(edges) / (cpu_seconds() - start) / 1e6;
}

struct QueueFigures {
    double speed;         ///< millions of edges per second
    double cpu_per_edge;  ///< nanoseconds of all threads
};

/// The same through the queue, with so many tasks.
QueueFigures queue_speed(const sample::Schedule& schedule, const sample::NeighbourSource& source,
                         int tasks) {
    sample::LookAheadOptions options;
    options.last_step = schedule.steps_per_epoch() * 10;
    options.tasks = tasks;
    options.parts = {0};
    sample::LookAhead queue(schedule, source, {}, options);
    for (int i = 0; i < 16; ++i)
        queue.recycle(queue.take());
    std::uint64_t edges = 0;
    const auto start = Clock::now();
    const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (;;) {
        sample::SampledStep step = queue.take();
        if (step.batches.empty()) break;
        edges += step.batches.front().edges();
        queue.recycle(std::move(step));
    }
    const auto count = static_cast<double>(edges);
    return {count / seconds_since(start) / 1e6,
            (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / count * 1e9};
}

std::vector<std::vector<VertexId>> all_batches(const sample::Schedule& schedule) {
    std::vector<std::vector<VertexId>> batches(schedule.steps_per_epoch());
    for (std::size_t i = 0; i < batches.size(); ++i)
        schedule.seeds(0, i, batches[i]);
    return batches;
}

/// The batches of so many epochs: what is kept from step to step is made in the first.
std::vector<std::vector<VertexId>> repeated(const std::vector<std::vector<VertexId>>& batches,
                                            int epochs) {
    std::vector<std::vector<VertexId>> all;
    for (int i = 0; i < epochs; ++i)
        all.insert(all.end(), batches.begin(), batches.end());
    return all;
}

void small_graph() {
    const bench::Bed bed("npm_deps", 1);
    const auto parts = bed.data().all_parts();
    const auto source =
        sample::make_replicated_source(comm::Communicator::local(), bed.data().book(), parts);
    const WholeGraph graph(parts);
    const sample::Schedule schedule(comm::Communicator::local(), parts, 1, {.batch = batch_size});
    const auto batches = all_batches(schedule);
    std::vector<double> ours;
    std::vector<double> plain;
    std::vector<double> ratio;
    std::vector<double> one;
    std::vector<double> two;
    std::vector<double> scaling;
    std::vector<double> cost;
    for (int i = 0; i < rounds; ++i) {
        plain.push_back(plain_speed(graph, batches));
        ours.push_back(our_speed(*source, batches));
        ratio.push_back(ours.back() / plain.back());
        const QueueFigures alone = queue_speed(schedule, *source, 1);
        const QueueFigures both = queue_speed(schedule, *source, 2);
        one.push_back(alone.speed);
        two.push_back(both.speed);
        scaling.push_back(both.speed / alone.speed);
        cost.push_back(both.cpu_per_edge / alone.cpu_per_edge);
    }
    fmt::print("{}, fan-out 10,25, batch {}, medians of {} rounds\n", bed.name(), batch_size,
               rounds);
    fmt::print("one thread: {:.1f} M edges/s, plain {:.1f}: {:.2f} times (wanted: 5)\n",
               median(ours), median(plain), median(ratio));
    fmt::print("look-ahead: one task {:.1f} M edges/s, two {:.1f}: {:.2f} times (wanted: 1.6)\n",
               median(one), median(two), median(scaling));
    fmt::print("processor time per edge, two tasks against one: {:.2f}\n", median(cost));
    shared_cost(*source, repeated(batches, 10));
}

/// Seeds in proportion to 4,000 of 2.4 million vertices.
void large_graph(VertexId vertices) {
    const bench::Bed bed(vertices);
    const auto parts = bed.data().all_parts();
    const auto source =
        sample::make_replicated_source(comm::Communicator::local(), bed.data().book(), parts);
    const WholeGraph graph(parts);
    const std::uint64_t batch = std::max<std::uint64_t>(vertices / 600, 1);
    const sample::Schedule schedule(comm::Communicator::local(), parts, 1, {.batch = batch});
    auto batches = all_batches(schedule);
    batches.resize(std::clamp<std::size_t>(batches.size(), 4, 40));
    const double plain = plain_speed(graph, {batches.begin(), batches.begin() + 4});
    std::vector<double> direct;
    std::vector<double> hashed;
    for (int i = 0; i < rounds; ++i) {
        direct.push_back(our_speed(*source, batches, {.direct_limit = ~VertexId{0}}));
        hashed.push_back(our_speed(*source, batches, {.direct_limit = 0}));
    }
    fmt::print("{}, {} stored edges, fan-out 10,25, batch {}, medians of {} rounds\n", bed.name(),
               graph.neighbours.size(), batch, rounds);
    fmt::print(
        "one thread: {:.1f} M edges/s with a table of all vertices, {:.1f} with one of the "
        "batch's (wanted: 70), plain {:.1f}\n",
        median(direct), median(hashed), plain);
    shared_cost(*source, batches);
}

/// Shared draws alone, again and again: what a profiler wants to see. Of npm_deps, or of so many
/// vertices.
void shared_alone(VertexId vertices, std::uint64_t redraw) {
    const bench::Bed bed = vertices == 0 ? bench::Bed("npm_deps", 1) : bench::Bed(vertices);
    const auto parts = bed.data().all_parts();
    const auto source =
        sample::make_replicated_source(comm::Communicator::local(), bed.data().book(), parts);
    const std::uint64_t batch =
        vertices == 0 ? batch_size : std::max<std::uint64_t>(vertices / 600, 1);
    const sample::Schedule schedule(comm::Communicator::local(), parts, 1, {.batch = batch});
    auto batches = all_batches(schedule);
    batches.resize(std::min<std::size_t>(batches.size(), 200));
    for (int i = 0; i < 5 * rounds; ++i)
        our_speed(*source, batches, {.sampler = sample::Sampler::shared, .redraw = redraw});
}

}  // namespace

// bench_sample_sampler [VERTICES [REDRAW]]
int main(int argc, char** argv) {
    if (argc > 2) {
        shared_alone(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
        return 0;
    }
    if (argc < 2) small_graph();
    large_graph(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 600'000);
    return 0;
}
