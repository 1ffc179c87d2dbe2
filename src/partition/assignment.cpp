#include "assignment.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "graph/io/npz.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::partition {

namespace {

constexpr const char* remedy = "give one part per line, from 0 to the number of parts less one";

std::string_view trimmed(std::string_view line) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t first = line.find_first_not_of(blank);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(blank) - first + 1);
}

}  // namespace

Array<PartId> read_assignment_text(const std::filesystem::path& file, VertexId vertices,
                                   PartId parts) {
    const Region text = Region::map(file);
    std::string_view rest(reinterpret_cast<const char*>(text.data()), text.size());
    const std::size_t last = rest.find_last_not_of(" \t\r\n");
    rest = rest.substr(0, last == std::string_view::npos ? 0 : last + 1);
    auto assignment = Array<PartId>::uninitialised(vertices);
    VertexId line = 0;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view whole = rest.substr(0, end);
        const std::string_view word = trimmed(whole);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        ++line;
        const auto where = [&] {
            const auto column = word.empty() ? 1 : word.data() - whole.data() + 1;
            return fmt::format("{}, line {}, column {}", file.string(), line, column);
        };
        if (line > vertices) {
            throw input_error(fmt::format("there are more lines than the {} vertices", vertices),
                              where(), remedy);
        }
        const auto part = parse_u64(word);
        if (!part) {
            throw input_error(fmt::format("invalid part: '{}'", word.substr(0, 40)), where(),
                              remedy);
        }
        if (*part >= parts) {
            throw input_error(fmt::format("part {} is outside 0..{}", *part, parts - 1), where(),
                              "give --parts a number that fits, or correct the file");
        }
        assignment[line - 1] = static_cast<PartId>(*part);
    }
    if (line != vertices) {
        throw input_error(fmt::format("there are {} lines for {} vertices", line, vertices),
                          file.string(), remedy);
    }
    return assignment;
}

namespace {

graph::NpyReader open_array(const std::filesystem::path& file) {
    if (file.extension() == ".npy") return graph::open_npy(file);
    const graph::NpzArchive archive(file);
    if (archive.has("part")) return archive.open("part");
    const auto names = archive.names();
    if (names.size() == 1) return archive.open(names.front());
    throw input_error("the archive has no array 'part'", file.string(),
                      "name the array of parts 'part', or give it in a file of its own");
}

}  // namespace

Array<PartId> read_assignment(const std::filesystem::path& file, VertexId vertices, PartId parts) {
    if (file.extension() != ".npz" && file.extension() != ".npy") {
        return read_assignment_text(file, vertices, parts);
    }
    graph::NpyReader reader = open_array(file);
    if (reader.header().shape.size() != 1 || reader.header().shape[0] != vertices) {
        throw input_error(fmt::format("the array is {}, not one part for each of {} vertices",
                                      reader.header().describe(), vertices),
                          reader.where(), "give one number per vertex");
    }
    const Array<std::int64_t> read = graph::read_integers(reader);
    auto assignment = Array<PartId>::uninitialised(vertices);
    for (VertexId v = 0; v < vertices; ++v) {
        if (read[v] < 0 || read[v] >= static_cast<std::int64_t>(parts)) {
            throw input_error(fmt::format("part {} is outside 0..{}", read[v], parts - 1),
                              fmt::format("{}, position {}", reader.where(), v),
                              "give --parts a number that fits, or correct the file");
        }
        assignment[v] = static_cast<PartId>(read[v]);
    }
    return assignment;
}

void check_assignment(std::span<const PartId> assignment, VertexId vertices, PartId parts,
                      const std::string& where) {
    if (assignment.size() != vertices) {
        throw input_error(
            fmt::format("there are {} parts for {} vertices", assignment.size(), vertices), where,
            "give one part per vertex");
    }
    std::vector<bool> used(parts, false);
    for (VertexId v = 0; v < vertices; ++v) {
        if (assignment[v] >= parts) {
            throw input_error(
                fmt::format("part {} of vertex {} is outside 0..{}", assignment[v], v, parts - 1),
                where, "give --parts a number that fits, or correct the assignment");
        }
        used[assignment[v]] = true;
    }
    for (PartId p = 0; p < parts; ++p) {
        if (used[p]) continue;
        throw input_error(fmt::format("part {} of {} has no vertex", p, parts), where,
                          "give --parts a number that fits, or correct the assignment");
    }
}

}  // namespace rudder::partition
