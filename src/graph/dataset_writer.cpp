#include "dataset_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/json.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/version.hpp"
#include "rudder/graph/array_folder.hpp"

#include "graph_types.hpp"

namespace rudder::graph {

namespace {

/// Quantising to int8 would have to invent scales, so only int8 may become int8.
void check_conversion(ElementType from, ElementType to) {
    if (is_feature_type(to) && (from == to || to != ElementType::i8)) return;
    throw usage_error(
        fmt::format("features of type {} cannot be stored as {}", to_string(from), to_string(to)),
        "--feature-type", "choose float32, float16 or bfloat16");
}

/// Refuses before writing what the disk cannot hold.
void check_space(const std::filesystem::path& folder, std::uint64_t bytes) {
    std::error_code code;
    const auto space = std::filesystem::space(folder, code);
    if (code || space.available >= bytes) return;
    throw system_error(fmt::format("the features need {} bytes", bytes), folder.string(), ENOSPC);
}

class Converter {
public:
    Converter(const FeatureSource& source, ElementType type)
        : from_(source.info()), type_(type), source_(source) {
        from_.row_normalise = false;
        row_.resize(from_.width);
    }

    /// Whole rows of the source's type to rows of the wanted type.
    std::span<const std::byte> convert(std::span<const std::byte> rows, VertexId first) {
        const std::size_t row_bytes = from_.row_bytes();
        const std::size_t out_bytes = from_.width * element_size(type_);
        const std::size_t count = rows.size() / row_bytes;
        out_.resize(count * out_bytes);
        for (std::size_t i = 0; i < count; ++i) {
            decode_row(from_, rows.subspan(i * row_bytes, row_bytes), source_.scale(), row_);
            encode(out_.data() + i * out_bytes, first + i);
        }
        return out_;
    }

private:
    void encode(std::byte* out, VertexId v) const {
        for (std::size_t c = 0; c < row_.size(); ++c) {
            const float value = row_[c];
            if (type_ == ElementType::f32) {
                std::memcpy(out + c * sizeof(float), &value, sizeof(float));
            } else if (type_ == ElementType::u8) {
                if (!(value >= 0 && value <= 255 && value == std::floor(value))) misfit(v, c);
                out[c] = static_cast<std::byte>(static_cast<std::uint8_t>(value));
            } else {
                const bool half = type_ == ElementType::f16;
                const std::uint16_t bits = half ? float_to_f16(value) : float_to_bf16(value);
                const std::uint16_t exponent = half ? 0x7c00U : 0x7f80U;
                if ((bits & exponent) == exponent) misfit(v, c);
                std::memcpy(out + c * sizeof(bits), &bits, sizeof(bits));
            }
        }
    }
    [[noreturn]] void misfit(VertexId v, std::size_t column) const {
        throw input_error(
            fmt::format("the feature {} does not fit {}", row_[column], to_string(type_)),
            fmt::format("{}, row {}, column {}", source_.where(), v, column),
            "choose another --feature-type");
    }

