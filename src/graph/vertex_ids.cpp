#include "vertex_ids.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/tables/csv_cells.hpp"
#include "graph/tables/id_map.hpp"
#include "rudder/core/error.hpp"

#include "graph_types.hpp"

namespace rudder::graph {

namespace {

constexpr const char* remake_ids = "make the data set again";
constexpr std::size_t ids_per_piece = 1 << 16;

}  // namespace

VertexIds::VertexIds(Array<std::int64_t> numbers)
    : kind_(IdKind::integer), size_(numbers.size()), numbers_(std::move(numbers)) {}

VertexIds::VertexIds(Array<std::uint64_t> offsets, Array<std::uint8_t> bytes)
    : kind_(IdKind::text),
      size_(offsets.size() - 1),
      offsets_(std::move(offsets)),
      bytes_(std::move(bytes)) {}

std::string_view to_string(IdKind kind) noexcept {
    return kind == IdKind::integer ? "integer" : "text";
}

namespace {

constexpr std::uint64_t version_with_ids = 2;

std::optional<IdKind> kind_in(const Json& entry, const std::string& where) {
    const auto ids = entry.find("ids");
    if (ids == entry.end()) return std::nullopt;
    const std::string kind = json_string(*ids, "kind", where);
    for (const IdKind known : {IdKind::integer, IdKind::text}) {
        if (kind == to_string(known)) return known;
    }
    throw input_error(fmt::format("invalid kind of ids: '{}'", kind), where, remake_ids);
}

/// The name of an array of ids.
std::string id_array(std::string_view name, std::optional<std::size_t> type) {
    return type ? type_array(name, *type) : std::string(name);
}

}  // namespace

std::optional<IdKind> id_kind(const ArrayFolder& folder) {
    return kind_in(folder.manifest(), folder.manifest_path());
}

std::optional<IdKind> id_kind(const ArrayFolder& folder, std::size_t type) {
    const std::string where = folder.manifest_path();
    return kind_in(json_field(folder.manifest(), "vertex_types", where).at(type), where);
}

void describe_ids(std::optional<IdKind> kind, Json& manifest) {
    if (!kind) return;
    const auto version = manifest["version"].get<std::uint64_t>();
    manifest["version"] = std::max(version, version_with_ids);
    manifest["ids"] = {{"kind", to_string(*kind)}};
}

void describe_ids(std::span<const std::optional<IdKind>> of_types, Json& manifest) {
    for (std::size_t t = 0; t < of_types.size(); ++t) {
        if (of_types[t]) manifest["vertex_types"][t]["ids"] = {{"kind", to_string(*of_types[t])}};
    }
}

VertexIds VertexIds::open(const ArrayFolder& folder, VertexId vertices) {
    const auto kind = id_kind(folder);
    return kind ? open(folder, *kind, vertices, std::nullopt) : VertexIds();
}

VertexIds VertexIds::open(const ArrayFolder& folder, const GraphTypes& types, std::size_t type) {
    const auto kind = id_kind(folder, type);
    return kind ? open(folder, *kind, types.vertices[type].vertices, type) : VertexIds();
}

VertexIds VertexIds::open(const ArrayFolder& folder, IdKind kind, VertexId vertices,
                          std::optional<std::size_t> type) {
    if (kind == IdKind::integer)
        return VertexIds(folder.map<std::int64_t>(id_array("ids", type), {vertices}));
    const std::string name = id_array("id_offsets", type);
    auto offsets = folder.map<std::uint64_t>(name, {vertices + 1});
    auto bytes = folder.map<std::uint8_t>(id_array("id_text", type), {offsets[vertices]});
    const bool good = offsets[0] == 0 && std::ranges::is_sorted(offsets.span());
    if (!good) {
        throw input_error("the offsets of ids do not ascend from 0",
                          fmt::format("{}, array '{}'", folder.path().string(), name), remake_ids);
    }
    return {std::move(offsets), std::move(bytes)};
}

std::string VertexIds::name(VertexId v) const {
    if (!kind_) return std::to_string(v);
    return *kind_ == IdKind::integer ? std::to_string(numbers_[v]) : std::string(text(v));
}

void VertexIds::check(const std::string& where) const {
    if (!kind_) return;
    if (*kind_ == IdKind::text) {
        for (VertexId v = 0; v < size_; ++v) {
            if (is_utf8(text(v))) continue;
            throw input_error(fmt::format("the id of vertex {} is invalid UTF-8", v), where,
                              remake_ids);
        }
    }
    const IdMap map(*this);
    if (const auto twice = map.duplicate()) {
        throw input_error(
            fmt::format("vertices {} and {} have the same id", twice->first, twice->second), where,
            remake_ids);
    }
}

void VertexIds::write(ArrayFolderWriter& writer, std::optional<std::size_t> type) const {
    if (!kind_) return;
    if (*kind_ == IdKind::integer) return writer.write(id_array("ids", type), numbers_.span());
    writer.write(id_array("id_offsets", type), offsets_.span());
    writer.write(id_array("id_text", type), bytes_.span());
}

void VertexIds::write(ArrayFolderWriter& writer, std::span<const VertexId> rows,
                      std::optional<std::size_t> type) const {
    if (!kind_) return;
    if (*kind_ == IdKind::integer) {
        auto some = Array<std::int64_t>::uninitialised(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            some[i] = numbers_[rows[i]];
        return writer.write(id_array("ids", type), std::span<const std::int64_t>(some.span()));
    }
    auto offsets = Array<std::uint64_t>::uninitialised(rows.size() + 1);
    offsets[0] = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
        offsets[i + 1] = offsets[i] + text(rows[i]).size();
    writer.write(id_array("id_offsets", type), std::span<const std::uint64_t>(offsets.span()));
    ArrayStream stream =
        writer.stream(id_array("id_text", type), ElementType::u8, {offsets[rows.size()]});
    std::string piece;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        piece += text(rows[i]);
        if (piece.size() < ids_per_piece && i + 1 < rows.size()) continue;
        stream.append(std::as_bytes(std::span(piece)));
        piece.clear();
    }
    stream.finish();
}

}  // namespace rudder::graph
