#include "export.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/staging.hpp"

#include "npz.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t export_block_bytes = 1 << 18;

void put(std::vector<std::byte>& block, const void* data, std::size_t bytes) {
    const std::size_t before = block.size();
    block.resize(before + bytes);
    std::memcpy(block.data() + before, data, bytes);
}

/// A producer that goes through the vertices once: `each(v, block)` appends what v gives.
template <class F>
NpzWriter::Producer per_vertex(VertexId vertices, Progress& progress, F each) {
    return [vertices, &progress, each = std::move(each),
            v = VertexId{0}](std::vector<std::byte>& block) mutable {
        const VertexId first = v;
        while (v < vertices && block.size() < export_block_bytes)
            each(v++, block);
        progress.advance(v - first);
        return !block.empty();
    };
}

/// Adds arrays to the archive. Ids are int32 where they fit.
class Exporter {
public:
    Exporter(const ExportSource& source, NpzWriter& writer, Progress& progress)
        : source_(source),
          info_(source.info()),
          writer_(writer),
          progress_(progress),
          wide_(info_.vertices > VertexId{std::numeric_limits<std::int32_t>::max()}) {}

    void add_all() {
        const auto vertices = static_cast<std::int64_t>(info_.vertices);
        writer_.add<std::int64_t>("num_nodes", {&vertices, 1}, {});
        add_ids(writer_, source_.ids());
        add_edges();
        if (info_.features.present())
            add_rows("x", info_.features, {0, info_.vertices}, source_.feature_scale());
        if (info_.types.present()) add_types();
        add_targets();
        add_set("train", Role::train, info_.split.train);
        add_set("val", Role::valid, info_.split.valid);
        add_set("test", Role::test, info_.split.test);
        if (info_.vertex_time) {
            writer_.add("node_time", {ElementType::i64, false, 0, {info_.vertices}},
                        per_vertex(info_.vertices, progress_, [this](VertexId v, auto& block) {
                            const std::int64_t time = source_.time_of(v);
                            put(block, &time, sizeof(time));
                        }));
        }
        if (source_.partitioned()) {
            writer_.add("part", {ElementType::i32, false, 0, {info_.vertices}},
                        per_vertex(info_.vertices, progress_, [this](VertexId v, auto& block) {
                            const PartId part = source_.part(v);
                            put(block, &part, sizeof(part));
                        }));
        }
    }

private:
    [[nodiscard]] ElementType id_type() const {
        return wide_ ? ElementType::i64 : ElementType::i32;
    }
    void put_id(std::vector<std::byte>& block, VertexId id) const {
        put(block, &id, wide_ ? 8 : 4);  // little-endian: the low bytes come first
    }

    /// A producer that goes through the exported edges: `each(arc, target, block)` appends what one
    /// gives.
    template <class F>
    [[nodiscard]] NpzWriter::Producer per_edge(F each) {
        auto row = std::make_shared<std::vector<ExportedArc>>();
        return per_vertex(info_.vertices, progress_,
                          [this, row, each = std::move(each)](VertexId v, auto& block) {
                              source_.row(v, *row);
                              std::ranges::stable_sort(*row, {}, &ExportedArc::source);
                              for (const ExportedArc& arc : *row) {
                                  if (exported_once(info_, arc, v)) each(arc, v, block);
                              }
                          });
    }

    void add_edges() {
        const EdgeIndex count =
            info_.symmetric ? (info_.edges + info_.self_loops) / 2 : info_.edges;
        const NpyHeader ids{id_type(), false, 0, {count}};
        writer_.add("src", ids, per_edge([this](const ExportedArc& arc, VertexId, auto& block) {
                        put_id(block, arc.source);
                    }));
        writer_.add("dst", ids, per_edge([this](const ExportedArc&, VertexId v, auto& block) {
                        put_id(block, v);
                    }));
        if (info_.edge_weight) {
            writer_.add("edge_weight", {ElementType::f32, false, 0, {count}},
                        per_edge([](const ExportedArc& arc, VertexId, auto& block) {
                            put(block, &arc.weight, sizeof(arc.weight));
                        }));
        }
        if (info_.edge_time) {
            writer_.add("edge_time", {ElementType::i64, false, 0, {count}},
                        per_edge([](const ExportedArc& arc, VertexId, auto& block) {
                            put(block, &arc.time, sizeof(arc.time));
                        }));
        }
        if (info_.edge_features.present()) add_edge_features(count);
        add_edge_targets(count);
        if (info_.edge_split) {
            writer_.add("edge_split", {ElementType::u8, false, 0, {count}},
                        per_edge([](const ExportedArc& arc, VertexId, auto& block) {
                            put(block, &arc.role, sizeof(arc.role));
                        }));
        }
        if (info_.types.present()) {
            writer_.add("edge_type", {ElementType::u8, false, 0, {count}},
                        per_edge([](const ExportedArc& arc, VertexId, auto& block) {
                            put(block, &arc.type, sizeof(arc.type));
                        }));
        }
    }

