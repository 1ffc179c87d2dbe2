// What vertices of very many neighbours keep from step to step: those that could be kept next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"

#include "shared_numbers.hpp"

namespace rudder::sample {

/// Ids and their numbers.
struct Candidates {
    RawVector<std::uint32_t> ids;
    RawVector<std::uint32_t> numbers;
    std::size_t count = 0;

    /// Adds those of `of` whose number is at most `limit`, in order.
    void collect(DrawCode code, const SharedNumbers& shared, std::span<const std::uint32_t> of,
                 std::uint32_t limit);
};

/// How large a number may be for a neighbour to be looked at, so that somewhat more than `wanted`
/// of `degree` are.
[[nodiscard]] std::uint32_t candidate_limit(std::size_t wanted, EdgeIndex degree,
                                            double more) noexcept;

/// From step to step one neighbour in `redraw` has another number. So a hub's neighbours are kept
/// in the order of their phases, and with each layer those with small numbers: on the way to
/// another step only the phases that redraw in between are looked at. No result depends on it.
class HubDraws {
public:
    /// From which degree on a row is worth it; of redraws from 4 on.
    static constexpr EdgeIndex least_degree = 256;
    static constexpr std::uint32_t least_redraw = 4;

    /// Bytes it may hold; hubs beyond are not kept.
    explicit HubDraws(std::uint64_t max_bytes = std::uint64_t{256} << 20) : max_bytes_(max_bytes) {}

    struct Hub;
    /// The hub of a vertex; null if it is not known.
    [[nodiscard]] Hub* find(VertexId vertex) noexcept;
    /// Makes its neighbours known; null if there is no room.
    Hub* add(VertexId vertex, std::span<const std::uint32_t> row, const SharedNumbers& numbers);
    /// Candidates of a hub in one step: at least `wanted`, all those with the smallest numbers
    /// among them, in any order. `wanted` is below its degree.
    [[nodiscard]] const Candidates& candidates(Hub& hub, DrawCode code,
                                               const SharedNumbers& numbers, const StreamKey& key,
                                               std::size_t wanted);
    /// Forgets everything unless it was kept for this redraw and seed.
    void keep_for(const StreamKey& key, std::uint32_t redraw);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    [[nodiscard]] std::size_t place(VertexId vertex) const noexcept;
    void grow();

    std::vector<std::unique_ptr<Hub>> hubs_;
    std::vector<std::uint32_t> table_;  ///< open addressing: a hub's number + 1; a power of two
    std::uint64_t max_bytes_;
    std::uint64_t bytes_ = 0;
    std::uint64_t seed_ = 0;
    std::uint32_t redraw_ = 0;
    Purpose purpose_ = Purpose::sample;
};

struct HubDraws::Hub {
    struct Layer {
        Candidates candidates;
        std::uint64_t step = 0;
        std::size_t wanted = 0;  ///< 0: nothing is known
        std::uint32_t limit = 0;
    };

    VertexId vertex = 0;
    RawVector<std::uint32_t> ids;       ///< by phase
    std::vector<std::uint32_t> starts;  ///< of the phases: redraw + 1 numbers
    std::vector<Layer> layers;
};

}  // namespace rudder::sample
