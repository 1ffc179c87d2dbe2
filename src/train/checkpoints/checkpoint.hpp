// Checkpoints: everything a run needs to go on as if it had never stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"
#include "rudder/train/options.hpp"
#include "train/learned/learned_table.hpp"

#include "run_state.hpp"
#include "trained_on.hpp"

namespace rudder::train {

inline constexpr std::string_view checkpoint_format = "rudder checkpoint";
/// 1: of steps whose last of an epoch could be short. 2: of even ones.
inline constexpr std::uint64_t checkpoint_version = 2;

/// What identifies a run: whoever goes on with it must have the same.
struct RunIdentity {
    nn::NetworkOptions network;
    TrainOptions train;
    std::string data;           ///< path of the partitioned data set
    std::string data_checksum;  ///< of its manifest
    std::uint64_t version = checkpoint_version;
    std::optional<TrainedOn> trained_on{};  ///< of that data set; earlier versions did not keep it
};

/// A named vector of floats beside the weights (the optimiser's, and weights under evaluation).
struct NamedFloats {
    std::string name;
    std::vector<float> values;
};

/// A checkpoint in memory. It owns all of it, so that it can be written beside training.
struct Checkpoint {
    RunIdentity identity;
    RunState state;
    std::vector<nn::Parameter> parameters;
    std::vector<float> weights;       ///< flat
    std::vector<NamedFloats> memory;  ///< of the optimiser
    std::uint64_t optimiser_steps = 0;
    LearnedState learned;  ///< where rows are learned
    /// Weights at the end of the last epoch, where its evaluation was still under way.
    std::vector<float> under_evaluation;
    /// Lines of decisions.jsonl that are not in it yet, since their outcome was not known.
    std::vector<std::string> open_decisions;
};

/// On all threads.
void copy_floats(std::span<const float> values, std::vector<float>& copy);

/// Where the checkpoint of a step lies: `checkpoints/step-N` below the run's folder.
[[nodiscard]] std::filesystem::path checkpoint_folder(const std::filesystem::path& run,
                                                      std::uint64_t step);

/// Where weights of the best epoch lie that have no checkpoint: `checkpoints/best-N`.
[[nodiscard]] std::filesystem::path best_folder(const std::filesystem::path& run,
                                                std::uint64_t step);
/// The step of either, by its name.
[[nodiscard]] std::optional<std::uint64_t> checkpoint_step(const std::filesystem::path& folder);
/// After which step the best epoch so far ended, if one was evaluated.
[[nodiscard]] std::optional<std::uint64_t> best_step(const RunState& state);

/// Writes `checkpoints/step-N` below a run's folder: weights.safetensors, optimiser.safetensors,
/// embeddings.safetensors where rows are learned, and state.json with their checksums; whole or not
/// at all. Gives its path.
std::filesystem::path write_checkpoint(const std::filesystem::path& run,
                                       const Checkpoint& checkpoint);

/// The same for `checkpoints/best-N`, which is no place to go on from.
std::filesystem::path write_best(const std::filesystem::path& run, const Checkpoint& checkpoint);

/// The checkpoints of a run's folder, oldest first; nothing of them is read.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);
/// The same of weights of best epochs.
[[nodiscard]] std::vector<std::filesystem::path> list_best(const std::filesystem::path& run);
/// Where the run stood, of a checkpoint whose other files are not read.
[[nodiscard]] RunState read_run_state(const std::filesystem::path& folder);

/// Reads one and verifies it. A damaged one is an input Error that names it and offers the one
/// before; so is one of a newer version.
[[nodiscard]] Checkpoint read_checkpoint(const std::filesystem::path& folder);

/// Refuses a checkpoint of another run: model or options (usage Error) or data (input Error), with
/// the list of what differs. What changes no result (ranks, threads, topology, window, ...) may
/// differ; there may be more epochs.
void check_same_run(const RunIdentity& saved, const RunIdentity& now, const std::string& where);

/// Which checkpoint is the best by validation, as a file beside them says.
void mark_best(const std::filesystem::path& run, const std::filesystem::path& checkpoint);
[[nodiscard]] std::optional<std::filesystem::path> best_checkpoint(
    const std::filesystem::path& run);

/// For a run that goes on after `step`: what was marked as best later is not, since that is trained
/// again; `best` is, the step of the best epoch until then.
void settle_best(const std::filesystem::path& run, std::uint64_t step,
                 std::optional<std::uint64_t> best);

/// A network as a run left it, with what is needed to use it.
struct SavedNetwork {
    nn::NetworkOptions options;
    std::vector<float> weights;  ///< flat, as Network::weights
    std::vector<float> rows;     ///< learned ones: LearnedState::values
    std::uint64_t step = 0;      ///< steps it was trained for
    std::uint32_t epoch = 0;
    std::filesystem::path checkpoint;
    std::optional<std::uint64_t>
        lost_best;              ///< step of the best epoch, where other weights are used
    std::string data;           ///< path of the partitioned data set it was trained on
    std::string data_checksum;  ///< of that data set's manifest
    TrainOptions train;  ///< as far as evaluation needs them: fan-outs, batch, seed, topology
    std::optional<TrainedOn> trained_on;  ///< of that data set, where it is known
};

/// The network of a run folder for inference: the best by validation if there is one, else the
/// last; or of the folder of one checkpoint. No usable checkpoint is an input Error that names what
/// was found.
[[nodiscard]] SavedNetwork load_network(const std::filesystem::path& folder);

}  // namespace rudder::train
