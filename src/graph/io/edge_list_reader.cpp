// Edge lists as text: two ids per line, separated by spaces, tabs, commas or semicolons.
#include <atomic>

#include <fmt/format.h>

#include "core/log.hpp"

#include "edge_blocks.hpp"
#include "readers.hpp"

namespace rudder::graph {

namespace {

/// Whether a line is made of names: its first word begins with a letter or a quote.
bool names_columns(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t\r\xef\xbb\xbf");
    if (first == std::string_view::npos) return false;
    const auto c = static_cast<unsigned char>(line[first]);
    return std::isalpha(c) != 0 || c == '"' || c == '\'' || c == '_' || c == ':' || c >= 0x80;
}

}  // namespace

VertexId read_id(LineCursor& cursor, VertexId limit) {
    const VertexId id = cursor.id();
    if (id < limit) return id;
    if (limit == any_id) {
        throw cursor.fault(fmt::format("id {} is too large", id), "number the vertices from 0");
    }
    throw cursor.fault(limit == 0 ? fmt::format("id {} in a graph without vertices", id)
                                  : fmt::format("id {} is out of range 0..{}", id, limit - 1),
                       "correct the id, or the number of vertices");
}

std::vector<EdgeBlock> parse_edge_lines(TextInput& text, VertexId limit, Progress& progress) {
    std::vector<EdgeBlock> blocks;
    std::size_t first = 0;
    std::atomic<bool> more_words{false};
    progress.phase("reading edges", 0);
    text.parse(
        [&](std::size_t pieces) {
            first = blocks.size();
            blocks.resize(first + pieces);
        },
        [&](std::size_t piece, std::string_view line) {
            if (blank_or_comment(line)) return;
            LineCursor cursor(line);
            const VertexId source = read_id(cursor, limit);
            const VertexId target = read_id(cursor, limit);
            blocks[first + piece].add(source, target);
            if (!cursor.done()) more_words.store(true, std::memory_order_relaxed);
        },
        [&] {
            for (std::size_t i = first; i < blocks.size(); ++i)
                blocks[i].narrow.shrink_to_fit();
        },
        progress);
    if (more_words) {
        log::info(fmt::format("{}: columns after the second are ignored", text.path().string()));
    }
    return blocks;
}

RawGraph read_edge_list(const ReadOptions& options, Progress& progress, FirstLine first) {
    TextInput text(options.input);
    while (const auto line = text.peek_line()) {
        if (!blank_or_comment(*line) && !(first == FirstLine::may_be_names && names_columns(*line)))
            break;
        const bool names = !blank_or_comment(*line);
        text.take_line();
        if (names) break;
    }
    auto blocks = parse_edge_lines(text, options.vertices.value_or(any_id), progress);
    RawGraph graph;
    graph.vertices = options.vertices.value_or(bound_of(blocks));
    auto edges = std::make_unique<EdgeBlocks>(graph.vertices, std::move(blocks));
    if (!options.vertices) {
        check_vertex_count(graph.vertices, edges->edges(), options.input.string());
    }
    graph.edges = std::move(edges);
    return graph;
}

}  // namespace rudder::graph
