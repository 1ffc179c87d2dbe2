#include "repair.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "rudder/core/text.hpp"

namespace rudder::partition {

namespace {

constexpr int repair_rounds = 32;

/// A vertex that could leave its part, and what that costs.
struct Move {
    double price;  ///< arcs cut more, per mean of load that goes
    VertexId vertex;
    PartId target;
};

/// Counts the parts of one vertex's neighbours; keeps no memory per vertex.
class NeighbourParts {
public:
    explicit NeighbourParts(PartId parts) : counts_(parts, 0) {}

    void count(const PartitionInput& input, std::span<const PartId> parts, VertexId v) {
        for (const PartId p : touched_)
            counts_[p] = 0;
        touched_.clear();
        input.graph.neighbours.visit([&](auto neighbours) {
            for (EdgeIndex e = input.graph.offsets[v]; e < input.graph.offsets[v + 1]; ++e) {
                const PartId p = parts[neighbours[e]];
                if (counts_[p]++ == 0) touched_.push_back(p);
            }
        });
    }
    [[nodiscard]] std::uint64_t operator[](PartId p) const { return counts_[p]; }
    [[nodiscard]] std::span<const PartId> touched() const { return touched_; }

private:
    std::vector<std::uint64_t> counts_;
    std::vector<PartId> touched_;
};

bool any_over(const Loads& loads) {
    for (PartId p = 0; p < loads.parts(); ++p) {
        if (loads.over(p)) return true;
    }
    return false;
}

/// The least loaded part of each kind: where a vertex may go that has no neighbour elsewhere.
std::vector<PartId> roomy_parts(const Loads& loads) {
    std::vector<PartId> roomy;
    for (std::size_t c = 0; c < balance_kinds; ++c) {
        if (!loads.active(c)) continue;
        PartId least = 0;
        for (PartId p = 1; p < loads.parts(); ++p) {
            if (loads[p][c] < loads[least][c]) least = p;
        }
        roomy.push_back(least);
    }
    return roomy;
}

/// The moves that would help now, best first.
std::vector<Move> helpful_moves(const PartitionInput& input, std::span<const PartId> parts,
                                const Loads& loads) {
    std::vector<Move> moves;
    NeighbourParts around(loads.parts());
    const std::vector<PartId> roomy = roomy_parts(loads);
    for (VertexId v = 0; v < parts.size(); ++v) {
        const PartId from = parts[v];
        if (!loads.over(from)) continue;
        const Weights w = weights_of(input, v);
        around.count(input, parts, v);
        Move best{0, v, from};
        const auto consider = [&](PartId to) {
            const double relief = loads.relief(from, to, w);
            if (to == from || relief <= 0) return;
            const double loss = static_cast<double>(around[from]) - static_cast<double>(around[to]);
            const double price = loss > 0 ? loss / relief : loss * relief;
            if (best.target == from || price < best.price) best = {price, v, to};
        };
        for (const PartId to : around.touched())
            consider(to);
        for (const PartId to : roomy)
            consider(to);
        if (best.target != from) moves.push_back(best);
    }
    std::ranges::sort(moves, [](const Move& a, const Move& b) {
        return a.price != b.price ? a.price < b.price : a.vertex < b.vertex;
    });
    return moves;
}

std::vector<std::string> describe_excess(const PartitionInput& input, const Loads& loads,
                                         double slack) {
    static constexpr std::array<const char*, balance_kinds> names{"vertices", "training vertices",
                                                                  "edges"};
    std::vector<std::string> warnings;
    for (std::size_t c = 0; c < balance_kinds; ++c) {
        if (!loads.active(c)) continue;
        std::uint64_t most = 0;
        for (PartId p = 0; p < loads.parts(); ++p)
            most = std::max(most, loads[p][c]);
        if (most <= loads.limit(c)) continue;
        std::string text = fmt::format(
            "the {} are not balanced: the largest part has {:.3f} times the mean, "
            "{:.3f} was asked for",
            names[c], loads.imbalance(c), 1 + slack);
        if (c != 2) {
            text += " (moving single vertices did not fix it)";
        } else {
            VertexId hub = 0;
            for (VertexId v = 1; v < input.vertices(); ++v) {
                if (input.stored.degree(v) > input.stored.degree(hub)) hub = v;
            }
            text += fmt::format(" (vertex {} alone has {} of {} edges)", hub,
                                format_count(input.stored.degree(hub)),
                                format_count(input.stored.edges()));
        }
        warnings.push_back(std::move(text));
    }
    return warnings;
}

}  // namespace

void fill_empty_parts(const PartitionInput& input, std::span<PartId> parts, Loads& loads) {
    std::vector<PartId> empty;
    for (PartId p = 0; p < loads.parts(); ++p) {
        if (loads[p][0] == 0) empty.push_back(p);
    }
    if (empty.empty()) return;
    std::vector<VertexId> order(parts.size());
    std::iota(order.begin(), order.end(), VertexId{0});
    std::ranges::stable_sort(order, {}, [&](VertexId v) { return input.graph.degree(v); });
    // First from parts above the mean, then from any that can spare a vertex.
    for (const std::uint64_t spare :
         {std::max<std::uint64_t>(1, parts.size() / loads.parts()), std::uint64_t{1}}) {
        for (const VertexId v : order) {
            if (empty.empty()) return;
            if (loads[parts[v]][0] <= spare) continue;
            const Weights w = weights_of(input, v);
            loads.remove(parts[v], w);
            parts[v] = empty.back();
            loads.add(parts[v], w);
            empty.pop_back();
        }
    }
    RUDDER_CHECK(empty.empty());
}

void repair_balance(const PartitionInput& input, std::span<PartId> parts, Loads& loads) {
    for (int round = 0; round < repair_rounds && any_over(loads); ++round) {
        throw_if_interrupted();
        bool moved = false;
        for (const Move& move : helpful_moves(input, parts, loads)) {
            const PartId from = parts[move.vertex];
            const Weights w = weights_of(input, move.vertex);
            if (loads[from][0] <= 1 || loads.relief(from, move.target, w) <= 0) continue;
            loads.remove(from, w);
            loads.add(move.target, w);
            parts[move.vertex] = move.target;
            moved = true;
        }
        if (!moved) break;
    }
}

namespace {

/// The vertices of each type in each part, and how many a part may have.
class TypeLoads {
public:
    TypeLoads(const PartitionInput& input, std::span<const PartId> parts, PartId count,
              double slack)
        : types_(input.types.size()), parts_(count), loads_(types_ * count, 0) {
        for (const graph::VertexType& type : input.types) {
            const double mean = static_cast<double>(type.vertices) / static_cast<double>(count);
            const VertexId whole = type.vertices / count + (type.vertices % count != 0 ? 1 : 0);
            limits_.push_back(
                std::max(whole, static_cast<VertexId>(std::floor((1 + slack) * mean))));
            for (VertexId v = type.first; v < type.first + type.vertices; ++v)
                ++of(parts[v], limits_.size() - 1);
        }
    }
    [[nodiscard]] VertexId& of(PartId p, std::size_t t) noexcept { return loads_[p * types_ + t]; }
    [[nodiscard]] VertexId limit(std::size_t t) const noexcept { return limits_[t]; }
    /// The part that has fewest of a type.
    [[nodiscard]] PartId least(std::size_t t) noexcept {
        PartId least = 0;
        for (PartId p = 1; p < parts_; ++p) {
            if (of(p, t) < of(least, t)) least = p;
        }
        return least;
    }

private:
    std::size_t types_;
    PartId parts_;
    std::vector<VertexId> loads_;
    std::vector<VertexId> limits_;
};

/// Moves vertices of a type out of parts that have too many of it to the part that has fewest,
/// those of few edges first, as long as no other limit is exceeded.
void repair_types(const PartitionInput& input, std::span<PartId> parts, Loads& loads,
                  double slack) {
    TypeLoads of_types(input, parts, loads.parts(), slack);
    for (std::size_t t = 0; t < input.types.size(); ++t) {
        const graph::VertexType& type = input.types[t];
        std::vector<VertexId> order;
        for (VertexId v = type.first; v < type.first + type.vertices; ++v) {
            if (of_types.of(parts[v], t) > of_types.limit(t)) order.push_back(v);
        }
        std::ranges::stable_sort(order, {}, [&](VertexId v) { return input.graph.degree(v); });
        for (const VertexId v : order) {
            const PartId from = parts[v];
            if (of_types.of(from, t) <= of_types.limit(t) || loads[from][0] <= 1) continue;
            const PartId to = of_types.least(t);
            const Weights w = weights_of(input, v);
            if (of_types.of(to, t) >= of_types.limit(t) || !loads.fits(to, w)) continue;
            loads.remove(from, w);
            loads.add(to, w);
            --of_types.of(from, t);
            ++of_types.of(to, t);
            parts[v] = to;
        }
    }
}

}  // namespace

Assignment finish_assignment(const PartitionInput& input, const PartitionOptions& options,
                             Array<PartId> parts) {
    Loads loads(input, options);
    loads.count(input, parts.span());
    fill_empty_parts(input, parts.span(), loads);
    if (any_over(loads)) {
        // Aims a little below the limits: at the limits, single vertices often cannot move.
        PartitionOptions tight = options;
        tight.slack *= 0.98;
        Loads goal(input, tight);
        goal.count(input, parts.span());
        repair_balance(input, parts.span(), goal);
        loads.count(input, parts.span());
    }
    if (loads.active(0)) repair_types(input, parts.span(), loads, options.slack);
    Assignment result{std::move(parts), describe_excess(input, loads, options.slack)};
    for (const std::string& warning : result.warnings)
        log::warning(warning);
    return result;
}

}  // namespace rudder::partition
