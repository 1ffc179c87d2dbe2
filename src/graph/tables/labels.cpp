#include "labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"

#include "id_map.hpp"

namespace rudder::graph {

LabelReader::LabelReader(const Table& table, const std::vector<LabelColumn>& label,
                         std::size_t first)
    : label_(label), first_(first) {
    const ColumnSample sample = sample_columns(table, {label.front().column}).front();
    const bool fraction = sample.kind == CellKind::real ||
                          (sample.kind == CellKind::text && sample.first &&
                           parse_number(*sample.first) && !plain_integer(*sample.first));
    kind_ = label.front().kind.value_or(fraction ? LabelKind::number : LabelKind::classes);
}

void LabelReader::read(const TableBatch& batch, SlotLabels& into,
                       FunctionRef<bool(std::size_t)> kept) const {
    if (kind_ == LabelKind::number) {
        read_numbers(batch, into, kept);
    } else {
        read_names(batch, into, kept);
    }
}

void LabelReader::read_names(const TableBatch& batch, SlotLabels& into,
                             FunctionRef<bool(std::size_t)> kept) const {
    CellReader reader(batch, first_);
    const LabelColumn& label = label_.front();
    for (std::size_t r = 0; r < batch.rows; ++r) {
        if (!kept(r)) continue;
        auto text = reader.text(r);
        if (text && std::ranges::find(label.none, *text) != label.none.end()) text.reset();
        if (kind_ == LabelKind::classes) {
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

void LabelReader::read_numbers(const TableBatch& batch, SlotLabels& into,
                               FunctionRef<bool(std::size_t)> kept) const {
    const std::size_t width = label_.size();
    for (std::size_t r = 0; r < batch.rows; ++r) {
        if (!kept(r)) continue;
        std::size_t there = 0;
        for (std::size_t k = 0; k < width; ++k) {
            const auto number = CellReader(batch, first_ + k).number(r);
            if (number) ++there;
            into.numbers.push_back(number ? static_cast<float>(*number)
                                          : std::numeric_limits<float>::quiet_NaN());
            if (!std::isinf(into.numbers.back())) continue;
            throw CellFault{r, first_ + k, "a target does not fit float32", "use smaller numbers"};
        }
        if (there == 0 || there == width) continue;
        throw CellFault{r, first_, "a row of targets is partly missing",
                        "give all of them, or none for no label"};
    }
}

void LabelReader::take(SlotLabels& slot) {
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
    numbers_.take(slot.numbers);
}

Targets LabelReader::finish(const std::string& where) {
    Targets targets;
    if (kind_ == LabelKind::number) {
        targets.info.kind = TargetKind::regression;
        targets.info.count = label_.size();
        targets.regression = numbers_.join();
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
    if (kind_ == LabelKind::classes) {
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

void LabelReader::fill_multilabel(const NameCodes::Order& order, Targets& targets) {
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

Role role_of(CellReader& reader, std::size_t row) {
    const auto text = reader.text(row);
    if (!text || *text == "none") return Role::none;
    if (*text == "train") return Role::train;
    if (*text == "valid" || *text == "val" || *text == "validation") return Role::valid;
    if (*text == "test") return Role::test;
    throw reader.fault(row, fmt::format("invalid split: '{}'", reader.shown(row)),
                       "use train, valid, test, or nothing");
}

}  // namespace rudder::graph
