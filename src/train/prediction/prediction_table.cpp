#include "prediction_table.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "graph/io/export_table.hpp"

namespace rudder::train {

namespace {

std::vector<graph::OutputColumn> prediction_columns(const PredictionTable& table) {
    using graph::CellKind;
    std::vector<graph::OutputColumn> columns{graph::id_column("id", table.ids)};
    const bool numbers = table.objective == nn::Objective::regression;
    if (table.objective == nn::Objective::classes) columns.push_back({"class", CellKind::text});
    if (table.objective == nn::Objective::multilabel) columns.push_back({"labels", CellKind::text});
    for (std::size_t i = 0; i < table.scores; ++i) {
        std::string name = "score_" + graph::class_name(table.targets, i);
        if (numbers) name = table.scores == 1 ? "value" : fmt::format("value_{}", i);
        columns.push_back({std::move(name), CellKind::real});
    }
    for (std::size_t i = 0; i < table.hidden; ++i)
        columns.push_back({fmt::format("embedding_{}", i), CellKind::real});
    return columns;
}

}  // namespace

void write_prediction_table(graph::OutputFormat format, const std::filesystem::path& file,
                            const PredictionTable& table, FunctionRef<const float*(VertexId)> row) {
    const auto writer = graph::make_table_writer(format, file, prediction_columns(table));
    std::vector<std::uint8_t> labels(table.scores);
    for (VertexId v = 0; v < table.vertices; ++v) {
        const std::span<const float> values(row(v), table.scores + table.hidden);
        const auto scores = values.first(table.scores);
        graph::put_id(*writer, table.ids, v);
        if (table.objective == nn::Objective::classes) {
            const auto best = std::ranges::max_element(scores) - scores.begin();
            writer->text(graph::class_name(table.targets, static_cast<std::uint64_t>(best)));
        }
        if (table.objective == nn::Objective::multilabel) {
            std::ranges::transform(scores, labels.begin(),
                                   [](float score) { return score > 0 ? 1 : 0; });
            writer->text(graph::joined_classes(table.targets, labels));
        }
        for (const float value : values)
            writer->real(value);
        writer->end_row();
    }
    writer->finish();
}

}  // namespace rudder::train
