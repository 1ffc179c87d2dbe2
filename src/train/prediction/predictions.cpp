// Predictions of all vertices on their way to one file: gathered on rank 0, written in original
// ids.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "comm/service.hpp"
#include "comm/together.hpp"
#include "graph/io/export.hpp"
#include "partition/original_ids.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "inference.hpp"
#include "prediction_table.hpp"
#include "row_file.hpp"

namespace rudder::train {

namespace {

constexpr comm::Channel prediction_channel = comm::channel_of(comm::Talk::predictions);
/// A message to rank 0 at most, in bytes.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// What a vertex leaves: its scores, then its embedding if that is wanted.
struct RowShape {
    std::size_t scores = 0;
    std::size_t hidden = 0;
    [[nodiscard]] std::size_t floats() const noexcept { return scores + hidden; }
    [[nodiscard]] std::size_t bytes() const noexcept { return floats() * sizeof(float); }
};

/// The vertices whose answers are written, by original id: all, or those of one type.
struct Predicted {
    VertexId all = 0;
    VertexId first = 0;
    VertexId vertices = 0;
    std::optional<std::size_t> type{};
};

/// The type that is asked for, or else the one that has labels.
Predicted predicted(const graph::DatasetInfo& info, const std::string& name) {
    const graph::GraphTypes& types = info.types;
    if (!types.present()) {
        if (!name.empty()) {
            throw usage_error(fmt::format("unknown type '{}': the graph has one type", name),
                              "--type", "leave it out");
        }
        return {info.vertices, 0, info.vertices, {}};
    }
    std::vector<std::string_view> names;
    for (const graph::VertexType& type : types.vertices)
        names.push_back(type.name);
    std::optional<std::size_t> chosen = types.vertex_type(name);
    for (std::size_t t = 0; name.empty() && t < types.vertices.size(); ++t) {
        if (types.vertices[t].labelled != 0 && !chosen) chosen = t;
    }
    if (!chosen) {
        throw usage_error(name.empty() ? std::string("no type of vertices has labels")
                                       : fmt::format("unknown type '{}'", name),
                          "--type", fmt::format("use one of {}", join(names, ", ")));
    }
    const graph::VertexType& type = types.vertices[*chosen];
    return {info.vertices, type.first, type.vertices, chosen};
}

/// Some vertices' rows as a message: their original ids, then the rows.
std::vector<std::byte> pack(const InferredRows& rows, const RowShape& shape, std::size_t first,
                            std::size_t count) {
    std::vector<std::byte> bytes(count * (sizeof(VertexId) + shape.bytes()));
    const auto ids = rows.part.original_ids().subspan(rows.first + first, count);
    std::memcpy(bytes.data(), ids.data(), ids.size_bytes());
    std::byte* out = bytes.data() + ids.size_bytes();
    for (std::size_t i = first; i < first + count; ++i, out += shape.bytes()) {
        std::memcpy(out, rows.scores.data() + i * shape.scores, shape.scores * sizeof(float));
        if (shape.hidden == 0) continue;
        std::memcpy(out + shape.scores * sizeof(float), rows.hidden.data() + i * shape.hidden,
                    shape.hidden * sizeof(float));
    }
    return bytes;
}

/// The receiving end, on rank 0.
class Gathered {
public:
    Gathered(const std::filesystem::path& folder, const Predicted& which, const RowShape& shape)
        : all_(which.all),
          first_(which.first),
          vertices_(which.vertices),
          shape_(shape),
          file_(folder, vertices_, shape.bytes()) {}

    /// A message of `pack`; several tasks may hand in theirs at once.
    void put(int from, std::span<const std::byte> message) {
        const std::size_t count = message.size() / (sizeof(VertexId) + shape_.bytes());
        const std::byte* rows = message.data() + count * sizeof(VertexId);
        for (std::size_t i = 0; i < count; ++i) {
            VertexId id = 0;
            std::memcpy(&id, message.data() + i * sizeof(VertexId), sizeof(id));
            if (id >= all_) refuse(from, id);
            if (id < first_ || id - first_ >= vertices_) continue;  // of another type
            std::memcpy(file_.row(id - first_).data(), rows + i * shape_.bytes(), shape_.bytes());
        }
    }
    /// The row of an original id, counted from the first that is written.
    [[nodiscard]] const float* row(VertexId id) const noexcept {
        return reinterpret_cast<const float*>(file_.row(id).data());
    }
    [[nodiscard]] VertexId vertices() const noexcept { return vertices_; }
    [[nodiscard]] const RowShape& shape() const noexcept { return shape_; }

private:
    [[noreturn]] static void refuse(int from, VertexId id) {
        throw Error(ErrorKind::input, "original id " + std::to_string(id) + " is out of range",
                    "rank " + std::to_string(from),
                    "make the partition again, or restore it from a copy", from);
    }

