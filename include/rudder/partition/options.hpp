// What a partition is asked to be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rudder/core/types.hpp"
#include "rudder/graph/provenance.hpp"

namespace rudder::partition {

/// What every part shall have about the same number of.
struct BalanceSet {
    bool vertices = true;
    bool train = true;  ///< training vertices
    bool edges = true;  ///< stored arcs of the part's rows
    friend bool operator==(const BalanceSet&, const BalanceSet&) = default;
};

/// Reads "vertices,train,edges" or some of them; a usage Error otherwise.
[[nodiscard]] BalanceSet parse_balance(std::string_view text);
[[nodiscard]] std::string to_string(const BalanceSet& balance);

/// The order in which streaming methods see the vertices.
enum class StreamOrder : std::uint8_t { random, natural };

/// The order of that name; a usage Error otherwise.
[[nodiscard]] StreamOrder parse_stream_order(std::string_view text);
[[nodiscard]] std::string_view to_string(StreamOrder order) noexcept;

/// metis, or ldg where a build has no METIS.
[[nodiscard]] std::string_view default_method();

struct PartitionOptions {
    PartId parts = 1;
    std::string method{default_method()};
    std::optional<BalanceSet> balance;  ///< unset: what default_balance says of the method
    double slack = 0.05;                ///< the largest part may exceed the mean by this share
    std::uint32_t passes = 1;           ///< of streaming methods; more than one streams again
    StreamOrder order = StreamOrder::random;
    std::uint64_t seed = 0;
    VertexId cluster_size = 256;  ///< vertices per cluster inside a part, about
    graph::Provenance provenance;
};

/// What a method balances unless told: METIS all three, the others vertices and training vertices
/// (a stream that must also balance edges cuts more of them).
[[nodiscard]] BalanceSet default_balance(std::string_view method) noexcept;
/// What these options balance.
[[nodiscard]] BalanceSet balance_of(const PartitionOptions& options) noexcept;

/// Refuses (usage Error) options that cannot be met on a graph of so many vertices.
void check_options(const PartitionOptions& options, VertexId vertices);

}  // namespace rudder::partition
