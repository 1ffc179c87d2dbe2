// The names of what links can be learned by, and what is drawn beside them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rudder/train/options.hpp"
#include "sample/links.hpp"

namespace rudder::train {

/// In the order of nn::PairScorer, nn::LinkLoss and sample::Negatives.
[[nodiscard]] std::vector<std::string_view> pair_scorer_names();
[[nodiscard]] std::vector<std::string_view> link_loss_names();
[[nodiscard]] std::vector<std::string_view> negative_names();

/// Pairs that are drawn beside a link.
struct NegativeDraws {
    sample::Negatives kind = sample::Negatives::uniform;
    std::uint32_t count = 1;
};
/// KIND[:N]; a usage Error otherwise.
[[nodiscard]] NegativeDraws parse_negatives(std::string_view text);

/// Refuses (usage Error) what does not go with links, or with one another among their options.
void check_link_options(const TrainOptions& options);

}  // namespace rudder::train