    void add_edge_targets(EdgeIndex count) {
        const TargetInfo& targets = info_.edge_targets;
        const auto add = [&](ElementType type, std::vector<std::uint64_t> shape, auto each) {
            writer_.add("edge_label", {type, false, 0, std::move(shape)}, per_edge(each));
        };
        switch (targets.kind) {
            case TargetKind::none:
                return;
            case TargetKind::classes: {
                add(ElementType::i64, {count}, [](const ExportedArc& arc, VertexId, auto& block) {
                    const std::int64_t label = arc.label;
                    put(block, &label, sizeof(label));
                });
                const auto classes = static_cast<std::int64_t>(targets.count);
                writer_.add<std::int64_t>("num_edge_classes", {&classes, 1}, {});
                break;
            }
            case TargetKind::multilabel:
                add(ElementType::u8, {count, targets.count},
                    [](const ExportedArc& arc, VertexId, auto& block) {
                        put(block, arc.multilabel.data(), arc.multilabel.size());
                    });
                break;
            case TargetKind::regression:
                add(ElementType::f32, {count, targets.count},
                    [](const ExportedArc& arc, VertexId, auto& block) {
                        put(block, arc.numbers.data(), arc.numbers.size_bytes());
                    });
                break;
        }
        if (!targets.names.empty()) writer_.add_texts("edge_classes", targets.names);
    }

    /// What several types add: which type vertices are of, names, rows and ids by type.
    void add_types() {
        const GraphTypes& types = info_.types;
        writer_.add("node_type", {ElementType::u8, false, 0, {info_.vertices}},
                    per_vertex(info_.vertices, progress_, [&types](VertexId v, auto& block) {
                        const auto type = static_cast<std::uint8_t>(types.of(v));
                        put(block, &type, sizeof(type));
                    }));
        std::vector<std::string> names;
        for (std::size_t t = 0; t < types.vertices.size(); ++t) {
            const VertexType& type = types.vertices[t];
            names.push_back(type.name);
            add_ids(writer_, source_.type_ids(t), "id_" + type.name);
            if (type.features.present()) {
                add_rows("x_" + type.name, type.features, {type.first, type.vertices},
                         source_.type_scale(t));
            }
        }
        writer_.add_texts("node_types", names);
        names.clear();
        for (const EdgeType& type : types.edges) {
            names.push_back(fmt::format("{} {} {}", types.vertices[type.from].name, type.name,
                                        types.vertices[type.to].name));
        }
        writer_.add_texts("edge_types", names);
    }

    void add_edge_features(EdgeIndex count) {
        const FeatureInfo stored = info_.edge_features;
        const bool as_float = stored.type == ElementType::bf16;
        auto values = std::make_shared<std::vector<float>>(stored.width);
        writer_.add(
            "edge_attr",
            {as_float ? ElementType::f32 : stored.type, false, 0, {count, stored.width}},
            per_edge([stored, as_float, values](const ExportedArc& arc, VertexId, auto& block) {
                if (!as_float) return put(block, arc.features.data(), arc.features.size());
                decode_row(stored, arc.features, {}, *values);
                put(block, values->data(), values->size() * sizeof(float));
            }));
    }

    /// Consecutive vertices that rows are of.
    struct Stretch {
        VertexId first;
        VertexId count;
    };

    void add_rows(const std::string& name, FeatureInfo stored, Stretch of,
                  std::span<const float> scale) {
        stored.row_normalise = false;
        const bool as_float = stored.type == ElementType::bf16;
        const ElementType type = as_float ? ElementType::f32 : stored.type;
        const bool scaled = stored.type == ElementType::i8;
        auto row = std::make_shared<std::vector<float>>(stored.width);
        writer_.add(scaled ? name + "_int8" : name, {type, false, 0, {of.count, stored.width}},
                    per_vertex(of.count, progress_,
                               [this, of, stored, as_float, row](VertexId i, auto& block) {
                                   const auto bytes = source_.feature_row(of.first + i);
                                   if (!as_float) return put(block, bytes.data(), bytes.size());
                                   decode_row(stored, bytes, {}, *row);
                                   put(block, row->data(), row->size() * sizeof(float));
                               }));
        if (scaled) writer_.add(name + "_scale", scale, {stored.width});
    }

    void add_targets() {
        const TargetInfo& targets = info_.targets;
        const auto add = [&](ElementType type, std::vector<std::uint64_t> shape, auto each) {
            writer_.add("y", {type, false, 0, std::move(shape)},
                        per_vertex(info_.vertices, progress_, each));
        };
        switch (targets.kind) {
            case TargetKind::none:
                return;
            case TargetKind::classes: {
                add(ElementType::i64, {info_.vertices}, [this](VertexId v, auto& block) {
                    const std::int64_t label = source_.class_of(v);
                    put(block, &label, sizeof(label));
                });
                const auto count = static_cast<std::int64_t>(targets.count);
                writer_.add<std::int64_t>("num_classes", {&count, 1}, {});
                break;
            }
            case TargetKind::multilabel:
                add(ElementType::u8, {info_.vertices, targets.count},
                    [this](VertexId v, auto& block) {
                        const auto row = source_.multilabel_of(v);
                        put(block, row.data(), row.size());
                    });
                break;
            case TargetKind::regression:
                add(ElementType::f32, {info_.vertices, targets.count},
                    [this](VertexId v, auto& block) {
                        const auto row = source_.regression_of(v);
                        put(block, row.data(), row.size_bytes());
                    });
                break;
        }
        if (!targets.names.empty()) writer_.add_texts("classes", targets.names);
    }

