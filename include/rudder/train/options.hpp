// What a training run is asked to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/buffer/buffer_scope.hpp"
#include "rudder/buffer/policy_spec.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"
#include "rudder/sample/batch.hpp"
#include "rudder/steer/agent_spec.hpp"
#include "rudder/steer/steering_options.hpp"
#include "rudder/store/precision.hpp"

namespace rudder::train {

/// Where a rank finds neighbours: in a copy of the whole graph on its host, with the owners, or
/// (choose) the first if it takes at most a quarter of the host's memory.
enum class TopologyChoice : std::uint8_t { choose, replicated, partitioned };

/// What is learned: the targets of vertices, which vertices are joined, or the targets of edges.
enum class TaskKind : std::uint8_t { vertex, link, edge };

/// How links are learned and scored; of no effect on the other tasks.
struct LinkOptions {
    /// In a graph of several types, the edges that are links; empty: those of the only type whose
    /// edges do not go back for others.
    std::string type{};
    nn::PairScorer scorer = nn::PairScorer::dot;
    nn::LinkLoss loss = nn::LinkLoss::binary;
    /// KIND[:N]: N pairs that are drawn beside each link, their targets among all vertices
    /// (uniform), by degree (degree), among the targets of the batch (in-batch), or among the pairs
    /// of `negatives_from` (given).
    std::string negatives = "uniform:1";
    /// Pairs that a link is ranked among in evaluation; 0: those with all vertices.
    std::uint64_t eval_negatives = 1000;
    /// Table of pairs that links are ranked among, and that `given` draws from; empty: none.
    std::string negatives_from{};
    bool unfiltered = false;  ///< it is ranked among the other links of its source, too
};

/// Who steers when nobody said which policy or agent is wanted.
inline constexpr std::string_view default_agent = "bandit";

/// Who steers the buffers, and how it is asked.
struct SteerOptions {
    std::string agent = "never";  ///< NAME[:VALUE]{,KEY:VALUE}
    steer::AgentMode mode = steer::AgentMode::async;
    steer::AgentScope scope = steer::AgentScope::host;
    double deadline = 30;        ///< seconds an answer may take
    double guard = 0.01;         ///< rows steering may cost, as a share of the built-in rule's
    bool link = false;           ///< hosts talk over a modelled link: what counts is time
    bool force = false;          ///< repeat the decisions of another run
    bool replies_twice = false;  ///< for tests: every answer comes a second time
    steer::LlmOptions llm{};
    /// Nobody steers: each buffer is told by chance, and both answers are tried.
    std::optional<steer::CollectOptions> collect{};
};

struct TrainOptions {
    TaskKind task = TaskKind::vertex;
    LinkOptions links{};
    std::string model = "sage";
    int layers = 2;
    std::uint64_t hidden = 256;
    double dropout = 0.5;
    double input_dropout = 0;
    std::uint64_t heads = 4;             ///< of attention
    std::string norm = "none";           ///< of hidden layers: none, batch, layer
    bool residual = false;               ///< around hidden layers
    std::string class_weights = "none";  ///< none, balanced
    std::uint64_t bases = 8;             ///< of rgcn
    /// Columns of rows that are learned for vertices without features: 64, or by type
    /// author=64,venue=16; empty: none are.
    std::string embeddings{};

    std::vector<std::int32_t> fanout{10, 25};  ///< input side first, one per layer
    std::string type_fanout{};  ///< of types of edges, NAME:N,N;...; others have `fanout`
    bool with_replacement = false;
    /// none: shared, or plain with replacement or by weight
    std::optional<sample::Sampler> sampler{};
    /// Steps between a vertex's shared numbers; none: 32, at most an epoch.
    std::optional<std::uint64_t> redraw{};
    bool weighted = false;       ///< neighbours are drawn and averaged by the edges' weights
    bool edge_features = false;  ///< messages carry the features of edges
    sample::Temporal temporal = sample::Temporal::off;  ///< seeds see edges before their time
    std::uint64_t batch = 1000;
    sample::SeedOrder seed_order = sample::SeedOrder::random;
    std::uint32_t epochs = 10;
    /// Epochs; 0: never; none: as often as keeps evaluation under a fifth of the time.
    std::optional<std::uint32_t> eval_every{};
    std::string eval = "exact";  ///< exact (all neighbours) or sampled (as in training)
    std::uint64_t seed = 0;

