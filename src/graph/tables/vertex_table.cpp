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

namespace rudder::graph {

namespace {

constexpr std::size_t longest_id = 1 << 16;

/// Values that come slot by slot and end in one array: a list of pieces, joined once.
template <class T>
class Pieces {
public:
    void take(std::vector<T>& values) {
        count_ += values.size();
        if (!values.empty()) pieces_.push_back(std::move(values));
        values = {};
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Joins them; each is given back as soon as it is copied.
    [[nodiscard]] Array<T> join() {
        auto all = Array<T>::uninitialised(count_);
        T* out = all.data();
        for (std::vector<T>& piece : pieces_) {
            std::memcpy(out, piece.data(), piece.size() * sizeof(T));
            out += piece.size();
            piece = {};
        }
        return all;
    }

private:
    std::vector<std::vector<T>> pieces_;
    std::size_t count_ = 0;
};

/// Ids of a slot: numbers, or texts and their lengths.
struct SlotIds {
    std::vector<std::int64_t> numbers;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint32_t> lengths;
};

/// Labels of a slot, by the kind of label.
struct SlotLabels {
    NameCodes names;
    std::vector<std::int32_t> classes;   ///< no_label, or a number of `names`
    std::vector<std::uint32_t> several;  ///< classes of multi-label rows, one row after the other
    std::vector<std::int32_t> counts;    ///< how many of them a row has; -1: no label
    std::vector<float> numbers;
};

struct VertexSlot {
    SlotIds ids;
    RawRows features;
    SlotLabels labels;
    std::vector<std::uint8_t> roles;
    std::vector<std::int64_t> times;
};

Role role_of(CellReader& reader, std::size_t row) {
    const auto text = reader.text(row);
    if (!text || *text == "none") return Role::none;
    if (*text == "train") return Role::train;
    if (*text == "valid" || *text == "val" || *text == "validation") return Role::valid;
    if (*text == "test") return Role::test;
    throw reader.fault(row, fmt::format("invalid split: '{}'", reader.shown(row)),
                       "use train, valid, test, or nothing");
}

class VertexReader final : public TableVisitor {
public:
    VertexReader(const Table& table, const VertexTable& meaning, MissingValues missing,
                 const std::shared_ptr<SpillRoom>& room)
        : table_(table),
          meaning_(meaning),
          first_feature_(add_columns()),
          features_(table, meaning.features, first_feature_, missing, room) {
        choose_kinds();
    }

    [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }

    void begin(std::size_t slots) override {
        slots_.clear();
        slots_.resize(slots);
    }

    void batch(std::size_t slot, const TableBatch& batch) override {
        VertexSlot& into = slots_[slot];
        read_ids(batch, into.ids);
        read_labels(batch, into.labels);
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
            take_labels(slot.labels);
            roles_.take(slot.roles);
            times_.take(slot.times);
        }
    }