    VertexId all_;
    VertexId first_;
    VertexId vertices_;
    RowShape shape_;
    RowFile file_;
};

/// Writes what was gathered in the format that the output's name asks for.
void write_gathered(const std::filesystem::path& file, graph::OutputFormat format,
                    const Gathered& rows, const SavedNetwork& saved,
                    const partition::PartitionedDataset& data, std::optional<std::size_t> type) {
    const graph::VertexIds ids =
        type ? partition::original_vertex_ids(data, *type) : partition::original_vertex_ids(data);
    const nn::Objective objective = saved.options.objective;
    // Answers are the network's: on another data set its classes may have other numbers, or be
    // others.
    graph::TargetInfo targets = data.info().targets;
    targets.count = saved.options.outputs;
    if (saved.trained_on) targets.names = saved.trained_on->class_names;
    const PredictionTable table{.objective = objective,
                                .targets = targets,
                                .ids = ids,
                                .rows = rows.vertices(),
                                .scores = rows.shape().scores,
                                .hidden = rows.shape().hidden};
    if (format != graph::OutputFormat::npz) {
        return write_prediction_table(format, file, table, [&](VertexId v) { return rows.row(v); });
    }
    graph::NpzWriter writer(file);
    graph::add_ids(writer, ids);
    add_answers(writer, table, [&rows] {
        return [&rows, v = VertexId{0}]() mutable {
            return v < rows.vertices() ? rows.row(v++) : nullptr;
        };
    });
    writer.finish();
}

RowShape shape_of(const SavedNetwork& saved, bool embeddings) {
    RowShape shape{.scores = saved.options.outputs};
    if (!embeddings) return shape;
    if (saved.train.temporal != sample::Temporal::off) {
        throw usage_error("a run with --temporal answers seed by seed, and keeps no hidden layer",
                          "--embeddings", "leave --embeddings out");
    }
    if (saved.options.layers < 2) {
        throw usage_error("a network of one layer has no hidden layer to write", "--embeddings",
                          "leave --embeddings out, or train with --layers 2 or more");
    }
    const auto network = nn::make_network(saved.options);
    shape.hidden = network->layer_inputs(network->layers() - 1);
    return shape;
}

}  // namespace

InferenceResult write_predictions(const comm::Communicator& comm,
                                  const partition::PartitionedDataset& data,
                                  const SavedNetwork& saved, const PredictionOptions& options) {
    const RowShape shape = shape_of(saved, options.embeddings);
    const graph::OutputFormat format = graph::output_format(options.output);
    const Predicted which = predicted(data.info(), options.type);
    const bool writes = comm.rank() == 0;
    std::optional<Staging> staging;
    std::optional<Gathered> gathered;
    comm::do_together(comm, [&] {
        if (!writes) return;
        staging.emplace(Staging::file(options.output, options.existing));
        gathered.emplace(std::filesystem::absolute(options.output).parent_path(), which, shape);
    });
    const comm::Communicator line = comm.duplicate();
    comm::Service service(line, prediction_channel,
                          [&](int from, std::span<const std::byte> rows,
                              comm::Service::Answer& /*nothing*/) { gathered->put(from, rows); });
    const std::size_t step =
        std::max<std::size_t>(1, piece_bytes / (sizeof(VertexId) + shape.bytes()));
    const auto sink = [&](const InferredRows& rows) {
        for (std::size_t at = 0; at < rows.count; at += step) {
            auto message = pack(rows, shape, at, std::min(step, rows.count - at));
            if (writes) {
                gathered->put(0, message);
            } else {
                // The answer says that they are in their place: never more than one piece waits.
                service.ask(0, comm::Kind::evaluation, std::move(message), {}).wait();
            }
        }
    };
    InferenceResult result = run_inference(comm, data, saved, options.inference, sink);
    result.written = which.vertices;
    comm.barrier();
    service.stop();
    comm::do_together(comm, [&] {
        if (!writes) return;
        write_gathered(staging->path(), format, *gathered, saved, data, which.type);
        staging->commit();
    });
    return result;
}

}  // namespace rudder::train
