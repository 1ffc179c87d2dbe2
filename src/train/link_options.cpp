#include "link_options.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::train {

namespace {

constexpr std::uint32_t most_negatives = 100'000;

[[noreturn]] void refuse_negatives(std::string_view text) {
    throw usage_error(fmt::format("invalid negatives: '{}'", text), "negatives",
                      fmt::format("give {}, and how many beside each link (1 to {}), such as "
                                  "uniform:5",
                                  join(negative_names(), ", "), most_negatives));
}

/// Of options that say something about vertices.
void refuse_beside(std::string_view task, bool given, std::string_view option) {
    if (!given) return;
    throw usage_error(fmt::format("task '{}' does not go with {}", task, option), "task",
                      fmt::format("leave {} out", option.substr(0, option.find(' '))));
}

}  // namespace

std::vector<std::string_view> pair_scorer_names() {
    return {"dot", "distmult", "mlp"};
}

std::vector<std::string_view> link_loss_names() {
    return {"binary", "softmax", "bpr"};
}

std::vector<std::string_view> negative_names() {
    return {"uniform", "degree", "in-batch", "given"};
}

NegativeDraws parse_negatives(std::string_view text) {
    NegativeDraws draws;
    const std::size_t colon = text.find(':');
    const std::vector<std::string_view> names = negative_names();
    const auto found = std::ranges::find(names, text.substr(0, colon));
    if (found == names.end()) refuse_negatives(text);
    draws.kind = static_cast<sample::Negatives>(found - names.begin());
    if (colon == std::string_view::npos) return draws;
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), draws.count);
    const bool read = error == std::errc() && end == number.data() + number.size();
    if (!read || draws.count < 1 || draws.count > most_negatives) refuse_negatives(text);
    return draws;
}

void check_link_options(const TrainOptions& options) {
    const NegativeDraws draws = parse_negatives(options.links.negatives);
    if (draws.kind == sample::Negatives::given && options.links.negatives_from.empty()) {
        throw usage_error("no pairs are given", "negatives",
                          "name their table with --negatives-from FILE");
    }
    if (options.task != TaskKind::link && !options.links.type.empty()) {
        throw usage_error("--link-type says which edges are links, and none are learned",
                          "--link-type", "give --task link, or leave it out");
    }
    if (options.task == TaskKind::vertex) return;
    const bool links = options.task == TaskKind::link;
    const std::string_view task = links ? "link" : "edge";
    refuse_beside(task, links && options.weighted, "--weighted");
    refuse_beside(task, links && options.edge_features, "--edge-features");
    refuse_beside(task, options.temporal != sample::Temporal::off, "--temporal");
    refuse_beside(task, options.seed_order != sample::SeedOrder::random, "--seed-order clustered");
    refuse_beside(task, links && options.class_weights != "none", "--class-weights");
    refuse_beside(task, options.eval != "exact", "--eval sampled");
}

}  // namespace rudder::train
