// What a network says of all edges, on its way to one file.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "comm/service.hpp"
#include "comm/together.hpp"
#include "graph/io/export_table.hpp"
#include "graph/io/npz.hpp"
#include "partition/original_ids.hpp"
#include "rudder/core/error.hpp"
#include "train/evaluation/pair_tiles.hpp"
#include "train/input_rows.hpp"
#include "train/learned/learned_table.hpp"

#include "last_rows.hpp"
#include "prediction_table.hpp"
#include "row_file.hpp"

namespace rudder::train {

namespace {

constexpr comm::Channel edge_channel = comm::channel_of(comm::Talk::predictions);
/// Edges whose scores are computed, and travel, at a time.
constexpr std::size_t edges_per_message = std::size_t{1} << 13;

/// Which entries a message is about.
struct EntryStretch {
    std::uint64_t part;
    EdgeIndex first;  ///< of the part's rows
};

/// The receiving end, on rank 0: scores by entry, part after part.
class GatheredEdges {
public:
    GatheredEdges(const std::filesystem::path& folder, std::span<const partition::Part> parts,
                  std::size_t outputs)
        : bases_(bases_of(parts)),
          outputs_(outputs),
          file_(folder, bases_.back(), outputs * sizeof(float)) {}

    void put(int from, std::span<const std::byte> message) {
        EntryStretch stretch{};
        const std::size_t each = outputs_ * sizeof(float);
        const bool whole =
            message.size() >= sizeof stretch && (message.size() - sizeof stretch) % each == 0;
        if (whole) std::memcpy(&stretch, message.data(), sizeof stretch);
        const std::size_t count = whole ? (message.size() - sizeof stretch) / each : 0;
        const bool known = whole && stretch.part + 1 < bases_.size();
        const EdgeIndex there = known ? bases_[stretch.part + 1] - bases_[stretch.part] : 0;
        if (!known || stretch.first > there || count > there - stretch.first) {
            throw Error(ErrorKind::rank, "invalid message about predicted edges",
                        "rank " + std::to_string(from),
                        "the ranks disagree about the partition; give all of them the same", from);
        }
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(file_.row(bases_[stretch.part] + stretch.first + i).data(),
                        message.data() + sizeof stretch + i * each, each);
        }
    }
    /// What an entry of a part scored.
    [[nodiscard]] const float* row(PartId part, EdgeIndex entry) const noexcept {
        return reinterpret_cast<const float*>(file_.row(bases_[part] + entry).data());
    }

private:
    static std::vector<EdgeIndex> bases_of(std::span<const partition::Part> parts) {
        std::vector<EdgeIndex> bases{0};
        for (const partition::Part& part : parts)
            bases.push_back(bases.back() + part.info().edges);
        return bases;
    }

    std::vector<EdgeIndex> bases_;  ///< by part: entries of those before it
    std::size_t outputs_;
    RowFile file_;
};

/// All edges with what they scored, as exports list them: by target, then source, in original
/// order; of a symmetric graph each once, its source the lower.
class PredictedEdges {
public:
    struct Edge {
        VertexId source = 0;  ///< original
        VertexId target = 0;  ///< original
        const float* row = nullptr;
    };

    PredictedEdges(const GatheredEdges& gathered, std::span<const partition::Part> parts,
                   const graph::DatasetInfo& info)
        : gathered_(gathered),
          parts_(parts),
          symmetric_(info.symmetric),
          originals_(info.vertices),
          order_(info.vertices),
          size_(info.symmetric ? (info.edges + info.self_loops) / 2 : info.edges) {
        for (const partition::Part& part : parts) {
            for (LocalId v = 0; v < part.own(); ++v) {
                originals_[part.range().begin + v] = part.original_ids()[v];
                order_[part.original_ids()[v]] = part.range().begin + v;
            }
        }
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// Goes through all of them, once.
    class Walk {
    public:
        explicit Walk(const PredictedEdges& edges) : edges_(edges) {}
        /// The next one; without a row at the end.
        [[nodiscard]] Edge next() {
            while (at_ == row_.size()) {
                if (vertex_ == edges_.order_.size()) return {};
                edges_.fill_row(vertex_++, row_);
                at_ = 0;
            }
            return row_[at_++];
        }

    private:
        const PredictedEdges& edges_;
        VertexId vertex_ = 0;
        std::vector<Edge> row_;
        std::size_t at_ = 0;
    };

private:
    void fill_row(VertexId target, std::vector<Edge>& out) const {
        const VertexId global = order_[target];
        const auto after = std::ranges::upper_bound(
            parts_, global, {}, [](const partition::Part& part) { return part.range().begin; });
        const partition::Part& part = *(after - 1);
        const auto v = static_cast<std::size_t>(global - part.range().begin);
        out.clear();
        for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + 1]; ++e) {
            const VertexId source = originals_[part.global(part.neighbours()[e])];
            if (symmetric_ && source > target) continue;
            out.push_back({source, target, gathered_.row(part.id(), e)});
        }
        // Entries of one pair stay in the order of the data set.
        std::ranges::stable_sort(out, {}, &Edge::source);
    }

