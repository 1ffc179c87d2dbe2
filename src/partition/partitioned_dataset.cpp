#include "rudder/partition/partitioned_dataset.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/file.hpp"

namespace rudder::partition {

namespace {

constexpr const char* remake_parts = "make the partition again, or restore it from a copy";

PartitionBook read_book(const Json& manifest, VertexId vertices, PartId parts,
                        const std::string& where) {
    const Json& entry = json_field(manifest, "book", where);
    std::vector<VertexId> starts;
    bool good = entry.is_array() && parts >= 1 && entry.size() == parts + std::size_t{1};
    if (good) {
        for (const Json& start : entry) {
            good = good && start.is_number_unsigned();
            starts.push_back(good ? start.get<VertexId>() : 0);
            if (starts.size() > 1) good = good && starts[starts.size() - 2] < starts.back();
        }
    }
    if (!good || starts.front() != 0 || starts.back() != vertices) {
        throw input_error(
            "the book does not ascend from 0 to the number of vertices, one range per part", where,
            remake_parts);
    }
    return PartitionBook(std::move(starts));
}

/// Where types begin in each part, within what the part owns.
TypeBook read_type_book(const Json& manifest, const PartitionBook& book, std::size_t types,
                        const std::string& where) {
    if (types == 0) return {};
    const Json& entry = json_field(manifest, "type_book", where);
    bool good = entry.is_array() && entry.size() == book.parts() * types + 1;
    std::vector<VertexId> starts;
    for (std::size_t i = 0; good && i < entry.size(); ++i) {
        good = entry[i].is_number_unsigned();
        if (good) starts.push_back(entry[i].get<VertexId>());
        good = good && (i == 0 || starts[i - 1] <= starts[i]) &&
               (i % types != 0 || starts[i] == book.starts()[i / types]);
    }
    if (good) return {std::move(starts), types};
    throw input_error("the book of types does not divide the parts' ranges", where, remake_parts);
}

std::vector<std::uint64_t> read_checksums(const Json& manifest, PartId parts,
                                          const std::string& where) {
    const Json& entry = json_field(manifest, "part_manifests", where);
    if (!entry.is_array() || entry.size() != parts) {
        throw input_error("invalid part_manifests: not one checksum per part", where, remake_parts);
    }
    std::vector<std::uint64_t> sums;
    for (const Json& sum : entry) {
        if (!sum.is_string())
            throw input_error("invalid checksum: not a string", where, remake_parts);
        sums.push_back(from_hex(sum.get<std::string>(), where));
    }
    return sums;
}

/// Whether a part's manifest says the same of edges, features and targets as that of the whole.
bool same_kind(const graph::DatasetInfo& a, const graph::DatasetInfo& b) {
    return a.symmetric == b.symmetric && a.features.width == b.features.width &&
           a.features.type == b.features.type &&
           a.features.row_normalise == b.features.row_normalise &&
           a.targets.kind == b.targets.kind && a.targets.count == b.targets.count &&
           a.edge_weight == b.edge_weight && a.edge_time == b.edge_time &&
           a.edge_features.width == b.edge_features.width &&
           a.edge_features.type == b.edge_features.type &&
           a.edge_targets.kind == b.edge_targets.kind &&
           a.edge_targets.count == b.edge_targets.count &&
           a.edge_split.has_value() == b.edge_split.has_value() && a.vertex_time == b.vertex_time &&
           a.types.same_kinds(b.types);
}

void check_kind(const graph::DatasetInfo& part, const graph::DatasetInfo& whole,
                const std::string& part_manifest, const std::string& whole_manifest) {
    if (same_kind(part, whole)) return;
    throw input_error("a part's features or targets are not of the kind of the whole",
                      fmt::format("{} and {}", whole_manifest, part_manifest), remake_parts);
}

}  // namespace

PartitionedDataset::PartitionedDataset(const std::filesystem::path& folder)
    : folder_(folder, partition_format, partition_version),
      info_(graph::dataset_info(folder_.manifest(), folder_.manifest_path())),
      summary_(partition_summary(folder_.manifest(), folder_.manifest_path())),
      book_(read_book(folder_.manifest(), info_.vertices, summary_.parts, folder_.manifest_path())),
      types_(read_type_book(folder_.manifest(), book_, info_.types.vertices.size(),
                            folder_.manifest_path())),
      part_checksums_(read_checksums(folder_.manifest(), summary_.parts, folder_.manifest_path())) {
    check_against_first_part();
}

/// What the manifest says of sizes is in the parts' manifests, too, which are held against their
/// files. A part that is missing or damaged is the business of whoever opens it.
void PartitionedDataset::check_against_first_part() const {
    const auto file = folder_.path() / part_folder(0) / "manifest.json";
    if (!std::filesystem::exists(file)) return;
    const std::string text = read_text(file, part_manifest_limit);
    if (hash_bytes(std::as_bytes(std::span(text))) != part_checksums_.front()) return;
    check_kind(graph::dataset_info(parse_json(text, file.string()), file.string()), info_,
               file.string(), folder_.manifest_path());
}

Part PartitionedDataset::part(PartId p) const {
    RUDDER_CHECK(p < parts());
    Part part(folder_.path() / part_folder(p), p, book_.range(p), info_.vertices,
              part_checksums_[p]);
    check_kind(part.info(), info_, part.folder().manifest_path(), folder_.manifest_path());
    bool same_ids = graph::id_kind(part.folder()) == graph::id_kind(folder_);
    for (std::size_t t = 0; t < types_.types(); ++t) {
        same_ids = same_ids && graph::id_kind(part.folder(), t) == graph::id_kind(folder_, t);
        if (part.info().types.vertices[t].vertices == types_.range(p, t).size()) continue;
        throw input_error("a part's types do not have as many vertices as the book says",
                          part.folder().manifest_path(), remake_parts);
    }
    if (!same_ids) {
        throw input_error("a part does not keep the ids that the whole keeps",
                          part.folder().manifest_path(), remake_parts);
    }
    return part;
}

std::vector<Part> PartitionedDataset::all_parts() const {
    std::vector<Part> all;
    all.reserve(parts());
    for (PartId p = 0; p < parts(); ++p)
        all.push_back(part(p));
    return all;
}

}  // namespace rudder::partition