    nn::OptimiserOptions optimiser;
    /// As which the parts' gradients are added up: float32, or bfloat16 (each rounded, and the sum)
    std::string gradient_precision = "float32";
    std::string lr_schedule = "constant";
    std::uint64_t warmup = 0;    ///< steps
    std::uint32_t patience = 0;  ///< evaluations without a better one until training ends; 0: any

    std::string policy = "window";                ///< NAME[:VALUE]{,KEY:VALUE}
    std::optional<std::uint64_t> window{};        ///< steps looked ahead; as in window:W (16)
    double buffer = 0.25;                         ///< rows kept, as a fraction of the halo
    std::optional<std::uint64_t> buffer_rows{};   ///< or so many
    std::optional<std::uint64_t> buffer_bytes{};  ///< or as many as fit
    buffer::BufferScope buffer_scope = buffer::BufferScope::host;
    std::filesystem::path trace{};  ///< folder for the steps' remote ids; empty: none
    bool profile = false;           ///< records what threads do during one epoch
    std::uint32_t profile_epoch =
        0;               ///< which, from 1; 0: the second the run does, or the only one
    bool floor = false;  ///< also without a trace: the fewest rows possible
    SteerOptions steer{};
    std::uint64_t in_flight = 2;  ///< assembled steps that exist at once
    int sample_tasks = 0;         ///< that draw steps side by side; 0: a quarter of the threads
    std::uint64_t bulk = 0;       ///< most rows per message between ranks; 0: about 256 KiB of them
    store::Precision precision = store::Precision::native;
    std::string coding = "off";  ///< of messages, without loss: off, or auto (where it pays)
    bool force_coding = false;   ///< for tests: wherever it makes messages shorter
    store::SparseChoice sparse = store::SparseChoice::choose;
    store::Shards shards = store::Shards::mapped;
    TopologyChoice topology = TopologyChoice::choose;
    /// What passes and the optimiser run on: cpu, cuda[:N], or auto (a GPU if there is one that
    /// can).
    std::string device = "cpu";
    std::string slow{};        ///< RANK:FACTOR[:FROM-TO]: that rank computes so much slower
    std::uint64_t memory = 0;  ///< bytes a host may use; 0: what it has
    bool shrinks = false;      ///< a buffer beyond the memory is made smaller, not refused
    bool verify = true;        ///< the checksums of the parts, before the first step
};

/// The fan-outs a network of so many layers has unless told otherwise, input side first.
[[nodiscard]] std::vector<std::int32_t> default_fanout(int layers);

/// Whether the run may change the window: the policy is `window` and nobody said how long it is.
[[nodiscard]] bool window_adapts(const TrainOptions& options);
/// The policy of the options, with its window. A usage Error for what a run cannot have: unknown
/// names and keys, two different windows, rules that need a recorded trace.
[[nodiscard]] buffer::PolicySpec policy_of(const TrainOptions& options);
/// The agent of the options. A usage Error for unknown names and keys.
[[nodiscard]] steer::AgentSpec agent_of(const TrainOptions& options);
/// Whether someone steers: there is a buffer, and an agent that could change anything about it.
[[nodiscard]] bool steered(const TrainOptions& options);
/// What the user should know about an agent beside this policy; empty: nothing.
[[nodiscard]] std::string agent_advice(const steer::AgentSpec& agent,
                                       const buffer::PolicySpec& policy);
/// How neighbours are drawn.
[[nodiscard]] sample::Sampler sampler_of(const TrainOptions& options) noexcept;
/// Steps between two numbers of a vertex in epochs of so many steps; 1 where they are not shared.
[[nodiscard]] std::uint64_t redraw_of(const TrainOptions& options,
                                      std::uint64_t epoch_steps) noexcept;
/// What the user should know about the redraw they chose in a run of so many steps; empty: nothing.
[[nodiscard]] std::string redraw_advice(const TrainOptions& options, std::uint64_t steps);
/// How many tasks draw steps side by side.
[[nodiscard]] int sampling_tasks(const TrainOptions& options) noexcept;
/// How many steps are sampled ahead.
[[nodiscard]] std::uint64_t steps_ahead(const TrainOptions& options);

/// Refuses (usage Error) what cannot be meant: no seeds per batch, fan-outs that do not match the
/// layers, unknown names, rates outside their range.
void check_options(const TrainOptions& options);

}  // namespace rudder::train
