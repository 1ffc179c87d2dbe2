#include "generator.hpp"

#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "barabasi_albert.hpp"
#include "grid.hpp"
#include "planted.hpp"
#include "rmat.hpp"

namespace rudder::graph {

namespace {

constexpr std::array<GeneratorName, 4> names{{
    {"rmat", "R-MAT, power-law degrees"},
    {"sbm", "planted communities, with features, labels and splits"},
    {"ba", "Barabasi-Albert, preferential attachment"},
    {"grid", "two-dimensional grid"},
}};

}  // namespace

std::span<const GeneratorName> generator_names() {
    return names;
}

std::unique_ptr<Generator> make_generator(std::string_view kind, const GeneratorOptions& options) {
    if (options.vertices == 0) {
        throw usage_error("a graph needs a vertex", "--vertices", "give a number from 1 on");
    }
    if (options.vertices > max_generated_vertices) {
        throw usage_error(fmt::format("{} vertices are too many", options.vertices), "--vertices",
                          fmt::format("give at most {}", max_generated_vertices));
    }
    if (!(options.degree >= 0 && options.degree <= 1e6)) {
        throw usage_error(fmt::format("{} edges per vertex", options.degree), "--degree",
                          "give a number from 0 to 1,000,000");
    }
    if (kind == "rmat") return std::make_unique<Rmat>(options);
    if (kind == "sbm") return std::make_unique<PlantedCommunities>(options);
    if (kind == "ba") return std::make_unique<BarabasiAlbert>(options);
    if (kind == "grid") return std::make_unique<Grid>(options);
    std::array<std::string_view, names.size()> known;
    for (std::size_t i = 0; i < names.size(); ++i)
        known[i] = names[i].name;
    throw usage_error(fmt::format("unknown kind of graph '{}'", kind), "generate",
                      fmt::format("use one of {}", join(known, ", ")));
}

}  // namespace rudder::graph
