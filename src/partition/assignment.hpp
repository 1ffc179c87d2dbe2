// An assignment of vertices to parts that somebody else made.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

namespace rudder::partition {

/// Reads a text of one part per line, for vertex 0, 1, ...; empty lines at the end are ignored. An
/// input Error names the line that is no part below `parts`, or tells a wrong number of lines.
[[nodiscard]] Array<PartId> read_assignment_text(const std::filesystem::path& file,
                                                 VertexId vertices, PartId parts);

/// Reads an assignment from a text, a .npy file, or an NPZ archive's array `part` (or its only
/// one).
[[nodiscard]] Array<PartId> read_assignment(const std::filesystem::path& file, VertexId vertices,
                                            PartId parts);

/// Checks an assignment from anywhere: one part per vertex, each below `parts`, none without a
/// vertex. An input Error that names `where` otherwise.
void check_assignment(std::span<const PartId> assignment, VertexId vertices, PartId parts,
                      const std::string& where);

}  // namespace rudder::partition
