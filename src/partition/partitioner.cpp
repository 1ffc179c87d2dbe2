#include "partitioner.hpp"

#include <array>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "fennel_partitioner.hpp"
#include "hash_partitioner.hpp"
#include "ldg_partitioner.hpp"
#include "metis_partitioner.hpp"
#include "random_partitioner.hpp"

namespace rudder::partition {

namespace {

constexpr std::array<std::string_view, 5> names{"metis", "ldg", "fennel", "random", "hash"};

}  // namespace

std::span<const std::string_view> partitioner_names() noexcept {
    return names;
}

std::unique_ptr<Partitioner> make_partitioner(std::string_view name) {
    if (name == "metis") return std::make_unique<MetisPartitioner>();
    if (name == "ldg") return std::make_unique<LdgPartitioner>();
    if (name == "fennel") return std::make_unique<FennelPartitioner>();
    if (name == "random") return std::make_unique<RandomPartitioner>();
    if (name == "hash") return std::make_unique<HashPartitioner>();
    const auto meant = nearest(name, names);
    throw usage_error(
        fmt::format("unknown method '{}'", name), "--method",
        fmt::format("{}use one of {}", meant ? fmt::format("did you mean '{}'? ", *meant) : "",
                    join(names, ", ")));
}

Assignment assign_parts(const PartitionInput& input, const PartitionOptions& options,
                        Progress& progress) {
    const auto partitioner = make_partitioner(options.method);
    check_options(options, input.vertices());
    RUDDER_CHECK(input.stored.vertices() == input.vertices());
    RUDDER_CHECK(input.roles.empty() || input.roles.size() == input.vertices());
    if (options.parts == 1) return {Array<PartId>::zeroed(input.vertices()), {}};
    const Span span("partition");
    return partitioner->assign(input, options, progress);
}

}  // namespace rudder::partition
