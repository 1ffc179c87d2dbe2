#include "vertex_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/graph/dataset.hpp"

#include "feature_columns.hpp"
#include "id_map.hpp"
#include "labels.hpp"
#include "pieces.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t longest_id = 1 << 16;

/// Ids of a slot: numbers, or texts and their lengths.
struct SlotIds {
    std::vector<std::int64_t> numbers;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint32_t> lengths;
};

struct VertexSlot {
    SlotIds ids;
    RawRows features;
    SlotLabels labels;
    std::vector<std::uint8_t> roles;
    std::vector<std::int64_t> times;
};

class VertexReader final : public TableVisitor {
public:
    VertexReader(const Table& table, const VertexTable& meaning, MissingValues missing,
                 const std::shared_ptr<SpillRoom>& room)
        : table_(table),
          meaning_(meaning),
          first_feature_(add_columns()),
          features_(table, meaning.features, first_feature_, missing, room) {
        choose_kind();
    }

    [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }

    void begin(std::size_t slots) override {
        slots_.clear();
        slots_.resize(slots);
    }

    void batch(std::size_t slot, const TableBatch& batch) override {
        VertexSlot& into = slots_[slot];
        read_ids(batch, into.ids);
        if (labels_) labels_->read(batch, into.labels, [](std::size_t) { return true; });
        if (split_column_) {
            CellReader reader(batch, *split_column_);
            for (std::size_t r = 0; r < batch.rows; ++r)
                into.roles.push_back(static_cast<std::uint8_t>(role_of(reader, r)));
        }
        if (time_column_) {
            const CellReader reader(batch, *time_column_);
            for (std::size_t r = 0; r < batch.rows; ++r)
                into.times.push_back(reader.integer(r).value_or(no_time));
        }
        features_.read(batch, into.features);
    }

    void end() override {
        for (VertexSlot& slot : slots_) {
            numbers_.take(slot.ids.numbers);
            bytes_.take(slot.ids.bytes);
            lengths_.take(slot.ids.lengths);
            features_.take(slot.features);
            if (labels_) labels_->take(slot.labels);
            roles_.take(slot.roles);
            times_.take(slot.times);
        }
    }

    [[nodiscard]] ReadVertices finish() {
        ReadVertices read;
        read.ids = finish_ids();
        const std::string where = table_.files().front().string();
        read.features = features_.finish(where);
        if (labels_) read.targets = labels_->finish(where);
        if (split_column_) {
            const Array<std::uint8_t> roles = roles_.join();
            read.roles = Array<Role>::uninitialised(roles.size());
            std::memcpy(read.roles->data(), roles.data(), roles.size());
        }
        if (time_column_) read.times = times_.join();
        return read;
    }

private:
    /// The columns to read: id, labels, split, time, features. Where the features begin.
    std::size_t add_columns() {
        columns_.push_back(meaning_.id);
        const std::size_t first_label = columns_.size();
        for (const LabelColumn& label : meaning_.label)
            columns_.push_back(label.column);
        if (!meaning_.label.empty()) labels_.emplace(table_, meaning_.label, first_label);
        const auto add = [&](const std::string& name, std::optional<std::size_t>& at) {
            if (name.empty()) return;
            at = columns_.size();
            columns_.push_back(name);
        };
        add(meaning_.split, split_column_);
        add(meaning_.time, time_column_);
        const std::size_t first = columns_.size();
        for (const FeatureColumn& feature : meaning_.features)
            columns_.push_back(feature.column);
        return first;
    }

    void choose_kind() {
        const ColumnSample id = sample_columns(table_, {meaning_.id}).front();
        const bool whole = id.kind == CellKind::integer ||
                           (id.kind == CellKind::text && id.first && plain_integer(*id.first));
        id_kind_ = meaning_.id_kind.value_or(whole ? IdKind::integer : IdKind::text);
    }

    void read_ids(const TableBatch& batch, SlotIds& ids) const {
        CellReader reader(batch, 0);
        const CellKind kind = batch.columns[0].kind;
        if (kind == CellKind::real || kind == CellKind::list) {
            if (batch.rows == 0) return;
            throw reader.fault(0, fmt::format("invalid id: '{}'", reader.shown(0)),
                               "give ids as text or whole numbers");
        }
        for (std::size_t r = 0; r < batch.rows; ++r) {
            if (batch.columns[0].is_missing(r) || !reader.text(r)) {
                throw reader.fault(r, "a vertex has no id", "give every row an id");
            }
            if (id_kind_ == IdKind::integer) {
                ids.numbers.push_back(number_id(batch.columns[0], reader, r));
                continue;
            }
            const auto text = reader.text(r).value_or(std::string_view());
            if (text.size() > longest_id) {
                throw reader.fault(r, fmt::format("the id has {} bytes", text.size()),
                                   fmt::format("use at most {}", longest_id));
            }
            const auto* const data = reinterpret_cast<const std::uint8_t*>(text.data());
            ids.bytes.insert(ids.bytes.end(), data, data + text.size());
            ids.lengths.push_back(static_cast<std::uint32_t>(text.size()));
        }
    }

    [[nodiscard]] std::int64_t number_id(const TableColumn& cells, const CellReader& reader,
                                         std::size_t row) const {
        if (cells.kind == CellKind::integer) return cells.integers[row];
        if (const auto number = plain_integer(cells.texts[row])) return *number;
        throw reader.fault(row,
                           fmt::format("invalid id: '{}' in a column whose first is a whole number",
                                       reader.shown(row)),
                           "correct the id, or say id_kind = \"text\" in a schema");
    }

    [[nodiscard]] VertexIds finish_ids() {
        if (id_kind_ == IdKind::integer) return VertexIds(numbers_.join());
        const Array<std::uint32_t> lengths = lengths_.join();
        auto offsets = Array<std::uint64_t>::uninitialised(lengths.size() + 1);
        offsets[0] = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i)
            offsets[i + 1] = offsets[i] + lengths[i];
        return {std::move(offsets), bytes_.join()};
    }

    const Table& table_;
    const VertexTable& meaning_;
    std::vector<std::string> columns_;
    std::optional<LabelReader> labels_;
    std::optional<std::size_t> split_column_;
    std::optional<std::size_t> time_column_;
    std::size_t first_feature_;
    FeatureColumns features_;
    IdKind id_kind_ = IdKind::text;
    std::vector<VertexSlot> slots_;
    Pieces<std::int64_t> numbers_;
    Pieces<std::uint8_t> bytes_;
    Pieces<std::uint32_t> lengths_;
    Pieces<std::uint8_t> roles_;
    Pieces<std::int64_t> times_;
};

}  // namespace

ReadVertices read_vertex_table(const Table& table, const VertexTable& meaning,
                               MissingValues missing, const std::shared_ptr<SpillRoom>& room,
                               Progress& progress) {
    progress.phase("reading vertices", 0);
    VertexReader reader(table, meaning, missing, room);
    table.walk(reader.columns(), reader, progress);
    return reader.finish();
}

}  // namespace rudder::graph