    [[nodiscard]] ReadVertices finish() {
        ReadVertices read;
        read.ids = finish_ids();
        const std::string where = table_.files().front().string();
        read.features = features_.finish(where);
        if (label_kind_) read.targets = finish_labels(where);
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
        first_label_ = columns_.size();
        for (const LabelColumn& label : meaning_.label)
            columns_.push_back(label.column);
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

    void choose_kinds() {
        std::vector<std::string> names{meaning_.id};
        for (const LabelColumn& label : meaning_.label)
            names.push_back(label.column);
        const auto samples = sample_columns(table_, names);
        const ColumnSample& id = samples.front();
        const bool whole = id.kind == CellKind::integer ||
                           (id.kind == CellKind::text && id.first && plain_integer(*id.first));
        id_kind_ = meaning_.id_kind.value_or(whole ? IdKind::integer : IdKind::text);
        if (meaning_.label.empty()) return;
        const ColumnSample& label = samples[1];
        const bool fraction = label.kind == CellKind::real ||
                              (label.kind == CellKind::text && label.first &&
                               parse_number(*label.first) && !plain_integer(*label.first));
        label_kind_ =
            meaning_.label.front().kind.value_or(fraction ? LabelKind::number : LabelKind::classes);
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

    void read_labels(const TableBatch& batch, SlotLabels& into) const {
        if (!label_kind_) return;
        if (*label_kind_ == LabelKind::number) return read_number_labels(batch, into);
        CellReader reader(batch, first_label_);
        const LabelColumn& label = meaning_.label.front();
        for (std::size_t r = 0; r < batch.rows; ++r) {
            auto text = reader.text(r);
            if (text && std::ranges::find(label.none, *text) != label.none.end()) text.reset();
            if (*label_kind_ == LabelKind::classes) {
                into.classes.push_back(text ? static_cast<std::int32_t>(into.names.code(*text))
                                            : no_label);
                continue;
            }
            std::int32_t count = text ? 0 : -1;
            std::string_view rest = text.value_or(std::string_view());
            while (!rest.empty()) {
                const std::size_t end = std::min(rest.find(label.separator), rest.size());
                if (end != 0) {
                    into.several.push_back(into.names.code(rest.substr(0, end)));
                    ++count;
                }
                rest.remove_prefix(std::min(end + label.separator.size(), rest.size()));
            }
            into.counts.push_back(count);
        }
    }

    void read_number_labels(const TableBatch& batch, SlotLabels& into) const {
        const std::size_t width = meaning_.label.size();
        for (std::size_t r = 0; r < batch.rows; ++r) {
            std::size_t there = 0;
            for (std::size_t k = 0; k < width; ++k) {
                const auto number = CellReader(batch, first_label_ + k).number(r);
                if (number) ++there;
                into.numbers.push_back(number ? static_cast<float>(*number)
                                              : std::numeric_limits<float>::quiet_NaN());
                if (!std::isinf(into.numbers.back())) continue;
                throw CellFault{r, first_label_ + k, "a target does not fit float32",
                                "use smaller numbers"};
            }
            if (there == 0 || there == width) continue;
            throw CellFault{r, first_label_, "a row of targets is partly missing",
                            "give all of them, or none for no label"};
        }
    }

    void take_labels(SlotLabels& slot) {
        if (!label_kind_) return;
        std::vector<std::uint32_t> global;
        for (const std::string& name : slot.names.names())
            global.push_back(names_.code(name));
        for (std::int32_t& code : slot.classes) {
            if (code != no_label)
                code = static_cast<std::int32_t>(global[static_cast<std::size_t>(code)]);
        }
        for (std::uint32_t& code : slot.several)
            code = global[code];
        classes_.take(slot.classes);
        several_.take(slot.several);
        counts_.take(slot.counts);
        label_numbers_.take(slot.numbers);
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

    [[nodiscard]] Targets finish_labels(const std::string& where) {
        Targets targets;
        if (*label_kind_ == LabelKind::number) {
            targets.info.kind = TargetKind::regression;
            targets.info.count = meaning_.label.size();
            targets.regression = label_numbers_.join();
            return targets;
        }
        const NameCodes::Order order = names_.order();
        if (order.names.size() > max_classes) {
            throw input_error(
                fmt::format("{} classes are more than {}", order.names.size(), max_classes), where,
                "say kind = \"number\" for the label, if it is a number");
        }
        targets.info.count = order.names.size();
        targets.info.names = order.names;
        if (*label_kind_ == LabelKind::classes) {
            targets.info.kind = TargetKind::classes;
            targets.classes = classes_.join();
            for (std::int32_t& code : targets.classes) {
                if (code == no_label) continue;
                code = static_cast<std::int32_t>(order.place[static_cast<std::size_t>(code)]);
            }
            return targets;
        }
        targets.info.kind = TargetKind::multilabel;
        fill_multilabel(order, targets);
        return targets;
    }

    void fill_multilabel(const NameCodes::Order& order, Targets& targets) {
        const std::size_t width = order.names.size();
        const Array<std::int32_t> counts = counts_.join();
        const Array<std::uint32_t> several = several_.join();
        targets.multilabel = Array<std::uint8_t>::zeroed(
            checked_mul<std::size_t>(counts.size(), width, "size of the labels"));
        std::size_t at = 0;
        for (std::size_t v = 0; v < counts.size(); ++v) {
            std::uint8_t* const row = targets.multilabel.data() + v * width;
            if (counts[v] < 0) std::fill_n(row, width, no_multilabel);
            for (std::int32_t k = 0; k < counts[v]; ++k)
                row[order.place[several[at++]]] = 1;
        }
    }

    const Table& table_;
    const VertexTable& meaning_;
    std::vector<std::string> columns_;
    std::size_t first_label_ = 1;
    std::optional<std::size_t> split_column_;
    std::optional<std::size_t> time_column_;
    std::size_t first_feature_;
    FeatureColumns features_;
    IdKind id_kind_ = IdKind::text;
    std::optional<LabelKind> label_kind_;
    std::vector<VertexSlot> slots_;
    Pieces<std::int64_t> numbers_;
    Pieces<std::uint8_t> bytes_;
    Pieces<std::uint32_t> lengths_;
    NameCodes names_;
    Pieces<std::int32_t> classes_;
    Pieces<std::uint32_t> several_;
    Pieces<std::int32_t> counts_;
    Pieces<float> label_numbers_;
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
