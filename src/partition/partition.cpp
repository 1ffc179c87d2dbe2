#include "partition.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/span.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/version.hpp"
#include "rudder/graph/topology_builder.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/partition/summary.hpp"

#include "assignment.hpp"
#include "part_arrays.hpp"
#include "renumber.hpp"

namespace rudder::partition {

namespace {

/// A part as written.
struct WrittenPart {
    PartFigures figures;
    std::uint64_t manifest_checksum = 0;
};

constexpr std::size_t written_per_chunk = 1 << 13;

/// The vertices a part reads from but does not own: a set over all global ids, one bit each, that
/// turns into ascending ids and their ranks.
class HaloSet {
public:
    explicit HaloSet(VertexId vertices)
        : words_(Array<std::uint64_t>::zeroed(vertices / 64 + 1)),
          ranks_(Array<VertexId>::uninitialised(vertices / 64 + 1)) {}

    /// From any thread.
    void insert(VertexId v) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (v % 64);
        std::uint64_t& word = words_[v / 64];
        if ((std::atomic_ref(word).load(std::memory_order_relaxed) & bit) != 0) return;
        std::atomic_ref(word).fetch_or(bit, std::memory_order_relaxed);
    }
    /// The ids, once all are in.
    [[nodiscard]] Array<VertexId> finish() {
        VertexId count = 0;
        for (std::size_t i = 0; i < words_.size(); ++i) {
            ranks_[i] = count;
            count += static_cast<VertexId>(std::popcount(words_[i]));
        }
        auto ids = Array<VertexId>::uninitialised(count);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            VertexId at = ranks_[i];
            for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
                ids[at++] = i * 64 + static_cast<VertexId>(std::countr_zero(word));
        }
        return ids;
    }
    [[nodiscard]] VertexId rank(VertexId v) const noexcept {
        const std::uint64_t below = words_[v / 64] & ((std::uint64_t{1} << (v % 64)) - 1);
        return ranks_[v / 64] + static_cast<VertexId>(std::popcount(below));
    }

private:
    Array<std::uint64_t> words_;
    Array<VertexId> ranks_;
};

/// The structure of a part.
struct PartRows {
    Array<EdgeIndex> offsets;
    Array<LocalId> neighbours;
    Array<EdgeIndex> origin;  ///< the data set's entry of each; empty where entries carry nothing
    Array<VertexId> halo;
    EdgeIndex crossing = 0;
    graph::TopologyCounts irregular;
};

/// Whether rows are built with the entries of the data set that they came from.
enum class Origins : bool { left_out, kept };

class RowBuilder {
public:
    /// `types` are those of the entries, where there are several.
    RowBuilder(const graph::TopologyView& graph, std::span<const std::uint8_t> types,
               const Renumbering& order, PartId part, Origins origins)
        : graph_(graph),
          types_(types),
          order_(order),
          part_(part),
          origins_(origins),
          range_(order.book.range(part)),
          halo_(order.book.vertices()) {}

    [[nodiscard]] PartRows build() {
        graph_.neighbours.visit([this](auto neighbours) {
            collect(neighbours);
            rows_.halo = halo_.finish();
            check_local_ids(part_, range_.size(), rows_.halo.size());
            if (origins_ == Origins::kept) {
                rows_.origin = Array<EdgeIndex>::uninitialised(rows_.offsets[range_.size()]);
                place<OriginEntry>(neighbours);
            } else {
                place<VertexId>(neighbours);
            }
        });
        rows_.crossing = crossing_;
        rows_.irregular = {loops_, duplicates_};
        return std::move(rows_);
    }

private:
    /// Sizes of the rows, and the halo.
    template <class Neighbours>
    void collect(Neighbours neighbours) {
        rows_.offsets = Array<EdgeIndex>::zeroed(range_.size() + 1);
        parallel_chunks(range_.size(), written_per_chunk, [&](const Chunk& chunk) {
            EdgeIndex crossing = 0;
            for (VertexId i = chunk.begin; i < chunk.end; ++i) {
                const VertexId v = order_.original[range_.begin + i];
                rows_.offsets[i + 1] = graph_.degree(v);
                for (EdgeIndex e = graph_.offsets[v]; e < graph_.offsets[v + 1]; ++e) {
                    const VertexId u = order_.renumbered[neighbours[e]];
                    if (range_.contains(u)) continue;
                    ++crossing;
                    halo_.insert(u);
                }
            }
            crossing_ += crossing;
        });
        std::partial_sum(rows_.offsets.begin(), rows_.offsets.end(), rows_.offsets.begin());
    }

