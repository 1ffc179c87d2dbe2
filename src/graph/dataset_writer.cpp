#include "rudder/graph/dataset_writer.hpp"

#include <algorithm>
#include <vector>

#include "rudder/core/parallel.hpp"

namespace rudder {

namespace {

/// Feature rows are made in blocks of about this size, which are then written in order.
constexpr std::uint64_t block_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 18;

std::uint64_t rows_in(std::uint64_t bytes, const FeatureInfo& info) {
    return std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, info.row_bytes()));
}

}  // namespace

DatasetWriter::DatasetWriter(const std::filesystem::path& output, Existing existing)
    : staging_(Staging::folder(output, existing)), arrays_(staging_.path()) {}

void DatasetWriter::topology(const BuiltTopology& built, bool symmetric) {
    info_.vertices = built.topology.vertices();
    info_.edges = built.topology.edges();
    info_.symmetric = symmetric;
    info_.self_loops = built.kept.self_loops;
    info_.duplicates = built.kept.duplicates;
    write_topology(arrays_, built.topology.view());
}

void DatasetWriter::features(const FeatureInfo& info, std::span<const float> scale,
                             FunctionRef<void(VertexId, std::span<std::byte>)> rows,
                             const std::string& where, Progress& progress) {
    info_.features = info;
    if (!info.present()) return;
    auto stream = arrays_.stream("features", info.type, {info_.vertices, info.width});
    const std::uint64_t per_block = rows_in(block_bytes, info);
    const std::uint64_t row_bytes = info.row_bytes();
    std::vector<std::byte> block(std::min(per_block, info_.vertices) * row_bytes);
    progress.phase("writing features", info_.vertices);
    for (VertexId first = 0; first < info_.vertices; first += per_block) {
        const std::uint64_t count = std::min(per_block, info_.vertices - first);
        parallel_chunks(count, rows_in(chunk_bytes, info), [&](const Chunk& chunk) {
            const auto bytes = std::span(block).subspan(chunk.begin * row_bytes,
                                                        (chunk.end - chunk.begin) * row_bytes);
            rows(first + chunk.begin, bytes);
            check_finite(info, bytes, first + chunk.begin, where);
        });
        stream.append(std::span<const std::byte>(block).first(count * row_bytes));
        progress.advance(count);
    }
    stream.finish();
    if (info.type == ElementType::i8) arrays_.write("feature_scale", scale);
}

void DatasetWriter::targets(TargetInfo info, const TargetView& view) {
    info.labelled = 0;
    for (VertexId v = 0; v < info_.vertices; ++v) {
        if (is_labelled(info, view, v)) ++info.labelled;
    }
    switch (info.kind) {
        case TargetKind::none:
            break;
        case TargetKind::classes:
            arrays_.write("labels", view.classes);
            break;
        case TargetKind::multilabel:
            arrays_.write("labels", ElementType::u8, {info_.vertices, info.count},
                          std::as_bytes(view.multilabel));
            break;
        case TargetKind::regression:
            arrays_.write("labels", ElementType::f32, {info_.vertices, info.count},
                          std::as_bytes(view.regression));
            break;
    }
    info_.targets = std::move(info);
}

void DatasetWriter::split(std::span<const Role> roles) {
    RUDDER_CHECK(roles.size() == info_.vertices);
    info_.split = count_split(roles);
    arrays_.write("split", ElementType::u8, {roles.size()}, std::as_bytes(roles));
    has_split_ = true;
}

DatasetInfo DatasetWriter::commit(const Json& made_by) {
    if (!has_split_) split(Array<Role>::zeroed(info_.vertices).span());
    Json manifest = {{"format", dataset_format}, {"version", dataset_version}};
    describe(info_, manifest);
    manifest["made_by"] = made_by;
    arrays_.finish(std::move(manifest));
    staging_.commit();
    return info_;
}

}  // namespace rudder
