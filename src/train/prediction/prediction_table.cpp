#include "prediction_table.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "graph/io/export_table.hpp"

namespace rudder::train {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;

/// An array of the archive: `each(row, out)` writes the `bytes` of a row.
template <class Each>
void add_array(graph::NpzWriter& writer, const std::string& name, const graph::NpyHeader& header,
               std::size_t bytes, RowWalk walk, Each each) {
    writer.add(name, header,
               [bytes, each, walk = std::move(walk)](std::vector<std::byte>& block) mutable {
                   const std::size_t room = std::max<std::size_t>(1, block_bytes / bytes);
                   block.resize(room * bytes);
                   std::size_t count = 0;
                   for (; count < room; ++count) {
                       const float* row = walk();
                       if (row == nullptr) break;
                       each(row, block.data() + count * bytes);
                   }
                   block.resize(count * bytes);
                   return count > 0;
               });
}

}  // namespace

void add_answer_columns(const PredictionTable& table, std::vector<graph::OutputColumn>& columns) {
    using graph::CellKind;
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
}

void AnswerCells::put(graph::TableWriter& writer, const float* row) {
    const std::span<const float> values(row, table_.scores + table_.hidden);
    const auto scores = values.first(table_.scores);
    if (table_.objective == nn::Objective::classes) {
        const auto best = std::ranges::max_element(scores) - scores.begin();
        writer.text(graph::class_name(table_.targets, static_cast<std::uint64_t>(best)));
    }
    if (table_.objective == nn::Objective::multilabel) {
        std::ranges::transform(scores, labels_.begin(),
                               [](float score) { return score > 0 ? 1 : 0; });
        writer.text(graph::joined_classes(table_.targets, labels_));
    }
    for (const float value : values)
        writer.real(value);
}

void write_prediction_table(graph::OutputFormat format, const std::filesystem::path& file,
                            const PredictionTable& table, FunctionRef<const float*(VertexId)> row) {
    std::vector<graph::OutputColumn> columns{graph::id_column("id", table.ids)};
    add_answer_columns(table, columns);
    const auto writer = graph::make_table_writer(format, file, columns);
    AnswerCells answers(table);
    for (VertexId v = 0; v < table.rows; ++v) {
        graph::put_id(*writer, table.ids, v);
        answers.put(*writer, row(v));
        writer->end_row();
    }
    writer->finish();
}

void add_answers(graph::NpzWriter& writer, const PredictionTable& table, const RowWalks& walks) {
    const std::size_t outputs = table.scores;
    if (table.objective == nn::Objective::classes) {
        add_array(writer, "class", {ElementType::i32, false, 0, {table.rows}}, sizeof(std::int32_t),
                  walks(), [outputs](const float* row, std::byte* out) {
                      const auto best =
                          static_cast<std::int32_t>(std::max_element(row, row + outputs) - row);
                      std::memcpy(out, &best, sizeof(best));
                  });
    }
    if (table.objective == nn::Objective::multilabel) {
        add_array(writer, "labels", {ElementType::u8, false, 0, {table.rows, outputs}}, outputs,
                  walks(), [outputs](const float* row, std::byte* out) {
                      for (std::size_t c = 0; c < outputs; ++c)
                          out[c] = std::byte{row[c] > 0 ? std::uint8_t{1} : std::uint8_t{0}};
                  });
    }
    if (!table.targets.names.empty()) writer.add_texts("classes", table.targets.names);
    const auto add_floats = [&](const char* name, std::size_t first, std::size_t columns) {
        const std::size_t bytes = columns * sizeof(float);
        add_array(writer, name, {ElementType::f32, false, 0, {table.rows, columns}}, bytes, walks(),
                  [first, bytes](const float* row, std::byte* out) {
                      std::memcpy(out, row + first, bytes);
                  });
    };
    add_floats("scores", 0, outputs);
    if (table.hidden > 0) add_floats("embedding", outputs, table.hidden);
}

}  // namespace rudder::train