    /// An entry in new ids; those of equal ids stay in the data set's order.
    struct OriginEntry {
        VertexId id;
        EdgeIndex origin;
        friend bool operator<(const OriginEntry& a, const OriginEntry& b) noexcept {
            return a.id != b.id ? a.id < b.id : a.origin < b.origin;
        }
    };

    /// The rows, sorted by global id and then told in local ids.
    template <class Entry, class Neighbours>
    void place(Neighbours neighbours) {
        constexpr bool with_origin = std::is_same_v<Entry, OriginEntry>;
        rows_.neighbours = Array<LocalId>::uninitialised(rows_.offsets[range_.size()]);
        parallel_chunks(range_.size(), written_per_chunk, [&](const Chunk& chunk) {
            std::vector<Entry> row;
            graph::TopologyCounts irregular;
            const auto id = [&](std::size_t k) -> VertexId {
                if constexpr (with_origin) {
                    return row[k].id;
                } else {
                    return row[k];
                }
            };
            for (VertexId i = chunk.begin; i < chunk.end; ++i) {
                const VertexId v = order_.original[range_.begin + i];
                row.clear();
                for (EdgeIndex e = graph_.offsets[v]; e < graph_.offsets[v + 1]; ++e) {
                    if constexpr (with_origin) {
                        row.push_back({order_.renumbered[neighbours[e]], e});
                    } else {
                        row.push_back(order_.renumbered[neighbours[e]]);
                    }
                }
                std::sort(row.begin(), row.end());
                LocalId* out = rows_.neighbours.data() + rows_.offsets[i];
                for (std::size_t k = 0; k < row.size(); ++k) {
                    if (id(k) == range_.begin + i) ++irregular.self_loops;
                    if (k > 0 && id(k) == id(k - 1) && same_type(row, k)) ++irregular.duplicates;
                    out[k] = local(id(k));
                    if constexpr (with_origin) rows_.origin[rows_.offsets[i] + k] = row[k].origin;
                }
            }
            loops_ += irregular.self_loops;
            duplicates_ += irregular.duplicates;
        });
    }

    /// Whether an entry is of the type of the one before.
    template <class Entry>
    [[nodiscard]] bool same_type(const std::vector<Entry>& row, std::size_t k) const noexcept {
        if constexpr (std::is_same_v<Entry, OriginEntry>) {
            return types_.empty() || types_[row[k].origin] == types_[row[k - 1].origin];
        } else {
            return true;
        }
    }

    [[nodiscard]] LocalId local(VertexId u) const noexcept {
        return static_cast<LocalId>(range_.contains(u) ? u - range_.begin
                                                       : range_.size() + halo_.rank(u));
    }

    graph::TopologyView graph_;
    std::span<const std::uint8_t> types_;
    const Renumbering& order_;
    PartId part_;
    Origins origins_;
    PartitionBook::Range range_;
    HaloSet halo_;
    PartRows rows_;
    std::atomic<EdgeIndex> crossing_{0};
    std::atomic<EdgeIndex> loops_{0};
    std::atomic<EdgeIndex> duplicates_{0};
};

void count_role(graph::Role role, graph::SplitCounts& counts) {
    if (role == graph::Role::train) ++counts.train;
    if (role == graph::Role::valid) ++counts.valid;
    if (role == graph::Role::test) ++counts.test;
}

/// The counts of the part alone.
graph::DatasetInfo part_info(const graph::Dataset& data, const PartRows& rows,
                             std::span<const VertexId> ids) {
    graph::DatasetInfo info = data.info();
    info.vertices = ids.size();
    info.edges = rows.neighbours.size();
    info.self_loops = rows.irregular.self_loops;
    info.duplicates = rows.irregular.duplicates;
    info.targets.names.clear();
    info.targets.labelled = 0;
    info.split = {};
    info.edge_targets.names.clear();
    info.edge_targets.labelled = 0;
    const graph::EdgeData edges = data.edge_data();
    graph::SplitCounts edge_roles;
    for (const EdgeIndex e : rows.origin) {
        if (graph::is_labelled(info.edge_targets, edges.targets, e)) ++info.edge_targets.labelled;
        if (!edges.roles.empty()) count_role(edges.roles[e], edge_roles);
    }
    if (info.edge_split) info.edge_split = edge_roles;
    const graph::TargetView targets = data.targets();
    for (const VertexId v : ids) {
        if (graph::is_labelled(info.targets, targets, v)) ++info.targets.labelled;
        count_role(data.roles()[v], info.split);
    }
    return info;
}