    const GatheredEdges& gathered_;
    std::span<const partition::Part> parts_;
    bool symmetric_;
    std::vector<VertexId> originals_;  ///< by global id
    std::vector<VertexId> order_;      ///< global ids by original
    std::uint64_t size_;
};

/// The ends of the edges, asked for one after the other; the first begins anew.
class EdgeEnds {
public:
    EdgeEnds(const PredictedEdges& edges, VertexId PredictedEdges::Edge::*end)
        : edges_(edges), end_(end) {}
    [[nodiscard]] VertexId at(std::uint64_t i) {
        if (i == 0) walk_.emplace(edges_);
        return walk_->next().*end_;
    }

private:
    const PredictedEdges& edges_;
    VertexId PredictedEdges::Edge::*end_;
    std::optional<PredictedEdges::Walk> walk_;
};

void add_edge_ids(graph::NpzWriter& writer, const char* name, const PredictedEdges& edges,
                  const graph::VertexIds& ids, VertexId PredictedEdges::Edge::*end) {
    const auto ends = std::make_shared<EdgeEnds>(edges, end);
    if (ids.kind() == graph::IdKind::text) {
        writer.add_texts(name, edges.size(),
                         [ends, &ids](std::uint64_t i) { return ids.text(ends->at(i)); });
        return;
    }
    writer.add(name, {ElementType::i64, false, 0, {edges.size()}},
               [ends, &ids, count = edges.size(),
                i = std::uint64_t{0}](std::vector<std::byte>& block) mutable {
                   constexpr std::uint64_t at_once = 1 << 15;
                   block.clear();
                   for (const std::uint64_t last = std::min(count, i + at_once); i < last; ++i) {
                       const VertexId v = ends->at(i);
                       const std::int64_t number =
                           ids.kind() ? ids.numbers()[v] : static_cast<std::int64_t>(v);
                       const auto raw = std::as_bytes(std::span(&number, 1));
                       block.insert(block.end(), raw.begin(), raw.end());
                   }
                   return !block.empty();
               });
}

void write_edges(const std::filesystem::path& file, graph::OutputFormat format,
                 const PredictedEdges& edges, const PredictionTable& table) {
    if (format == graph::OutputFormat::npz) {
        graph::NpzWriter writer(file);
        add_edge_ids(writer, "source", edges, table.ids, &PredictedEdges::Edge::source);
        add_edge_ids(writer, "target", edges, table.ids, &PredictedEdges::Edge::target);
        add_answers(writer, table, [&edges] {
            return [walk = PredictedEdges::Walk(edges)]() mutable { return walk.next().row; };
        });
        writer.finish();
        return;
    }
    std::vector<graph::OutputColumn> columns{graph::id_column("source", table.ids),
                                             graph::id_column("target", table.ids)};
    add_answer_columns(table, columns);
    const auto writer = graph::make_table_writer(format, file, columns);
    AnswerCells answers(table);
    PredictedEdges::Walk walk(edges);
    for (auto edge = walk.next(); edge.row != nullptr; edge = walk.next()) {
        graph::put_id(*writer, table.ids, edge.source);
        graph::put_id(*writer, table.ids, edge.target);
        answers.put(*writer, edge.row);
        writer->end_row();
    }
    writer->finish();
}

