#include "edge_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/id_array.hpp"
#include "rudder/core/parallel.hpp"

#include "cells.hpp"
#include "feature_columns.hpp"
#include "labels.hpp"
#include "pieces.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t walked_at_once = 1 << 16;

/// Edges of a slot.
struct EdgeSlot {
    std::vector<VertexId> sources;  ///< of a batch
    std::vector<VertexId> targets;
    std::vector<NarrowEdge> narrow;
    std::vector<Edge> wide;
    std::vector<float> weights;
    std::vector<std::int64_t> times;
    RawRows features;
    SlotLabels labels;
    std::vector<Role> roles;
    EdgeIndex dropped = 0;
};

template <class AnyEdge, class F>
void walk_pairs(const Spill& edges, EdgeIndex count, F&& block) {
    parallel_chunks(count, walked_at_once, [&](const Chunk& chunk) {
        std::vector<std::byte> scratch;
        block(edges.view<AnyEdge>(chunk.begin, chunk.end - chunk.begin, scratch), chunk.begin);
    });
}

/// All values of a spill, which is emptied.
template <class T>
Array<T> take_all(Spill& spill) {
    auto all = Array<T>::uninitialised(spill.size() / sizeof(T));
    std::vector<std::byte> scratch;
    for (std::size_t first = 0; first < all.size(); first += walked_at_once) {
        const std::size_t count = std::min(walked_at_once, all.size() - first);
        std::ranges::copy(spill.view<T>(first, count, scratch), all.begin() + first);
    }
    spill.clear();
    return all;
}

}  // namespace

void TableEdges::walk_numbered(NarrowFrom narrow, WideFrom wide) const {
    if (IdArray::needs_wide(vertices_)) {
        walk_pairs<Edge>(edges_, count_, wide);
    } else {
        walk_pairs<NarrowEdge>(edges_, count_, narrow);
    }
}

RawEdgeData TableEdges::take_data() {
    RawEdgeData data;
    if (weighted_) data.weight = take_all<float>(weights_);
    if (timed_) data.time = take_all<std::int64_t>(times_);
    data.features = std::move(features_);
    data.targets = std::move(targets_);
    data.roles = std::move(roles_);
    return data;
}

/// Receives the batches of a table of edges.
class EdgeReader final : public TableVisitor {
public:
    EdgeReader(const Table& table, const EdgeTable& meaning, const EdgeEnds& ends, TableEdges& into,
               UnknownIds unknown, MissingValues missing, const std::shared_ptr<SpillRoom>& room)
        : ends_(ends),
          into_(into),
          unknown_(unknown),
          wide_(IdArray::needs_wide(into.vertices())),
          first_feature_(add_columns(table, meaning)),
          features_(table, meaning.features, first_feature_, missing, room) {}

    [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }

    void begin(std::size_t slots) override {
        while (slots_.size() < slots)
            slots_.emplace_back();
        used_ = slots;
        for (EdgeSlot& slot : slots_)
            clear(slot);
    }

    void batch(std::size_t slot, const TableBatch& batch) override {
        EdgeSlot& into = slots_[slot];
        look_up(batch, 0, ends_.source, into.sources);
        look_up(batch, 1, ends_.target, into.targets);
        const bool all = check_known(batch, into);
        if (weight_column_) read_weights(batch, into);
        if (time_column_) {
            const CellReader reader(batch, *time_column_);
            for (std::size_t r = 0; r < batch.rows; ++r) {
                const auto time = reader.integer(r);
                if (!time) throw reader.fault(r, "an edge has no time", "give every edge a time");
                if (known(into, r)) into.times.push_back(*time);
            }
        }
        if (labels_) {
            labels_->read(batch, into.labels, [&](std::size_t r) { return known(into, r); });
        }
        if (split_column_) {
            CellReader reader(batch, *split_column_);
            for (std::size_t r = 0; r < batch.rows; ++r) {
                const Role role = role_of(reader, r);
                if (known(into, r)) into.roles.push_back(role);
            }
        }
        features_.read(batch, into.features);
        if (!all && features_.present()) drop_features(batch.rows, into);
        for (std::size_t r = 0; r < batch.rows; ++r) {
            const VertexId u = into.sources[r];
            const VertexId v = into.targets[r];
            if (!all && !known(into, r)) {
                ++into.dropped;
            } else if (wide_) {
                into.wide.push_back({u, v});
            } else {
                into.narrow.push_back(
                    {static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(v)});
            }
        }
    }

    void end() override {
        for (std::size_t i = 0; i < used_; ++i) {
            EdgeSlot& slot = slots_[i];
            into_.count_ += slot.narrow.size() + slot.wide.size();
            into_.dropped_ += slot.dropped;
            into_.edges_.append(slot.narrow);
            into_.edges_.append(slot.wide);
            into_.weights_.append(slot.weights);
            into_.times_.append(slot.times);
            features_.take(slot.features);
            if (labels_) labels_->take(slot.labels);
            roles_.take(slot.roles);
        }
    }

