#include "evaluator.hpp"

#include "core/executor/queue.hpp"
#include "core/span.hpp"
#include "rudder/core/array.hpp"
#include "train/input_rows.hpp"
#include "train/steps/seed_targets.hpp"

namespace rudder::train {

/// The vertices of one batch to be scored.
struct SampledEvaluator::Job {
    const partition::Part* part;
    graph::Role role;
    std::uint64_t number;  ///< among the batches of its part and role
    std::vector<VertexId> seeds;
};

/// A batch with its rows, on its way from the task that fetches to the one that computes.
struct SampledEvaluator::Prepared {
    const Job* job = nullptr;
    sample::Batch batch;
    Array<float> rows;
};

namespace {

struct SampledScores {
    Score valid;
    Score test;
};

}  // namespace

SampledEvaluator::SampledEvaluator(const comm::Communicator& comm,
                                   std::span<const partition::Part> own,
                                   const sample::NeighbourSource& source,
                                   const store::FeatureStore& store, Options options)
    : comm_(comm), own_(own), source_(source), store_(store), options_(std::move(options)) {}

std::vector<SampledEvaluator::Job> SampledEvaluator::jobs() const {
    std::vector<Job> jobs;
    for (const partition::Part& part : own_) {
        const auto roles = part.roles();
        for (const graph::Role role : {graph::Role::valid, graph::Role::test}) {
            std::uint64_t number = 0;
            std::vector<VertexId> seeds;
            const auto flush = [&] {
                if (!seeds.empty()) jobs.push_back({&part, role, number++, std::move(seeds)});
                seeds.clear();
            };
            for (std::size_t v = 0; v < roles.size(); ++v) {
                if (roles[v] != role ||
                    !graph::is_labelled(part.info().targets, part.targets(), v)) {
                    continue;
                }
                seeds.push_back(part.range().begin + v);
                if (seeds.size() == options_.batch) flush();
            }
            flush();
        }
    }
    return jobs;
}

void SampledEvaluator::prepare(std::span<const Job> jobs, BoundedQueue<Prepared>& ready) const {
    sample::NeighbourSampler sampler(source_, {.fanout = options_.fanout,
                                               .seed = options_.seed,
                                               .purpose = Purpose::evaluate,
                                               .kind = comm::Kind::evaluation,
                                               .degrees = options_.degrees,
                                               .weighted = options_.weighted,
                                               .edge_features = options_.edge_features,
                                               .temporal = options_.temporal,
                                               .times = options_.times,
                                               .types = options_.types});
    for (const Job& job : jobs) {
        Prepared next;
        next.job = &job;
        sampler.sample({.step = job.number, .part = job.part->id()}, job.seeds, next.batch);
        next.rows =
            Array<float>::uninitialised(next.batch.vertices.size() * store_.format().row_floats());
        const store::RowsWanted wanted{next.batch.vertices, next.rows.span(),
                                       next.batch.distinct()};
        store_.pull(std::span(&wanted, 1), comm::Kind::evaluation).wait();
        if (!ready.push(std::move(next))) return;
    }
}

void SampledEvaluator::score(nn::Network& network, const Prepared& batch, SeedTargetReader& reader,
                             std::vector<float>& answers, Score& score) const {
    answers.resize(batch.job->seeds.size() * options_.outputs);
    network.predict(batch.batch, input_rows(store_.format(), batch.rows.span()), answers);
    const nn::BatchResult result =
        nn::count_correct(options_.objective, options_.outputs, answers,
                          reader.gather(*batch.job->part, batch.job->seeds));
    score.correct += result.correct;
    score.answers += result.answers;
    score.loss += static_cast<double>(result.loss);
}

void SampledEvaluator::evaluate(nn::Network& network, Scores& scores) const {
    const Span span("evaluating");
    const std::vector<Job> all = jobs();
    BoundedQueue<Prepared> ready(1);
    Task fetcher = Executor::current().spawn("evaluation", [&] {
        try {
            prepare(all, ready);
            ready.close();
        } catch (...) {
            ready.close();  // the other side sees the end, and the failure when it joins
            throw;
        }
    });
    struct Ending {
        Task& task;
        ~Ending() { task.end(); }
    } const ending{fetcher};  // it uses what is on this stack
    std::vector<SampledScores> own(own_.size());
    SeedTargetReader reader;
    std::vector<float> answers;
    while (const std::optional<Prepared> next = ready.pop()) {
        SampledScores& part = own[next->job->part->id() - own_.front().id()];
        score(network, *next, reader, answers,
              next->job->role == graph::Role::valid ? part.valid : part.test);
    }
    fetcher.join();
    // Rank by rank is part by part: the sums have the same bits however the parts are spread.
    scores.valid = {};
    scores.test = {};
    for (const auto& rank :
         comm_.all_gather(std::span<const SampledScores>(own), comm::Kind::evaluation)) {
        for (const SampledScores& part : rank) {
            scores.valid += part.valid;
            scores.test += part.test;
        }
    }
    scores.evaluated = true;
}

}  // namespace rudder::train
