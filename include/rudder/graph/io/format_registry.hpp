// Formats of one's own, known by name like those of the program.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "rudder/graph/io/graph_reader.hpp"

namespace rudder::graph {

/// A format that `import` reads.
struct GraphFormat {
    std::string_view name;                       ///< of --format
    std::span<const std::string_view> suffixes;  ///< of file names, in small letters: ".txt"
    std::unique_ptr<GraphReader> (*make)();
};

/// Makes a format known: from then on `import` reads it, by --format or by its suffixes, which come
/// before those of the program. To be called before anything else runs, as in the first lines of
/// main; not safe from several threads. What `format` shows must live as long as the program. A
/// name that is taken is an InternalError.
void register_graph_format(const GraphFormat& format);

}  // namespace rudder::graph