/// Writes part `part` into the new folder `folder`. Rows of features and labels are gathered from
/// the mapped data set in pieces of bounded size; only the part's own structure is in memory.
WrittenPart write_part(const graph::Dataset& data, const Renumbering& order, PartId part,
                       const std::filesystem::path& folder, Progress& progress) {
    std::error_code code;
    std::filesystem::create_directory(folder, code);
    if (code) throw system_error("cannot create the folder", folder.string(), code.value());
    const auto range = order.book.range(part);
    const auto ids = order.original.span().subspan(range.begin, range.size());
    graph::ArrayFolderWriter writer(folder);
    const bool carry = data.info().edges_carry() || data.info().types.present();
    const PartRows rows = RowBuilder(data.topology(), data.edge_data().type, order, part,
                                     carry ? Origins::kept : Origins::left_out)
                              .build();
    writer.write("offsets", rows.offsets.span());
    writer.write("neighbours", rows.neighbours.span());
    writer.write("halo", rows.halo.span());
    writer.write("original_ids", std::span<const VertexId>(ids));
    writer.write("clusters", std::span<const VertexId>(order.clusters[part]));
    write_features(writer, data.features(), ids, "features", "feature_scale");
    write_types(writer, data, order, part);
    write_targets(writer, "labels", data.info().targets, data.targets(), ids);
    write_rows(writer, "split", ElementType::u8, {ids.size()}, std::as_bytes(data.roles()).data(),
               1, ids);
    if (data.info().vertex_time) {
        write_rows(writer, "vertex_time", ElementType::i64, {ids.size()},
                   std::as_bytes(data.vertex_times()).data(), sizeof(std::int64_t), ids);
    }
    write_edge_data(writer, data, rows.origin.span());
    graph::VertexIds::open(data.folder(), data.info().vertices).write(writer, ids);
    graph::DatasetInfo info = part_info(data, rows, ids);
    count_types(data, order, part, rows.origin.span(), info.types);
    Json manifest = {{"format", part_format}, {"version", info.version()}, {"part", part}};
    describe(info, manifest);
    describe_ids(graph::id_kind(data.folder()), manifest);
    describe_ids(type_id_kinds(data), manifest);
    manifest["halo"] = rows.halo.size();
    manifest["clusters"] = order.clusters[part].size() - 1;
    writer.finish(std::move(manifest));
    progress.advance(range.size());
    const std::string text = read_text(folder / "manifest.json", std::uint64_t{16} << 20);
    std::vector<VertexId> of_types;
    for (const graph::VertexType& type : info.types.vertices)
        of_types.push_back(type.vertices);
    return {{info.vertices, info.split.train, info.edges, rows.crossing, rows.halo.size(),
             std::move(of_types)},
            hash_bytes(std::as_bytes(std::span(text)))};
}

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
    Json manifest = {{"format", partition_format}, {"version", data.info().version()}};
    manifest["rudder"] = version();
    manifest["made_by"] = graph::made_by_json(provenance);
    const Json& source = data.folder().manifest();
    if (const auto made = source.find("made_by"); made != source.end()) manifest["source"] = *made;
    describe(data.info(), manifest);
    describe_ids(graph::id_kind(data.folder()), manifest);
    describe_ids(type_id_kinds(data), manifest);
    describe(summary, manifest);
    manifest["book"] = order.book.starts();
    if (order.types.types() != 0) manifest["type_book"] = order.types.starts();
    manifest["part_manifests"] = std::move(checksums);
    provenance.write_config(staging.path());
    graph::ArrayFolderWriter(staging.path()).finish(std::move(manifest));
    staging.commit();
    progress.done();
}

PartitionInput input_of(const graph::Dataset& data, const PartitionGraph& graph) {
    return {graph.view(), data.topology(), data.roles(), data.info().types.vertices};
}

}  // namespace

PartitionGraph::PartitionGraph(const graph::Dataset& data) : stored_(data.topology()) {
    const graph::DatasetInfo& info = data.info();
    // Edges of several types may join the same two vertices.
    if (!info.symmetric || info.self_loops != 0 || info.duplicates != 0 || info.types.present()) {
        made_ = graph::symmetrised(stored_);
    }
}

PartitionSummary partition_dataset(const graph::Dataset& data, const std::filesystem::path& out,
                                   const PartitionOptions& options, Existing existing,
                                   Progress& progress) {
    check_options(options, data.info().vertices);
    (void)partitioner(options.method);
    Staging staging = Staging::folder(out, existing);
    Renumbering order;
    PartitionSummary summary;
    {
        const PartitionGraph graph(data);
        Assignment assignment = assign_parts(input_of(data, graph), options, progress);
        order = renumber(graph.view(), assignment.parts.span(), options, data.info().types.vertices,
                         progress);
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
        order = renumber(graph.view(), assignment, options, data.info().types.vertices, progress);
    }
    PartitionSummary summary = summary_of(given, {});
    write_partition(data, order, staging, summary, options.provenance, progress);
    return summary;
}

}  // namespace rudder::partition
