#include "export.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

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
        add_edges();
        if (info_.features.present()) add_features();
        add_targets();
        add_set("train", Role::train, info_.split.train);
        add_set("val", Role::valid, info_.split.valid);
        add_set("test", Role::test, info_.split.test);
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

    void add_edges() {
        const EdgeIndex count =
            info_.symmetric ? (info_.edges + info_.self_loops) / 2 : info_.edges;
        const NpyHeader header{id_type(), false, 0, {count}};
        const auto column = [this](bool targets) {
            auto row = std::make_shared<std::vector<VertexId>>();
            return per_vertex(info_.vertices, progress_,
                              [this, row, targets](VertexId v, auto& block) {
                                  source_.row(v, *row);
                                  std::ranges::sort(*row);
                                  for (const VertexId u : *row) {
                                      if (info_.symmetric && u > v) break;
                                      put_id(block, targets ? v : u);
                                  }
                              });
        };
        writer_.add("src", header, column(false));
        writer_.add("dst", header, column(true));
    }

    void add_features() {
        FeatureInfo stored = info_.features;
        stored.row_normalise = false;
        const bool as_float = stored.type == ElementType::bf16;
        const ElementType type = as_float ? ElementType::f32 : stored.type;
        const bool scaled = stored.type == ElementType::i8;
        auto row = std::make_shared<std::vector<float>>(stored.width);
        writer_.add(scaled ? "x_int8" : "x", {type, false, 0, {info_.vertices, stored.width}},
                    per_vertex(info_.vertices, progress_,
                               [this, stored, as_float, row](VertexId v, auto& block) {
                                   const auto bytes = source_.feature_row(v);
                                   if (!as_float) return put(block, bytes.data(), bytes.size());
                                   decode_row(stored, bytes, {}, *row);
                                   put(block, row->data(), row->size() * sizeof(float));
                               }));
        if (scaled) writer_.add("x_scale", source_.feature_scale(), {stored.width});
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
      features_(data.features()),
      targets_(data.targets()),
      roles_(data.roles()) {}

void DatasetExport::row(VertexId v, std::vector<VertexId>& out) const {
    out.clear();
    topology_.neighbours.visit([&](auto neighbours) {
        const auto row = neighbours.subspan(topology_.offsets[v], topology_.degree(v));
        out.assign(row.begin(), row.end());
    });
}

std::span<const std::byte> DatasetExport::feature_row(VertexId v) const {
    return features_.row(v);
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