    void add_set(const char* name, Role role, VertexId count) {
        writer_.add(name, {id_type(), false, 0, {count}},
                    per_vertex(info_.vertices, progress_, [this, role](VertexId v, auto& block) {
                        if (source_.role(v) == role) put_id(block, v);
                    }));
    }

    const ExportSource& source_;
    const DatasetInfo& info_;
    NpzWriter& writer_;
    Progress& progress_;
    bool wide_;
};

}  // namespace

DatasetExport::DatasetExport(const Dataset& data)
    : data_(data),
      topology_(data.topology()),
      edge_data_(data.edge_data()),
      features_(data.features()),
      targets_(data.targets()),
      roles_(data.roles()),
      ids_(VertexIds::open(data.folder(), data.info().vertices)) {
    for (std::size_t t = 0; t < data.info().types.vertices.size(); ++t) {
        type_ids_.push_back(VertexIds::open(data.folder(), data.info().types, t));
        type_rows_.push_back(data.features(t));
    }
}

void set_carried(const EdgeData& data, EdgeIndex e, ExportedArc& arc) {
    if (!data.weight.empty()) arc.weight = data.weight[e];
    if (!data.time.empty()) arc.time = data.time[e];
    if (!data.type.empty()) arc.type = data.type[e];
    if (data.features.info.present()) arc.features = data.features.row(e);
    const std::uint64_t width = data.target_count;
    if (!data.targets.classes.empty()) arc.label = data.targets.classes[e];
    if (!data.targets.multilabel.empty())
        arc.multilabel = data.targets.multilabel.subspan(e * width, width);
    if (!data.targets.regression.empty())
        arc.numbers = data.targets.regression.subspan(e * width, width);
    if (!data.roles.empty()) arc.role = data.roles[e];
}

void DatasetExport::row(VertexId v, std::vector<ExportedArc>& out) const {
    out.clear();
    topology_.neighbours.visit([&](auto neighbours) {
        for (EdgeIndex e = topology_.offsets[v]; e < topology_.offsets[v + 1]; ++e) {
            out.push_back({.source = neighbours[e]});
            set_carried(edge_data_, e, out.back());
        }
    });
}

std::int64_t DatasetExport::time_of(VertexId v) const {
    return data_.vertex_times()[v];
}

std::span<const std::byte> DatasetExport::feature_row(VertexId v) const {
    if (type_rows_.empty()) return features_.row(v);
    const std::size_t type = info().types.of(v);
    return type_rows_[type].row(v - info().types.vertices[type].first);
}

std::span<const float> DatasetExport::type_scale(std::size_t type) const {
    return type_rows_[type].scale;
}

std::span<const float> DatasetExport::feature_scale() const {
    return features_.scale;
}

std::int32_t DatasetExport::class_of(VertexId v) const {
    return targets_.classes[v];
}

std::span<const std::uint8_t> DatasetExport::multilabel_of(VertexId v) const {
    const std::uint64_t width = info().targets.count;
    return targets_.multilabel.subspan(v * width, width);
}

std::span<const float> DatasetExport::regression_of(VertexId v) const {
    const std::uint64_t width = info().targets.count;
    return targets_.regression.subspan(v * width, width);
}

Role DatasetExport::role(VertexId v) const {
    return roles_[v];
}

bool exported_once(const DatasetInfo& info, const ExportedArc& arc, VertexId v) {
    if (!info.symmetric) return true;
    if (!info.types.present()) return arc.source <= v;
    const EdgeType& type = info.types.edges[arc.type];
    return type.from == type.to ? arc.source <= v : !type.reverse_of;
}

void add_ids(NpzWriter& writer, const VertexIds& ids, const std::string& name) {
    if (!ids.kind()) return;
    if (*ids.kind() == IdKind::text) {
        writer.add_texts(name, ids.size(), [&ids](std::uint64_t v) { return ids.text(v); });
        return;
    }
    writer.add(name, {ElementType::i64, false, 0, {ids.size()}},
               [&ids, done = false](std::vector<std::byte>& block) mutable {
                   if (std::exchange(done, true)) return false;
                   const auto bytes = std::as_bytes(ids.numbers());
                   block.assign(bytes.begin(), bytes.end());
                   return !block.empty();
               });
}

void export_npz(const ExportSource& source, const std::filesystem::path& output, bool force,
                Progress& progress) {
    Staging staging = Staging::file(output, force ? Existing::replace : Existing::refuse);
    NpzWriter writer(staging.path());
    progress.phase("exporting", 0);
    Exporter exporter(source, writer, progress);
    exporter.add_all();
    writer.finish();
    staging.commit();
    progress.done();
}

void export_dataset(const ExportOptions& options, Progress& progress) {
    const Dataset data(options.input);
    export_npz(DatasetExport(data), options.output, options.force, progress);
}

}  // namespace rudder::graph
