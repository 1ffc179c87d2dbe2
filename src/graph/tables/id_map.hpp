// From what the user calls a vertex to its number: a hash table over the ids, built and asked on
// all threads.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "graph/vertex_ids.hpp"

namespace rudder::graph {

/// No vertex has this number.
inline constexpr VertexId no_vertex = std::numeric_limits<VertexId>::max();

/// The table has 8 bytes for each slot, two to four slots for each id; ids themselves are not
/// copied. Which slot an id has may depend on threads, what is found does not.
class IdMap {
public:
    /// The ids must outlive the map, and be of some kind.
    explicit IdMap(const VertexIds& ids);

    /// Two vertices with the same id: of all such pairs the one whose later vertex comes first.
    struct Duplicate {
        VertexId first;
        VertexId second;
    };
    [[nodiscard]] const std::optional<Duplicate>& duplicate() const noexcept { return duplicate_; }

    /// The vertices of some ids, `no_vertex` where there is none; many at a time, since then the
    /// table is waited for only once. Ids of the other kind are converted.
    void find(std::span<const std::string_view> texts, std::span<VertexId> found) const;
    void find(std::span<const std::int64_t> numbers, std::span<VertexId> found) const;
    [[nodiscard]] VertexId find(std::string_view text) const;
    [[nodiscard]] VertexId find(std::int64_t number) const;

private:
    void insert(VertexId v);
    [[nodiscard]] std::uint64_t hash_of(VertexId v) const noexcept;
    [[nodiscard]] bool equal(VertexId a, VertexId b) const noexcept;
    template <class Key>
    void find_some(std::span<const Key> keys, std::span<VertexId> found) const;
    template <class Key>
    [[nodiscard]] VertexId probe(const Key& key, std::uint64_t hash) const noexcept;

    const VertexIds& ids_;
    Array<std::uint64_t> slots_;
    std::uint64_t mask_ = 0;
    std::uint64_t later_ = no_vertex;  ///< the first vertex whose id came before
    std::optional<Duplicate> duplicate_;
};

/// A whole number as people write it and nothing else: no plus, no needless zeroes.
[[nodiscard]] std::optional<std::int64_t> plain_integer(std::string_view text) noexcept;

}  // namespace rudder::graph