    void finish(const std::string& where) {
        into_.features_ = features_.finish(where);
        if (labels_) into_.targets_ = labels_->finish(where);
        if (split_column_) into_.roles_ = roles_.join();
    }

private:
    std::size_t add_columns(const Table& table, const EdgeTable& meaning) {
        columns_ = {meaning.source, meaning.target};
        const auto add = [&](const std::string& name, std::optional<std::size_t>& at) {
            if (name.empty()) return;
            at = columns_.size();
            columns_.push_back(name);
        };
        add(meaning.weight, weight_column_);
        add(meaning.time, time_column_);
        add(meaning.split, split_column_);
        if (!meaning.label.empty()) labels_.emplace(table, meaning.label, columns_.size());
        for (const LabelColumn& label : meaning.label)
            columns_.push_back(label.column);
        into_.weighted_ = weight_column_.has_value();
        into_.timed_ = time_column_.has_value();
        const std::size_t first = columns_.size();
        for (const FeatureColumn& feature : meaning.features)
            columns_.push_back(feature.column);
        return first;
    }

    static void clear(EdgeSlot& slot) {
        slot.narrow.clear();
        slot.wide.clear();
        slot.weights.clear();
        slot.times.clear();
        slot.features = {};
        slot.labels = {};
        slot.roles.clear();
        slot.dropped = 0;
    }

    static bool known(const EdgeSlot& slot, std::size_t row) noexcept {
        return slot.sources[row] != no_vertex && slot.targets[row] != no_vertex;
    }

    static void look_up(const TableBatch& batch, std::size_t column, const EdgeEnd& end,
                        std::vector<VertexId>& found) {
        const TableColumn& cells = batch.columns[column];
        found.resize(batch.rows);
        if (cells.kind == CellKind::text) {
            end.ids.find(cells.texts, found);
        } else if (cells.kind == CellKind::integer) {
            end.ids.find(cells.integers, found);
        } else if (batch.rows != 0) {
            const CellReader reader(batch, column);
            throw reader.fault(0, fmt::format("invalid id: '{}'", reader.shown(0)),
                               "give ids as text or whole numbers");
        }
        if (end.first == 0) return;
        for (VertexId& v : found)
            v = v == no_vertex ? no_vertex : v + end.first;
    }

    /// Whether both ends of every edge are known; refuses what is not to be dropped.
    [[nodiscard]] bool check_known(const TableBatch& batch, const EdgeSlot& slot) const {
        bool all = true;
        for (std::size_t r = 0; r < batch.rows; ++r) {
            for (std::size_t column = 0; column < 2; ++column) {
                const bool missing = batch.columns[column].is_missing(r);
                const VertexId v = column == 0 ? slot.sources[r] : slot.targets[r];
                if (v != no_vertex && !missing) continue;
                all = false;
                const CellReader reader(batch, column);
                if (missing) {
                    throw reader.fault(r, "an edge lacks a vertex", "give every row both ids");
                }
                if (unknown_ == UnknownIds::refuse) {
                    throw reader.fault(
                        r, fmt::format("unknown vertex '{}'", reader.shown(r)),
                        "add it to the table of vertices, or leave such edges out with "
                        "--unknown drop");
                }
            }
        }
        return all;
    }

    void read_weights(const TableBatch& batch, EdgeSlot& into) const {
        const CellReader reader(batch, *weight_column_);
        for (std::size_t r = 0; r < batch.rows; ++r) {
            const auto number = reader.number(r);
            const float weight = number ? static_cast<float>(*number) : -1;
            if (!(weight >= 0 && std::isfinite(weight))) {
                throw reader.fault(r,
                                   number ? fmt::format("invalid weight: '{}'", reader.shown(r))
                                          : std::string("invalid weight: missing or NaN"),
                                   "weights are finite numbers from 0 on");
            }
            if (known(into, r)) into.weights.push_back(weight);
        }
    }

    /// Takes the raw rows of dropped edges out again.
    static void drop_features(std::size_t rows, EdgeSlot& into) {
        auto& values = into.features.values;
        const std::size_t kept = into.narrow.size() + into.wide.size();
        const std::size_t width = values.size() / (kept + rows);
        std::size_t to = kept;
        for (std::size_t r = 0; r < rows; ++r) {
            if (!known(into, r)) continue;
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>((kept + r) * width), width,
                        values.begin() + static_cast<std::ptrdiff_t>(to * width));
            ++to;
        }
        values.resize(to * width);
    }

    const EdgeEnds& ends_;
    TableEdges& into_;
    UnknownIds unknown_;
    bool wide_;
    std::vector<std::string> columns_;
    std::optional<std::size_t> weight_column_;
    std::optional<std::size_t> time_column_;
    std::optional<std::size_t> split_column_;
    std::optional<LabelReader> labels_;
    std::size_t first_feature_;
    FeatureColumns features_;
    Pieces<Role> roles_;
    std::vector<EdgeSlot> slots_;
    std::size_t used_ = 0;
};

std::unique_ptr<TableEdges> read_edge_table(const Table& table, const EdgeTable& meaning,
                                            const EdgeEnds& ends, UnknownIds unknown,
                                            MissingValues missing,
                                            const std::shared_ptr<SpillRoom>& room,
                                            Progress& progress) {
    progress.phase("reading edges", 0);
    auto edges = std::make_unique<TableEdges>(ends.vertices, room);
    EdgeReader reader(table, meaning, ends, *edges, unknown, missing, room);
    table.walk(reader.columns(), reader, progress);
    reader.finish(table.files().front().string());
    return edges;
}

}  // namespace rudder::graph
