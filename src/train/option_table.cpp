#include "train/option_table.hpp"

#include <array>

#include "train/device_choice.hpp"
#include "train/link_options.hpp"
#include "train/steps/class_weights.hpp"

namespace rudder::train {

namespace {

using Table = std::vector<Setting<TrainOptions>>;
using Names = std::vector<std::string_view>;
using O = TrainOptions;
using S = SteerOptions;
using L = steer::LlmOptions;
using K = LinkOptions;
using Optimiser = nn::OptimiserOptions;

constexpr Marks identity = Marks::identity;
constexpr Marks further = Marks::further;
constexpr Marks derived = Marks::derived;
constexpr Marks added = Marks::added;

template <auto... Path>
Setting<O> option(std::string_view name, std::string_view help, Marks marks = Marks::none) {
    return setting<O, Path...>(name, help, marks);
}

/// The names of what a registry lists.
Names names_of(const auto& registry) {
    Names names;
    for (const auto* info : registry)
        names.emplace_back(info->name);
    return names;
}

constexpr double most_vertices = 4294967295;  ///< of a part, whose ids have 32 bits
constexpr double most_epochs = 1e9;
constexpr double most_steps = 1e15;
constexpr double most_rows = 9e15;    ///< what a double counts one by one
constexpr double rows_at_most = 1e6;  ///< of a halo's size, or neighbours per vertex

Table model_options() {
    return {
        option<&O::model>("model", "Network", identity).among(nn::model_names),
        option<&O::layers>("layers", "Number of layers", identity).limit(1, 64),
        option<&O::hidden>("hidden", "Width of hidden layers", identity).limit(1, 65536),
        option<&O::dropout>("dropout", "Dropout in hidden layers", identity).at_least(0).below(1),
        option<&O::heads>("heads", "Number of attention heads (gat, gatv2)", identity | further)
            .limit(1, 1024),
        option<&O::bases>("bases", "Number of bases of types of edges (rgcn)",
                          identity | further | added)
            .limit(1, 1024),
        option<&O::embeddings>("embeddings",
                               "Learn rows of so many columns for vertices without features, or\n"
                               "by type: author=64,venue=16",
                               identity | further | added)
            .in("WIDTH"),
        option<&O::norm>("norm", "Normalisation of hidden layers", identity | further)
            .among(nn::norm_names),
        option<&O::residual>("residual", "Residual connections around hidden layers",
                             identity | further),
        option<&O::class_weights>("class-weights", "Weights of classes in the loss",
                                  identity | further)
            .among(class_weight_names),
        option<&O::input_dropout>("input-dropout", "Dropout of input features", identity | further)
            .at_least(0)
            .below(1),
    };
}

Table task_options() {
    return {
        option<&O::task>("task",
                         "What is learned: targets of vertices, links between them, or\n"
                         "targets of edges",
                         identity | further | added)
            .among({"vertex", "link", "edge"}),
        option<&O::links, &K::type>("link-type",
                                    "Type of the edges that are links, of a graph of several",
                                    identity | further | added)
            .in("NAME"),
        option<&O::links, &K::scorer>("scorer", "How pairs of vertices are scored (task link)",
                                      identity | further | added)
            .among(pair_scorer_names),
        option<&O::links, &K::loss>("link-loss", "Loss of links and the pairs drawn beside them",
                                    identity | further | added)
            .among(link_loss_names),
        option<&O::links, &K::negatives>(
            "negatives",
            "Pairs drawn beside each link: uniform, degree, in-batch or\n"
            "given (--negatives-from), and how many (uniform:1)",
            identity | further | added)
            .offering(negative_names)
            .in("KIND:N"),
        option<&O::links, &K::negatives_from>(
            "negatives-from",
            "Table of pairs that links are ranked among: source, target,\n"
            "split (which links: train, valid or test)",
            identity | further | added)
            .in("FILE"),
        option<&O::links, &K::eval_negatives>(
            "eval-negatives", "Pairs that a link is ranked among in evaluation (0 = all)",
            identity | further | added)
            .limit(0, most_vertices),
        option<&O::links, &K::unfiltered>("unfiltered",
                                          "Rank a link among other links of its source, too",
                                          identity | further | added),
    };
}

Table sampling_options() {
    return {
        option<&O::fanout>("fanout", "Neighbours per layer, input side first (10,25); -1 = all",
                           identity | derived)
            .limit(-1, rows_at_most),
        option<&O::type_fanout>("type-fanout",
                                "Neighbours by type of edges: NAME:10,25;NAME:5,0 (0 = none)",
                                identity | further | added),
        option<&O::batch>("batch", "Batch size: seeds per part and step (about 20 steps per epoch)",
                          identity | derived)
            .limit(1, most_vertices),
        option<&O::seed_order>("seed-order", "Order of seeds", identity | further)
            .among({"random", "clustered"}),
        option<&O::with_replacement>("with-replacement", "Sample neighbours with replacement",
                                     identity | further),
        option<&O::sampler>("sampler",
                            "How neighbours are drawn (shared; by numbers that all vertices\n"
                            "share, so that steps need fewer rows)",
                            identity | further | derived | added)
            .among({"plain", "shared"}),
        option<&O::redraw>("redraw",
                           "Steps between redraws of a vertex, if shared (32, at most an epoch)",
                           identity | further | derived | added)
            .limit(1, static_cast<double>(sample::most_redraw)),
        option<&O::weighted>("weighted",
                             "Draw and average neighbours by the weights of edges (sage)",
                             identity | further | added),
        option<&O::edge_features>("edge-features",
                                  "Messages carry the features of edges (sage, gat, gatv2)",
                                  identity | further | added),
        option<&O::temporal>("temporal",
                             "Seeds see edges strictly before their own time: the newest, or any\n"
                             "of them (uniform)",
                             identity | further | added)
            .among({"off", "newest", "uniform"}),
        option<&O::sample_tasks>("sample-tasks",
                                 "Number of concurrent sampling tasks (0 = a quarter of --threads)",
                                 further)
            .limit(0, 1024),
    };
}

Table training_options() {
    return {
        option<&O::epochs>("epochs", "Number of epochs", identity).limit(0, most_epochs),
        option<&O::optimiser, &Optimiser::learning_rate>("lr", "Learning rate", identity).above(0),
        option<&O::optimiser, &Optimiser::name>("optimizer", "Optimizer", identity | further)
            .among(nn::optimiser_names),
        option<&O::lr_schedule>("lr-schedule",
                                "Learning-rate schedule: constant, cosine, linear,\n"
                                "step:EPOCHS,FACTOR or plateau:EVALUATIONS,FACTOR",
                                identity | further)
            .offering([] {
                return Names{"constant", "cosine", "linear", "step:", "plateau:"};
            }),
        option<&O::warmup>("warmup", "Learning-rate warm-up, in steps", identity | further)
            .limit(0, most_steps),
        option<&O::optimiser, &Optimiser::clip>(
            "clip", "Clip the gradient norm to this value (0 = off)", identity | further)
            .at_least(0),
        option<&O::optimiser, &Optimiser::momentum>("momentum", "Momentum (sgd only)",
                                                    identity | further)
            .at_least(0)
            .below(1),
        option<&O::optimiser, &Optimiser::weight_decay>(
            "weight-decay", "Weight decay (L2; decoupled with adamw)", identity | further)
            .at_least(0),
        option<&O::gradient_precision>("gradient-precision", "Precision of gradients between ranks",
                                       identity | further | added)
            .among({"float32", "bfloat16"}),
    };
}

Table seed_options() {
    return {option<&O::seed>("seed", "Random seed: the same seed repeats a run exactly", identity)};
}

Table evaluation_options() {
    return {
        option<&O::eval>("eval", "Evaluation (exact = over all neighbours)", identity | further)
            .among({"exact", "sampled"}),
        option<&O::eval_every>("eval-every",
                               "Epochs between evaluations (0 = never, auto = evaluation takes\n"
                               "under a fifth of the time)",
                               identity | further)
            .limit(0, most_epochs)
            .or_else("auto"),
        option<&O::patience>("patience",
                             "Early stopping: evaluations without improvement (0 = off)",
                             identity | further)
            .limit(0, most_epochs),
    };
}

Table policy_options() {
    return {option<&O::policy>("policy", "Buffer policy; see replay --policies").offering([] {
        return names_of(buffer::all_policies());
    })};
}

Table buffer_options() {
    return {
        option<&O::window>("window", "Look-ahead in steps, as in window:16").limit(1, 1e6),
        option<&O::buffer>("buffer", "Buffer size as a fraction of the halo (0.25)", derived)
            .limit(0, rows_at_most),
        option<&O::buffer_rows>("buffer-rows", "Buffer size in rows, instead of --buffer", further)
            .limit(0, most_rows),
        option<&O::buffer_bytes>("buffer-bytes", "Buffer size in bytes, such as 500MB", further)
            .in_bytes(),
    };
}

Table agent_options() {
    return {option<&O::steer, &S::agent>("agent", "Agent that steers the buffer; see agent list",
                                         derived)
                .offering([] { return names_of(steer::all_agents()); })};
}

Table steering_options() {
    return {
        option<&O::steer, &S::mode>("agent-mode", "Agent mode (sync = steps wait for its answers)",
                                    further)
            .among({"async", "sync"}),
        option<&O::steer, &S::scope>("agent-scope", "Scope of an agent", further)
            .among({"rank", "host", "job"}),
        option<&O::steer, &S::deadline>("agent-deadline", "Time limit of an agent's answer",
                                        further)
            .limit(0, 1e7)
            .above(0)
            .in("SECONDS"),
    };
}

Table guard_options() {
    return {option<&O::steer, &S::guard>(
                "guard", "Rows an agent may cost, as a share of the built-in rule's", further)
                .limit(0, 1e6)
                .in("SHARE")};
}

Table llm_options() {
    return {
        option<&O::steer, &S::llm, &L::url>(
            "llm-url", "Server of agent llm (default: Ollama on this machine)", further),
        option<&O::steer, &S::llm, &L::api>("llm-api", "Protocol of the server of agent llm",
                                            further)
            .among({"auto", "openai", "ollama"}),
        option<&O::steer, &S::llm, &L::insecure>(
            "llm-insecure", "Allow a server on another machine without TLS", further),
    };
}

Table llm_model_options() {
    return {option<&O::steer, &S::llm, &L::model>(
        "llm-model", "Model of agent llm (default: the server's first)", further)};
}

Table storage_options() {
    return {
        option<&O::precision>("precision", "Precision of feature rows", identity)
            .among({"native", "float32", "bfloat16", "int8", "int4"}),
        option<&O::coding>("coding", "Lossless coding of messages between hosts (auto = if faster)",
                           further | added)
            .among({"off", "auto"}),
        option<&O::sparse>("sparse", "Sparse feature rows (auto = if at most a quarter as long)",
                           identity | further | added)
            .among({"auto", "on", "off"}),
        option<&O::topology>("topology", "Graph topology on each host", further)
            .among({"auto", "replicated", "partitioned"}),
        option<&O::shards>("shards", "Feature rows on each host (shared = in shared memory)",
                           further)
            .among({"mapped", "shared"}),
        option<&O::bulk>("bulk", "Maximum rows per message between ranks (0 = about 256 KiB)",
                         further)
            .limit(0, most_vertices)
            .in("ROWS"),
        option<&O::in_flight>("in-flight", "Number of assembled steps in memory", further)
            .limit(1, 1024),
        option<&O::buffer_scope>("buffer-scope", "Scope of a shared buffer", further)
            .among({"host", "rank"}),
    };
}

Table limit_options() {
    return {
        option<&O::memory>("memory", "Memory limit per host, such as 8GiB (0 = none)",
                           further | derived)
            .in_bytes(),
        off_setting<O, &O::verify>("trust-data", "Skip the checksums of the parts", further),
    };
}

Table slowness_options() {
    return {option<&O::slow>("slow", "Slow down a rank's computing, such as 1:2.5 or 1:2.5:300-600",
                             further)
                .in("RANK:FACTOR")};
}

Table profile_options() {
    return {option<&O::profile_epoch>("profile-epoch",
                                      "Epoch that --profile records (default: the second)",
                                      further | derived)
                .limit(0, most_epochs)
                .in("N")};
}

Table device_options() {
    return {option<&O::device>("device",
                               "What computes: cpu, a GPU (cuda, cuda:1), or auto (a GPU if there\n"
                               "is one that can)",
                               further | added)
                .offering([] { return device_names(); })
                .in("DEVICE")};
}

const std::array<Table, option_groups>& tables() {
    static const std::array<Table, option_groups> all{
        model_options(),     task_options(),       sampling_options(), training_options(),
        seed_options(),      evaluation_options(), policy_options(),   buffer_options(),
        agent_options(),     steering_options(),   guard_options(),    llm_options(),
        llm_model_options(), storage_options(),    limit_options(),    slowness_options(),
        profile_options(),   device_options()};
    return all;
}

}  // namespace

std::span<const Setting<TrainOptions>> options_of(OptionGroup group) {
    return tables().at(static_cast<std::size_t>(group));
}

std::span<const Setting<TrainOptions>> all_options() {
    static const Table all = [] {
        Table list;
        for (const Table& table : tables())
            list.insert(list.end(), table.begin(), table.end());
        return list;
    }();
    return all;
}

}  // namespace rudder::train
