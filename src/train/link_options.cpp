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
void refuse_beside_links(bool given, std::string_view option, std::string_view remedy) {
    if (!given) return;
    throw usage_error(fmt::format("task 'link' does not go with {}", option), "task",
                      std::string(remedy));
}

}  // namespace

std::vector<std::string_view> pair_scorer_names() {
    return {"dot", "distmult", "mlp"};
}

std::vector<std::string_view> link_loss_names() {
    return {"binary", "softmax", "bpr"};
}

std::vector<std::string_view> negative_names() {
    return {"uniform", "degree", "in-batch"};
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
    static_cast<void>(parse_negatives(options.links.negatives));
    if (options.task == TaskKind::vertex) return;
    refuse_beside_links(options.weighted, "--weighted", "leave --weighted out");
    refuse_beside_links(options.temporal != sample::Temporal::off, "--temporal",
                        "leave --temporal out");
    refuse_beside_links(options.seed_order != sample::SeedOrder::random, "--seed-order clustered",
                        "leave --seed-order out");
    refuse_beside_links(options.class_weights != "none", "--class-weights",
                        "leave --class-weights out");
    refuse_beside_links(options.eval != "exact", "--eval sampled", "leave --eval out");
}

}  // namespace rudder::train
