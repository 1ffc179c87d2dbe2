// Matrix Market files: a sparse matrix in coordinates is a graph, entry (i, j) the edge from i to
// j.
#include <algorithm>

#include <fmt/format.h>

#include "edge_blocks.hpp"
#include "readers.hpp"

namespace rudder::graph {

namespace {

struct MtxHeader {
    bool mirrored = false;   ///< symmetric: each entry off the diagonal stands for two
    std::size_t values = 0;  ///< numbers after the two ids
    VertexId vertices = 0;
    EdgeIndex entries = 0;
};

std::string lower(std::string_view word) {
    std::string text(word);
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// "%%MatrixMarket matrix coordinate pattern general"
void read_banner(std::string_view line, MtxHeader& header) {
    LineCursor cursor(line);
    const char* const remedy = "give a file that begins with %%MatrixMarket matrix coordinate";
    if (cursor.done() || lower(cursor.word()) != "%%matrixmarket") {
        throw LineFault{"not a Matrix Market file", 1, remedy};
    }
    if (lower(cursor.word()) != "matrix") {
        throw cursor.fault("only matrices are read", remedy);
    }
    const std::string layout = lower(cursor.word());
    if (layout == "array") {
        throw cursor.fault("the 'array' format is a dense matrix, not a graph",
                           "write it in the 'coordinate' format");
    }
    if (layout != "coordinate")
        throw cursor.fault(fmt::format("unknown format '{}'", layout), remedy);
    const std::string field = lower(cursor.word());
    if (field == "real" || field == "integer") {
        header.values = 1;
    } else if (field != "pattern") {
        throw cursor.fault(fmt::format("values of kind '{}' are not read", field),
                           "write pattern, real or integer values");
    }
    const std::string symmetry = lower(cursor.word());
    if (symmetry == "symmetric") {
        header.mirrored = true;
    } else if (symmetry != "general") {
        throw cursor.fault(fmt::format("symmetry '{}' is not read", symmetry),
                           "write a general or symmetric matrix");
    }
}

void read_sizes(std::string_view line, MtxHeader& header) {
    LineCursor cursor(line);
    const VertexId rows = cursor.id();
    const VertexId columns = cursor.id();
    header.entries = cursor.id();
    if (rows != columns) {
        throw LineFault{fmt::format("invalid adjacency matrix: {} x {}, not square", rows, columns),
                        1, "give a square matrix"};
    }
    if (rows >= any_id) throw LineFault{"the matrix is too large", 1, "check the sizes"};
    header.vertices = rows;
}

MtxHeader read_mtx_header(TextInput& text) {
    MtxHeader header;
    bool banner = true;
    while (const auto line = text.peek_line()) {
        try {
            if (banner) {
                read_banner(*line, header);
                banner = false;
            } else if (!blank_or_comment(*line)) {
                read_sizes(*line, header);
                text.take_line();
                return header;
            }
        } catch (const LineFault& fault) {
            throw text.error(fault);
        }
        text.take_line();
    }
    throw text.error({"the file ends before the line of sizes", 1, "fetch or make it again"});
}

VertexId entry_id(LineCursor& cursor, VertexId vertices) {
    const VertexId id = cursor.id();
    if (id >= 1 && id <= vertices) return id - 1;
    throw cursor.fault(fmt::format("index {} is out of range 1..{}", id, vertices),
                       "correct the index or the line of sizes");
}

}  // namespace

RawGraph read_mtx(const ReadOptions& options, Progress& progress) {
    TextInput text(options.input);
    const MtxHeader header = read_mtx_header(text);
    std::vector<EdgeBlock> blocks;
    std::size_t first = 0;
    progress.phase("reading entries", 0);
    text.parse(
        [&](std::size_t pieces) {
            first = blocks.size();
            blocks.resize(first + pieces);
        },
        [&](std::size_t piece, std::string_view line) {
            if (blank_or_comment(line)) return;
            LineCursor cursor(line);
            const VertexId source = entry_id(cursor, header.vertices);
            const VertexId target = entry_id(cursor, header.vertices);
            for (std::size_t i = 0; i < header.values; ++i)
                static_cast<void>(cursor.number());
            if (!cursor.done()) throw LineFault{"the line has too many numbers", 1, "correct it"};
            blocks[first + piece].add(source, target);
        },
        [] {}, progress);
    RawGraph graph;
    EdgeIndex entries = 0;
    for (const EdgeBlock& block : blocks)
        entries += block.narrow.size() + block.wide.size();
    if (entries != header.entries) {
        throw input_error(
            fmt::format("there are {} entries, the header says {}", entries, header.entries),
            text.where(), "fetch or make the file again");
    }
    if (header.mirrored) {
        for (EdgeBlock& block : blocks) {
            const std::size_t narrow = block.narrow.size();
            for (std::size_t i = 0; i < narrow; ++i) {
                const NarrowEdge edge = block.narrow[i];
                if (edge.source != edge.target) block.narrow.push_back({edge.target, edge.source});
            }
            const std::size_t wide = block.wide.size();
            for (std::size_t i = 0; i < wide; ++i) {
                const Edge edge = block.wide[i];
                if (edge.source != edge.target) block.wide.push_back({edge.target, edge.source});
            }
        }
    }
    graph.vertices = std::max(header.vertices, options.vertices.value_or(0));
    if (!options.vertices) check_vertex_count(graph.vertices, entries, text.path().string());
    graph.edges = std::make_unique<EdgeBlocks>(graph.vertices, std::move(blocks));
    return graph;
}

}  // namespace rudder::graph
