// What the user calls the vertices: numbers or texts, kept beside the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/array_folder.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

/// What the user calls vertices: whole numbers of 64 bits, or texts.
enum class IdKind : std::uint8_t { integer, text };
[[nodiscard]] std::string_view to_string(IdKind kind) noexcept;
/// The kind that the manifest of a data set, partition or part says it keeps, if any.
[[nodiscard]] std::optional<IdKind> id_kind(const ArrayFolder& folder);
/// The same of one type of several, whose ids are its own.
[[nodiscard]] std::optional<IdKind> id_kind(const ArrayFolder& folder, std::size_t type);
/// Says so in a manifest of such, and that it is of version 2 at least.
void describe_ids(std::optional<IdKind> kind, Json& manifest);
/// The same in the manifest's entries of types.
void describe_ids(std::span<const std::optional<IdKind>> of_types, Json& manifest);

/// The ids of vertices 0, 1, 2, ... Without any, a vertex is called by its number.
class VertexIds {
public:
    VertexIds() = default;
    explicit VertexIds(Array<std::int64_t> numbers);
    /// The text of v is that from offsets[v] to offsets[v + 1].
    VertexIds(Array<std::uint64_t> offsets, Array<std::uint8_t> bytes);
    /// Those of a data set or a part; none where it has none. Offsets that do not ascend from 0 to
    /// the end are an input Error.
    [[nodiscard]] static VertexIds open(const ArrayFolder& folder, VertexId vertices);
    /// Those of one type of several: id i is that of vertex i of the type.
    [[nodiscard]] static VertexIds open(const ArrayFolder& folder, const GraphTypes& types,
                                        std::size_t type);

    [[nodiscard]] std::optional<IdKind> kind() const noexcept { return kind_; }
    [[nodiscard]] VertexId size() const noexcept { return size_; }
    [[nodiscard]] std::span<const std::int64_t> numbers() const noexcept { return numbers_.span(); }
    [[nodiscard]] std::span<const std::uint64_t> offsets() const noexcept {
        return offsets_.span();
    }
    /// The texts, one after the other.
    [[nodiscard]] const char* bytes() const noexcept {
        return reinterpret_cast<const char*>(bytes_.data());
    }
    [[nodiscard]] std::string_view text(VertexId v) const noexcept {
        return {bytes() + offsets_[v], offsets_[v + 1] - offsets_[v]};
    }
    /// The id of v as a person writes it.
    [[nodiscard]] std::string name(VertexId v) const;

    /// Verifies that no two are equal and that texts are UTF-8; an input Error otherwise.
    void check(const std::string& where) const;
    /// Writes them; with `rows` those of some vertices, in that order; with a `type` as those of
    /// one type of several.
    void write(ArrayFolderWriter& writer, std::optional<std::size_t> type = std::nullopt) const;
    void write(ArrayFolderWriter& writer, std::span<const VertexId> rows,
               std::optional<std::size_t> type = std::nullopt) const;

private:
    static VertexIds open(const ArrayFolder& folder, IdKind kind, VertexId vertices,
                          std::optional<std::size_t> type);

    std::optional<IdKind> kind_;
    VertexId size_ = 0;
    Array<std::int64_t> numbers_;
    Array<std::uint64_t> offsets_;
    Array<std::uint8_t> bytes_;
};

}  // namespace rudder::graph
