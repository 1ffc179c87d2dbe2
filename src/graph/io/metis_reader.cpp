// METIS graph files: line i lists the neighbours of vertex i, from 1; weights are passed over.
#include <fmt/format.h>

#include "edge_blocks.hpp"
#include "readers.hpp"

namespace rudder::graph {

namespace {

struct MetisHeader {
    VertexId vertices = 0;
    EdgeIndex edges = 0;
    bool sizes = false;                ///< a size before the weights
    std::uint64_t vertex_weights = 0;  ///< numbers before the neighbours
    bool edge_weights = false;         ///< a number after each neighbour
};

/// "n m [fmt [ncon]]", fmt being up to three digits of 0 and 1.
MetisHeader parse_header(std::string_view line) {
    LineCursor cursor(line);
    MetisHeader header;
    header.vertices = cursor.id();
    header.edges = cursor.id();
    if (header.vertices > (VertexId{1} << 32)) {
        throw cursor.fault("more than 2^32 vertices", "use raw binary pairs for such a graph");
    }
    std::string format = cursor.done() ? "0" : std::string(cursor.word());
    if (format.size() > 3 || format.find_first_not_of("01") != std::string::npos) {
        throw cursor.fault(fmt::format("invalid METIS format code: '{}'", format),
                           "give up to three digits of 0 and 1");
    }
    format.insert(0, 3 - format.size(), '0');
    header.sizes = format[0] == '1';
    header.edge_weights = format[2] == '1';
    const std::uint64_t constraints = cursor.done() ? 1 : cursor.id();
    if (constraints > 1024) throw cursor.fault("too many weights per vertex", "correct the header");
    header.vertex_weights = format[1] == '1' ? constraints : 0;
    return header;
}

bool comment(std::string_view line) {
    return line.starts_with('%');
}

MetisHeader read_metis_header(TextInput& text) {
    while (const auto line = text.peek_line()) {
        if (!blank_or_comment(*line)) {
            try {
                const MetisHeader header = parse_header(*line);
                text.take_line();
                return header;
            } catch (const LineFault& fault) {
                throw text.error(fault);
            }
        }
        text.take_line();
    }
    throw text.error({"the file has no header line", 1, "give 'vertices edges' on the first line"});
}

/// Vertices of one piece of text: their rows are numbered from 0 until all pieces are known.
struct Piece {
    EdgeBlock block;
    VertexId rows = 0;
};

void parse_row(std::string_view line, const MetisHeader& header, Piece& piece) {
    LineCursor cursor(line);
    const VertexId row = piece.rows++;
    const std::uint64_t weights = header.vertex_weights + (header.sizes ? 1 : 0);
    for (std::uint64_t i = 0; i < weights; ++i)
        static_cast<void>(cursor.number());
    while (!cursor.done()) {
        const VertexId id = cursor.id();
        if (id < 1 || id > header.vertices) {
            throw cursor.fault(
                fmt::format("neighbour {} is out of range 1..{}", id, header.vertices),
                "correct the line or the header");
        }
        if (header.edge_weights) static_cast<void>(cursor.number());
        piece.block.narrow.push_back(
            {static_cast<std::uint32_t>(id - 1), static_cast<std::uint32_t>(row)});
    }
}

std::vector<Piece> parse_rows(TextInput& text, const MetisHeader& header, Progress& progress) {
    std::vector<Piece> pieces;
    std::size_t first = 0;
    progress.phase("reading rows", 0);
    text.parse(
        [&](std::size_t count) {
            first = pieces.size();
            pieces.resize(first + count);
        },
        [&](std::size_t index, std::string_view line) {
            if (!comment(line)) parse_row(line, header, pieces[first + index]);
        },
        [] {}, progress);
    return pieces;
}

}  // namespace

RawGraph read_metis(const ReadOptions& options, Progress& progress) {
    TextInput text(options.input);
    const MetisHeader header = read_metis_header(text);
    std::vector<Piece> pieces = parse_rows(text, header, progress);
    std::vector<EdgeBlock> blocks;
    VertexId row = 0;
    EdgeIndex entries = 0;
    for (Piece& piece : pieces) {
        for (NarrowEdge& edge : piece.block.narrow)
            edge.target += static_cast<std::uint32_t>(row);
        row += piece.rows;
        entries += piece.block.narrow.size();
        blocks.push_back(std::move(piece.block));
    }
    const char* const remedy = "correct the header, or make the file again";
    if (row != header.vertices) {
        throw input_error(
            fmt::format("there are {} lines of neighbours, the header says {} vertices", row,
                        header.vertices),
            text.where(), remedy);
    }
    if (entries != 2 * header.edges) {
        throw input_error(
            fmt::format("there are {} neighbours, the header says {} edges", entries, header.edges),
            text.where(), remedy);
    }
    RawGraph graph;
    graph.vertices = std::max(header.vertices, options.vertices.value_or(0));
    graph.edges = std::make_unique<EdgeBlocks>(graph.vertices, std::move(blocks));
    return graph;
}

}  // namespace rudder::graph
