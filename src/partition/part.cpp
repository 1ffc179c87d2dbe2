#include "rudder/partition/part.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"

namespace rudder::partition {

namespace {

constexpr const char* remake = "make the partition again, or restore it from a copy";

/// Opens the folder, whose manifest must be the one the partition was written with.
graph::ArrayFolder open_folder(const std::filesystem::path& folder, std::uint64_t checksum) {
    const auto file = folder / "manifest.json";
    if (std::filesystem::is_symlink(folder)) {
        throw input_error("a part is a symbolic link", folder.string(),
                          "put the folder itself there");
    }
    if (!std::filesystem::exists(file)) {
        throw input_error("a part is missing", folder.string(), remake);
    }
    const std::string text = read_text(file, part_manifest_limit);
    if (hash_bytes(std::as_bytes(std::span(text))) != checksum) {
        throw input_error("the part's manifest is not the one the partition was made with",
                          file.string(), remake);
    }
    return {folder, part_format, part_version};
}

}  // namespace

std::string part_folder(PartId part) {
    return fmt::format("part-{:05}", part);
}

void check_local_ids(PartId part, VertexId own, VertexId halo) {
    if (checked_add(own, halo, "local ids") < (VertexId{1} << 32)) return;
    throw usage_error(fmt::format("part {} would have {} own and {} halo vertices, more than its "
                                  "32-bit ids can name",
                                  part, format_count(own), format_count(halo)),
                      "--parts", "give more parts");
}

Part::Part(const std::filesystem::path& folder, PartId id, PartitionBook::Range range,
           VertexId vertices, std::uint64_t checksum)
    : id_(id), range_(range), folder_(open_folder(folder, checksum)) {
    const std::string where = folder_.manifest_path();
    info_ = graph::dataset_info(folder_.manifest(), where);
    if (json_u64(folder_.manifest(), "part", where) != id || info_.vertices != range.size()) {
        throw input_error("the part is not the one the partition's manifest describes", where,
                          remake);
    }
    const VertexId own = range.size();
    const VertexId halo = json_u64(folder_.manifest(), "halo", where);
    const VertexId clusters = json_u64(folder_.manifest(), "clusters", where);
    if (halo > vertices || clusters == 0 || clusters > own) {
        throw input_error("the number of halo rows or clusters is impossible", where, remake);
    }
    check_local_ids(id, own, halo);
    offsets_ = folder_.map<EdgeIndex>("offsets", {own + 1});
    neighbours_ = folder_.map<LocalId>("neighbours", {info_.edges});
    halo_ = folder_.map<VertexId>("halo", {halo});
    original_ids_ = folder_.map<VertexId>("original_ids", {own});
    clusters_ = folder_.map<VertexId>("clusters", {clusters + 1});
    arrays_ = graph::VertexArrays::open(folder_, info_, own);
    edge_arrays_ = graph::EdgeArrays::open(folder_, info_);
    if (offsets_[0] != 0 || offsets_[own] != info_.edges) {
        throw input_error("the offsets do not run from 0 to the number of edges",
                          fmt::format("{}, array 'offsets'", folder_.path().string()), remake);
    }
}

void Part::unify_rows() {
    const graph::FeatureInfo all = info_.rows();
    const std::size_t row_bytes = all.row_bytes();
    constexpr std::size_t rows_per_chunk = 1 << 12;
    uniform_ = Array<std::byte>::zeroed(checked_mul(own(), row_bytes, "size of the rows"));
    for (std::size_t t = 0; t < info_.types.vertices.size(); ++t) {
        const graph::FeatureView rows = features(t);
        if (!rows.info.present()) continue;
        graph::FeatureInfo plain = rows.info;
        plain.row_normalise = false;  // that is for whoever assembles rows
        std::byte* const out = uniform_.data() + info_.types.vertices[t].first * row_bytes;
        parallel_chunks(rows.rows, rows_per_chunk, [&](const Chunk& chunk) {
            std::vector<float> values(plain.width);
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                if (plain.type == all.type) {
                    std::ranges::copy(rows.row(v), out + v * row_bytes);
                    continue;
                }
                graph::decode_row(plain, rows.row(v), rows.scale, values);
                std::memcpy(out + v * row_bytes, values.data(), values.size() * sizeof(float));
            }
        });
    }
}

std::optional<LocalId> Part::local(VertexId global) const noexcept {
    if (range_.contains(global)) return static_cast<LocalId>(global - range_.begin);
    const auto found = std::ranges::lower_bound(halo(), global);
    if (found == halo().end() || *found != global) return std::nullopt;
    return static_cast<LocalId>(own() + static_cast<VertexId>(found - halo().begin()));
}

}  // namespace rudder::partition
