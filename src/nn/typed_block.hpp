// A block of a graph of several types, taken apart: destinations by type, neighbours by type of
// edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::nn {

class TypedBlock {
public:
    /// Neighbours along one type of edges: row i is that of destination i of the type that it leads
    /// to.
    struct OfEdges {
        sample::Block rows;
        /// Where only sources that are read count: their positions in the block, ascending.
        RawVector<std::uint32_t> sources;
        // For the way back, where it is wanted:
        RawVector<std::uint32_t> reader_offsets;
        RawVector<LocalId> readers;  ///< rows
        RawVector<std::uint32_t> reader_edges;

        [[nodiscard]] TransposedBlock transposed() noexcept {
            return {reader_offsets, readers, reader_edges};
        }
    };
    /// Destinations of one type, by their numbers among those of the type.
    struct Stretch {
        std::size_t first;
        std::size_t count;
    };

    /// Whether the way back is wanted, too.
    enum class Ways : bool { forth, both };
    /// Whether along every type of edges the sources are those of the block, or those alone that
    /// are read along it, numbered anew.
    enum class Sources : bool { all, read };
    /// Takes a block apart; its memory is kept for the next.
    void set(const sample::Block& block, const TypedInputs& types, Ways ways,
             Sources sources = Sources::all);

    /// The positions of the destinations of a type, ascending.
    [[nodiscard]] std::span<const std::uint32_t> destinations(std::size_t type) const noexcept {
        return destinations_[type];
    }
    /// Those of a type among some rows of the block.
    [[nodiscard]] Stretch among(std::size_t type, std::size_t first,
                                std::size_t count) const noexcept {
        return stretch(destinations(type), first, count);
    }
    /// Where in an ascending list of positions those of some rows are.
    [[nodiscard]] static Stretch stretch(std::span<const std::uint32_t> positions,
                                         std::size_t first, std::size_t count) noexcept;
    [[nodiscard]] OfEdges& along(std::size_t type) noexcept { return edges_[type]; }
    [[nodiscard]] const OfEdges& along(std::size_t type) const noexcept { return edges_[type]; }
    [[nodiscard]] bool shares() const noexcept { return shares_; }

private:
    void number_sources(OfEdges& of, std::uint32_t all);

    std::vector<RawVector<std::uint32_t>> destinations_;  ///< by type of vertices
    std::vector<OfEdges> edges_;                          ///< by type of edges
    RawVector<std::uint32_t> numbers_;                    ///< of sources along one type
    bool shares_ = false;
};

}  // namespace rudder::nn
