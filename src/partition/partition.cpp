#include "partition.hpp"

#include "core/json.hpp"
#include "core/span.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/version.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "assignment.hpp"
#include "part_writer.hpp"

namespace rudder::partition {

namespace {

PartitionSummary summary_of(const PartitionOptions& options, std::vector<std::string> warnings) {
    PartitionSummary summary;
    summary.parts = options.parts;
    summary.method = options.method;
    summary.balanced = balance_of(options);
    summary.slack = options.slack;
    summary.passes = options.passes;
    summary.order = options.order;
    summary.seed = options.seed;
    summary.cluster_size = options.cluster_size;
    summary.warnings = std::move(warnings);
    return summary;
}

/// Writes all parts and, last, the manifest; `summary` gets its figures.
void write_partition(const graph::Dataset& data, const Renumbering& order, Staging& staging,
                     PartitionSummary& summary, const graph::Provenance& provenance,
                     Progress& progress) {
    const Span span("write partition");
    progress.phase("writing parts", data.info().vertices);
    std::vector<PartFigures> figures;
    Json checksums = Json::array();
    for (PartId p = 0; p < order.book.parts(); ++p) {
        const WrittenPart part =
            write_part(data, order, p, staging.path() / part_folder(p), progress);
        figures.push_back(part.figures);
        checksums.push_back(to_hex(part.manifest_checksum));
    }
    set_figures(summary, figures);
    Json manifest = {{"format", partition_format}, {"version", partition_version}};
    manifest["rudder"] = version();
    manifest["made_by"] = graph::made_by_json(provenance);
    const Json& source = data.folder().manifest();
    if (const auto made = source.find("made_by"); made != source.end()) manifest["source"] = *made;
    describe(data.info(), manifest);
    describe(summary, manifest);
    manifest["book"] = order.book.starts();
    manifest["part_manifests"] = std::move(checksums);
    provenance.write_config(staging.path());
    graph::ArrayFolderWriter(staging.path()).finish(std::move(manifest));
    staging.commit();
    progress.done();
}

PartitionInput input_of(const graph::Dataset& data, const PartitionGraph& graph) {
    return {graph.view(), data.topology(), data.roles()};
}

}  // namespace

PartitionGraph::PartitionGraph(const graph::Dataset& data) : stored_(data.topology()) {
    const graph::DatasetInfo& info = data.info();
    if (!info.symmetric || info.self_loops != 0 || info.duplicates != 0) {
        made_ = graph::symmetrised(stored_);
    }
}

PartitionSummary partition_dataset(const graph::Dataset& data, const std::filesystem::path& out,
                                   const PartitionOptions& options, Existing existing,
                                   Progress& progress) {
    check_options(options, data.info().vertices);
    (void)make_partitioner(options.method);
    Staging staging = Staging::folder(out, existing);
    Renumbering order;
    PartitionSummary summary;
    {
        const PartitionGraph graph(data);
        Assignment assignment = assign_parts(input_of(data, graph), options, progress);
        order = renumber(graph.view(), assignment.parts.span(), options, progress);
        summary = summary_of(options, std::move(assignment.warnings));
    }
    write_partition(data, order, staging, summary, options.provenance, progress);
    return summary;
}

PartitionSummary partition_dataset(const graph::Dataset& data, std::span<const PartId> assignment,
                                   const std::filesystem::path& out,
                                   const PartitionOptions& options, Existing existing,
                                   Progress& progress) {
    PartitionOptions given = options;
    given.method = "given";
    check_options(given, data.info().vertices);
    check_assignment(assignment, data.info().vertices, given.parts, "--assignment");
    Staging staging = Staging::folder(out, existing);
    Renumbering order;
    {
        const PartitionGraph graph(data);
        order = renumber(graph.view(), assignment, options, progress);
    }
    PartitionSummary summary = summary_of(given, {});
    write_partition(data, order, staging, summary, options.provenance, progress);
    return summary;
}

}  // namespace rudder::partition
