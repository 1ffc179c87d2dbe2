// Evaluation by sampling: the network's answers on vertices it was not trained on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/executor/queue.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/train/records.hpp"
#include "sample/sampler.hpp"
#include "store/feature_store.hpp"
#include "train/steps/seed_targets.hpp"

namespace rudder::train {

/// Scores validation and test vertices of the own parts, in batches, with neighbours drawn as in
/// training but from a stream of its own: the same ones in every epoch. Its bytes count as
/// `evaluation`.
class SampledEvaluator {
public:
    struct Options {
        std::vector<std::int32_t> fanout;
        std::uint64_t batch = 1000;
        std::uint64_t seed = 0;
        nn::Objective objective = nn::Objective::classes;
        std::uint64_t outputs = 0;
        bool degrees = false;  ///< the network wants them
        bool weighted = false;
        graph::FeatureInfo edge_features{};  ///< that the network reads
        sample::Temporal temporal = sample::Temporal::off;
        const sample::SeedTimes* times = nullptr;      ///< unless that is off
        const sample::TypedSampling* types = nullptr;  ///< of a graph of several types
    };

    /// Everything given must outlive it.
    SampledEvaluator(const comm::Communicator& comm, std::span<const partition::Part> own,
                     const sample::NeighbourSource& source, const store::FeatureStore& store,
                     Options options);

    /// Collective: the scores over all ranks. `scores.train` is left alone.
    void evaluate(nn::Network& network, Scores& scores) const;

private:
    struct Job;
    struct Prepared;
    [[nodiscard]] std::vector<Job> jobs() const;
    /// Samples and fetches all of them, in a task of its own.
    void prepare(std::span<const Job> jobs, BoundedQueue<Prepared>& ready) const;
    void score(nn::Network& network, const Prepared& batch, SeedTargetReader& reader,
               std::vector<float>& answers, Score& score) const;

    const comm::Communicator& comm_;
    std::span<const partition::Part> own_;
    const sample::NeighbourSource& source_;
    const store::FeatureStore& store_;
    Options options_;
};

}  // namespace rudder::train