    FeatureInfo from_;
    ElementType type_;
    const FeatureSource& source_;
    std::vector<float> row_;
    std::vector<std::byte> out_;
};

/// Writes "features" (and "feature_scale") for `vertices` rows; what they are as stored. A wrong
/// number of rows, or a value that is not finite or does not fit `type`, is an input Error; a
/// conversion that makes no sense a usage Error.
FeatureInfo write_features(ArrayFolderWriter& writer, const FeatureSource& source,
                           VertexId vertices, std::optional<ElementType> type, Progress& progress,
                           const std::string& array = "features",
                           const std::string& scale = "feature_scale") {
    const FeatureInfo from = source.info();
    FeatureInfo info = from;
    info.type = type.value_or(from.type);
    check_conversion(from.type, info.type);
    if (source.rows() != vertices) {
        throw input_error(
            fmt::format("there are {} rows of features for {} vertices", source.rows(), vertices),
            source.where(), "give one for each vertex");
    }
    check_space(writer.folder(), checked_mul(vertices, info.row_bytes(), "the features' size"));
    ArrayStream stream = writer.stream(array, info.type, {vertices, info.width});
    Converter converter(source, info.type);
    VertexId done = 0;
    progress.phase("writing features", vertices);
    source.walk([&](std::span<const std::byte> rows) {
        throw_if_interrupted();
        const VertexId count = rows.size() / from.row_bytes();
        check_finite(from, rows, done, source.where());
        stream.append(from.type == info.type ? rows : converter.convert(rows, done));
        done += count;
        progress.advance(count);
    });
    stream.finish();
    if (info.type == ElementType::i8) writer.write(scale, source.scale());
    return info;
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
    info_.edge_weight = built.weight.has_value();
    info_.edge_time = built.time.has_value();
    if (built.weight) arrays_.write("edge_weight", built.weight->span());
    if (built.time) arrays_.write("edge_time", built.time->span());
    RUDDER_CHECK(built.type.has_value() == info_.types.present());
    if (!built.type) return;
    arrays_.write("edge_type", std::span<const std::uint8_t>(built.type->span()));
    for (const std::uint8_t type : built.type->span())
        ++info_.types.edges[type].edges;
}

void DatasetWriter::types(GraphTypes types) {
    info_.types = std::move(types);
    VertexId first = 0;
    for (VertexType& type : info_.types.vertices) {
        type.first = first;
        first += type.vertices;
    }
    type_ids_.resize(info_.types.vertices.size());
}

void DatasetWriter::edge_features(const FeatureView& rows, std::span<const EdgeIndex> origin,
                                  const std::string& where, Progress& progress) {
    RUDDER_CHECK(origin.size() == info_.edges && rows.info.type != ElementType::i8);
    constexpr std::size_t rows_at_once = 1 << 14;
    check_finite(rows.info, rows.bytes(), 0, where);
    const std::size_t bytes = rows.info.row_bytes();
    check_space(arrays_.folder(), checked_mul(info_.edges, bytes, "the features' size"));
    ArrayStream stream =
        arrays_.stream("edge_features", rows.info.type, {info_.edges, rows.info.width});
    std::vector<std::byte> block;
    progress.phase("writing features of edges", info_.edges);
    for (std::size_t first = 0; first < origin.size(); first += rows_at_once) {
        throw_if_interrupted();
        const auto some = origin.subspan(first, std::min(rows_at_once, origin.size() - first));
        block.resize(some.size() * bytes);
        for (std::size_t i = 0; i < some.size(); ++i)
            std::memcpy(block.data() + i * bytes, rows.row(some[i]).data(), bytes);
        stream.append(std::span<const std::byte>(block));
        progress.advance(some.size());
    }
    stream.finish();
    info_.edge_features = {rows.info.width, rows.info.type, false};
}

namespace {

/// Values of entries, `width` of each, from those of their edges.
template <class T>
Array<T> by_origin(std::span<const T> values, std::uint64_t width,
                   std::span<const EdgeIndex> origin) {
    auto all = Array<T>::uninitialised(
        checked_mul<std::size_t>(origin.size(), width, "the size of the edges' targets"));
    for (std::size_t e = 0; e < origin.size(); ++e)
        std::copy_n(values.data() + origin[e] * width, width, all.data() + e * width);
    return all;
}

}  // namespace

void DatasetWriter::edge_targets(const TargetInfo& info, const TargetView& view,
                                 std::span<const EdgeIndex> origin) {
    RUDDER_CHECK(origin.size() == info_.edges);
    if (info.kind == TargetKind::none) return;
    info_.edge_targets = info;
    info_.edge_targets.labelled = static_cast<VertexId>(std::ranges::count_if(
        origin, [&](EdgeIndex edge) { return is_labelled(info, view, edge); }));
    const auto write = [&](const auto& values, ElementType type, std::vector<std::uint64_t> shape) {
        const std::uint64_t width = shape.size() == 1 ? 1 : shape[1];
        const auto all = by_origin(values, width, origin);
        arrays_.write("edge_labels", type, std::move(shape), std::as_bytes(all.span()));
    };
    switch (info.kind) {
        case TargetKind::none:
            break;
        case TargetKind::classes:
            write(view.classes, ElementType::i32, {info_.edges});
            break;
        case TargetKind::multilabel:
            write(view.multilabel, ElementType::u8, {info_.edges, info.count});
            break;
        case TargetKind::regression:
            write(view.regression, ElementType::f32, {info_.edges, info.count});
            break;
    }
}

void DatasetWriter::edge_split(std::span<const Role> roles, std::span<const EdgeIndex> origin) {
    RUDDER_CHECK(origin.size() == info_.edges);
    const Array<Role> all = by_origin(roles, 1, origin);
    info_.edge_split = count_split(all.span());
    arrays_.write("edge_split", ElementType::u8, {all.size()}, std::as_bytes(all.span()));
}

void DatasetWriter::vertex_times(std::span<const std::int64_t> times) {
    RUDDER_CHECK(times.size() == info_.vertices);
    arrays_.write("vertex_time", times);
    info_.vertex_time = true;
}

void DatasetWriter::features(const FeatureSource& source, std::optional<ElementType> type,
                             bool row_normalise, Progress& progress) {
    info_.features = write_features(arrays_, source, info_.vertices, type, progress);
    info_.features.row_normalise = row_normalise;
}

void DatasetWriter::type_features(std::size_t type, const FeatureSource& source,
                                  std::optional<ElementType> as, bool row_normalise,
                                  Progress& progress) {
    VertexType& of = info_.types.vertices[type];
    of.features = write_features(arrays_, source, of.vertices, as, progress,
                                 type_array("features", type), type_array("feature_scale", type));
    of.features.row_normalise = row_normalise;
}

void DatasetWriter::targets(TargetInfo info, const TargetView& view) {
    info.labelled = 0;
    for (VertexId v = 0; v < info_.vertices; ++v) {
        if (!is_labelled(info, view, v)) continue;
        ++info.labelled;
        if (info_.types.present()) ++info_.types.vertices[info_.types.of(v)].labelled;
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

void DatasetWriter::ids(const VertexIds& ids) {
    ids_ = ids.kind();
    ids.write(arrays_);
}

void DatasetWriter::type_ids(std::size_t type, const VertexIds& ids) {
    type_ids_[type] = ids.kind();
    ids.write(arrays_, type);
}

void DatasetWriter::note(const std::string& file, std::string_view text) {
    write_text(staging_.path() / file, text);
}

DatasetInfo DatasetWriter::commit(const Provenance& provenance) {
    if (!has_split_) split(Array<Role>::zeroed(info_.vertices).span());
    provenance.write_config(staging_.path());
    Json manifest = {
        {"format", dataset_format}, {"version", info_.version()}, {"rudder", version()}};
    describe(info_, manifest);
    describe_ids(ids_, manifest);
    describe_ids(type_ids_, manifest);
    manifest["made_by"] = made_by_json(provenance);
    arrays_.finish(std::move(manifest));
    staging_.commit();
    return info_;
}

}  // namespace rudder::graph