/// What the entries of own parts score, stretch by stretch.
template <class Send>
void score_entries(nn::Network& network, const VertexRows& rows,
                   std::span<const partition::Part> parts, std::size_t outputs, const Send& send) {
    std::vector<VertexId> own;
    std::vector<VertexId> others;
    std::vector<float> scores;
    for (const partition::Part& part : parts) {
        LocalId v = 0;
        for (EdgeIndex first = 0; first < part.info().edges; first += edges_per_message) {
            const auto count = static_cast<std::size_t>(
                std::min<EdgeIndex>(edges_per_message, part.info().edges - first));
            own.resize(count);
            others.resize(count);
            for (std::size_t i = 0; i < count; ++i) {
                while (part.offsets()[v + std::size_t{1}] <= first + i)
                    ++v;
                own[i] = part.range().begin + v;
                others[i] = part.global(part.neighbours()[first + i]);
            }
            scores.resize(count * outputs);
            score_own_pairs(network, rows, own, others, scores);
            const EntryStretch stretch{part.id(), first};
            std::vector<std::byte> message;
            const auto append = [&](std::span<const std::byte> bytes) {
                message.insert(message.end(), bytes.begin(), bytes.end());
            };
            append(std::as_bytes(std::span(&stretch, 1)));
            append(std::as_bytes(std::span(scores)));
            send(std::move(message));
        }
    }
}

/// The network's own answers: on another data set classes may have other numbers.
graph::TargetInfo answers_of(const SavedNetwork& saved) {
    graph::TargetInfo targets;
    targets.count = saved.options.outputs;
    if (saved.trained_on) targets.names = saved.trained_on->class_names;
    return targets;
}

}  // namespace

InferenceResult write_edge_predictions(const comm::Communicator& comm,
                                       const partition::PartitionedDataset& data,
                                       const SavedNetwork& saved,
                                       const PredictionOptions& options) {
    const graph::OutputFormat format = graph::output_format(options.output);
    const bool writes = comm.rank() == 0;
    const std::size_t outputs = saved.options.outputs;
    std::optional<Staging> staging;
    std::optional<GatheredEdges> gathered;
    std::vector<partition::Part> all;
    comm::do_together(comm, [&] {
        if (!writes) return;
        staging.emplace(Staging::file(options.output, options.existing));
        all = data.all_parts();
        gathered.emplace(std::filesystem::absolute(options.output).parent_path(), all, outputs);
    });
    const comm::Communicator line = comm.duplicate();
    comm::Service service(line, edge_channel,
                          [&](int from, std::span<const std::byte> scores,
                              comm::Service::Answer& /*nothing*/) { gathered->put(from, scores); });
    const std::vector<partition::Part> parts = open_parts(comm, data, options.inference.verify);
    store::FeatureStore store(comm, data, store_options(saved, data, options.inference.match));
    place_learned(comm, data, store, saved.rows, saved.checkpoint.string());
    const auto network = network_of(saved, sparse_inputs(store.format()));
    InferenceResult result;
    const Duration start = Executor::current().now();
    const Array<float> own =
        last_rows(comm, data, saved, parts, *network, store, options.inference, result);
    const RankRanges ranges = ranges_of(comm, data);
    const comm::Communicator talk = comm.duplicate();
    VertexRows rows(talk, ranges, own.span(), network->layer_outputs(network->layers() - 1));
    score_entries(*network, rows, parts, outputs, [&](std::vector<std::byte>&& message) {
        if (writes) {
            gathered->put(0, message);
        } else {
            service.ask(0, comm::Kind::evaluation, std::move(message), {}).wait();
        }
    });
    result.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    rows.stop();
    comm.barrier();
    service.stop();
    store.stop();
    comm::do_together(comm, [&] {
        if (!writes) return;
        const graph::TargetInfo targets = answers_of(saved);
        const graph::VertexIds ids = partition::original_vertex_ids(data);
        const PredictedEdges edges(*gathered, all, data.info());
        write_edges(staging->path(), format, edges,
                    {.objective = saved.options.objective,
                     .targets = targets,
                     .ids = ids,
                     .rows = edges.size(),
                     .scores = outputs});
        staging->commit();
    });
    return result;
}

}  // namespace rudder::train
