// The options of training as data, by group: what each is called, may be and means.
#pragma once

#include <cstdint>
#include <span>

#include "core/setting.hpp"
#include "rudder/train/options.hpp"

namespace rudder::train {

/// Options that verbs take or leave together.
enum class OptionGroup : std::uint8_t {
    model,       ///< the network
    task,        ///< what is learned
    sampling,    ///< seeds and neighbours
    training,    ///< epochs and the optimiser
    seed,        ///< of all random draws
    evaluation,  ///< when and how scores are computed
    policy,      ///< which remote rows are kept
    buffer,      ///< its size, and steps of look-ahead
    agent,       ///< which agent steers
    steering,    ///< how agents are asked
    guard,       ///< what they may cost
    llm,         ///< the server of agent llm
    llm_model,   ///< its model
    storage,     ///< feature rows and topology
    limits,      ///< memory, checksums
    slowness,    ///< a rank that is made slow
    profile,     ///< the epoch of a profile
    device,      ///< what computes
};
inline constexpr std::size_t option_groups = 18;

/// The options of a group, in the order of help texts.
[[nodiscard]] std::span<const Setting<TrainOptions>> options_of(OptionGroup group);
/// Those of all groups.
[[nodiscard]] std::span<const Setting<TrainOptions>> all_options();

}  // namespace rudder::train
