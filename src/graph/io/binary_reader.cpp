// The file is read in chunks by every thread on each walk, never mapped: what is resident is the
// graph under construction and one chunk per thread.
// Raw binary edge lists: pairs of little-endian ids and nothing else.
#include <algorithm>
#include <atomic>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"

#include "edge_blocks.hpp"
#include "readers.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t pairs_per_chunk = 1 << 16;

template <class AnyEdge>
class BinaryEdges final : public EdgeSource {
public:
    explicit BinaryEdges(const std::filesystem::path& path)
        : file_(File::open(path)), edges_(file_.size() / sizeof(AnyEdge)) {
        if (const std::uint64_t rest = file_.size() % sizeof(AnyEdge); rest != 0) {
            throw input_error(
                fmt::format("invalid file size: {} bytes, not a multiple of pairs of {} bytes",
                            file_.size(), sizeof(AnyEdge)),
                fmt::format("{}, byte {}", path.string(), file_.size() - rest),
                "the file is truncated, or --id-bits is wrong");
        }
    }

    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return edges_; }
    void set_vertices(VertexId vertices) { vertices_ = vertices; }

    void walk(Narrow narrow, Wide wide) const override {
        chunks([&](std::span<const AnyEdge> block, EdgeIndex first) {
            const VertexId bound = bound_of_block(block);
            if (bound > vertices_) throw_out_of_range(block, first);
            if constexpr (std::is_same_v<AnyEdge, NarrowEdge>) {
                narrow(block);
            } else {
                wide(block);
            }
        });
    }

    /// The largest id and one.
    [[nodiscard]] VertexId scan(Progress& progress) const {
        std::atomic<VertexId> bound{0};
        progress.phase("looking at ids", edges_);
        chunks([&](std::span<const AnyEdge> block, EdgeIndex first) {
            const VertexId own = bound_of_block(block);
            if (own > max_bound) throw_too_large(block, first);
            VertexId seen = bound.load(std::memory_order_relaxed);
            while (seen < own && !bound.compare_exchange_weak(seen, own)) {
            }
            progress.advance(block.size());
        });
        return bound;
    }

private:
    static constexpr VertexId max_bound = VertexId{1} << 62;

    template <class F>
    void chunks(F&& f) const {
        parallel_chunks(edges_, pairs_per_chunk, [&](const Chunk& chunk) {
            thread_local std::vector<AnyEdge> kept;
            // Taken out while in use: a nested loop may run another chunk on this thread.
            std::vector<AnyEdge> block = std::move(kept);
            block.resize(chunk.end - chunk.begin);
            const auto bytes = std::as_writable_bytes(std::span(block));
            if (file_.read_at(chunk.begin * sizeof(AnyEdge), bytes) != bytes.size()) {
                throw input_error("the file became shorter while it was read",
                                  file_.path().string(), "leave it alone meanwhile");
            }
            f(std::span<const AnyEdge>(block), chunk.begin);
            kept = std::move(block);
        });
    }

    /// The largest id of a block and one; 2^64 - 1 and above count as 2^64 - 1.
    static VertexId bound_of_block(std::span<const AnyEdge> block) {
        auto largest = decltype(AnyEdge::source){0};
        for (const AnyEdge& edge : block)
            largest = std::max(largest, std::max(edge.source, edge.target));
        if (block.empty()) return 0;
        return largest == ~VertexId{0} ? largest : VertexId{largest} + 1;
    }

    [[nodiscard]] std::string position(std::span<const AnyEdge> block, EdgeIndex first,
                                       VertexId limit) const {
        const auto bad = std::ranges::find_if(block, [limit](const AnyEdge& edge) {
            return std::max(edge.source, edge.target) >= limit;
        });
        return fmt::format("{}, edge {}", file_.path().string(),
                           first + static_cast<EdgeIndex>(bad - block.begin()));
    }
    [[noreturn]] void throw_out_of_range(std::span<const AnyEdge> block, EdgeIndex first) const {
        throw input_error(
            fmt::format("id {} is out of range 0..{}", bound_of_block(block) - 1, vertices_ - 1),
            position(block, first, vertices_),
            "correct the id, the number of vertices or --id-bits");
    }
    [[noreturn]] void throw_too_large(std::span<const AnyEdge> block, EdgeIndex first) const {
        throw input_error("an id is negative or too large", position(block, first, max_bound),
                          "number the vertices from 0, and check --id-bits");
    }

    File file_;
    EdgeIndex edges_;
    VertexId vertices_ = 0;
};

template <class AnyEdge>
RawGraph read_as(const ReadOptions& options, Progress& progress) {
    auto edges = std::make_unique<BinaryEdges<AnyEdge>>(options.input);
    RawGraph graph;
    graph.vertices = options.vertices ? *options.vertices : edges->scan(progress);
    if (!options.vertices) {
        check_vertex_count(graph.vertices, edges->edges(), options.input.string());
    }
    edges->set_vertices(graph.vertices);
    graph.edges = std::move(edges);
    return graph;
}

}  // namespace

RawGraph read_binary(const ReadOptions& options, Progress& progress) {
    if (options.id_bits == 32) return read_as<NarrowEdge>(options, progress);
    if (options.id_bits == 64) return read_as<Edge>(options, progress);
    throw usage_error(fmt::format("ids of {} bits are not read", options.id_bits), "--id-bits",
                      "give 32 or 64");
}

}  // namespace rudder::graph
