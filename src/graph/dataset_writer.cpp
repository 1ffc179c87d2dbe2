#include "dataset_writer.hpp"

#include "core/json.hpp"
#include "rudder/core/version.hpp"

#include "feature_writer.hpp"

namespace rudder::graph {

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

void DatasetWriter::features(const FeatureSource& source, std::optional<ElementType> type,
                             bool row_normalise, Progress& progress) {
    info_.features = write_features(arrays_, source, info_.vertices, type, progress);
    info_.features.row_normalise = row_normalise;
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

DatasetInfo DatasetWriter::commit(const Provenance& provenance) {
    if (!has_split_) split(Array<Role>::zeroed(info_.vertices).span());
    provenance.write_config(staging_.path());
    Json manifest = {
        {"format", dataset_format}, {"version", dataset_version}, {"rudder", version()}};
    describe(info_, manifest);
    manifest["made_by"] = made_by_json(provenance);
    arrays_.finish(std::move(manifest));
    staging_.commit();
    return info_;
}

}  // namespace rudder::graph
