#include "partitioner.hpp"

#include <algorithm>
#include <array>

#include "core/span.hpp"
#include "core/spec_registry.hpp"
#include "rudder/core/error.hpp"

namespace rudder::partition {

namespace {

constexpr std::array<std::string_view, 5> names{"metis", "ldg", "fennel", "random", "hash"};
constexpr std::array<Partitioner*, 5> methods{assign_metis, assign_ldg, assign_fennel,
                                              assign_random, assign_hash};

}  // namespace

std::span<const std::string_view> partitioner_names() noexcept {
    return names;
}

Partitioner* partitioner(std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw unknown_name("method", name, names, "--method");
    return methods[static_cast<std::size_t>(found - names.begin())];
}

Assignment assign_parts(const PartitionInput& input, const PartitionOptions& options,
                        Progress& progress) {
    Partitioner* const assign = partitioner(options.method);
    check_options(options, input.vertices());
    RUDDER_CHECK(input.stored.vertices() == input.vertices());
    RUDDER_CHECK(input.roles.empty() || input.roles.size() == input.vertices());
    if (options.parts == 1) return {Array<PartId>::zeroed(input.vertices()), {}};
    const Span span("partition");
    return assign(input, options, progress);
}

}  // namespace rudder::partition
