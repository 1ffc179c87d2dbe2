// Parquet tables, in builds with Arrow: what was read, written as Parquet and read again, is equal.
#include <cstring>
#include <optional>

#include "graph/tables/table_source.hpp"
#include "graph/tables/table_writer.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

using graph::CellKind;

/// A cell: what it says, bit by bit; nothing where it is missing.
using Cell = std::optional<std::string>;

struct ReadTable {
    std::vector<CellKind> kinds;
    std::vector<std::vector<Cell>> rows;
};

template <class T>
std::string bits_of(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

class ParquetCollector final : public graph::TableVisitor {
public:
    void begin(std::size_t slots) override { slots_.assign(slots, {}); }
    void batch(std::size_t slot, const graph::TableBatch& batch) override {
        FUZZ_EXPECT(batch.place != nullptr);
        ReadTable& table = slots_[slot];
        table.kinds.clear();
        for (const graph::TableColumn& column : batch.columns)
            table.kinds.push_back(column.kind);
        for (std::size_t r = 0; r < batch.rows; ++r) {
            auto& row = table.rows.emplace_back();
            for (const graph::TableColumn& column : batch.columns)
                row.push_back(cell(column, r));
        }
    }
    void end() override {
        for (ReadTable& slot : slots_) {
            if (!slot.kinds.empty()) table.kinds = slot.kinds;
            table.rows.insert(table.rows.end(), slot.rows.begin(), slot.rows.end());
        }
    }
    ReadTable table;

private:
    static Cell cell(const graph::TableColumn& column, std::size_t row) {
        if (column.is_missing(row)) return std::nullopt;
        switch (column.kind) {
            case CellKind::text:
                return std::string(column.texts[row]);
            case CellKind::integer:
                return bits_of(column.integers[row]);
            case CellKind::real:
                return bits_of(static_cast<float>(column.reals[row]));
            case CellKind::list:
                break;
        }
        std::string all;
        for (std::size_t i = 0; i < column.width; ++i)
            all += bits_of(column.reals[row * column.width + i]);
        return all;
    }

    std::vector<ReadTable> slots_;
};

ReadTable read_cells(const graph::Table& table) {
    ParquetCollector collector;
    table.walk(table.columns(), collector);
    return std::move(collector.table);
}

template <class T>
T value_in(const std::string& bits) {
    T value{};
    std::memcpy(&value, bits.data(), sizeof value);
    return value;
}

void write_cell(graph::TableWriter& writer, CellKind kind, const Cell& cell) {
    if (!cell) return writer.missing();
    if (kind == CellKind::text) return writer.text(*cell);
    if (kind == CellKind::integer) return writer.integer(value_in<std::int64_t>(*cell));
    writer.real(value_in<float>(*cell));
}

}  // namespace

void check(std::string_view bytes) {
    const auto file = put("in.parquet", bytes);
    if (!graph::is_parquet(file)) return;
    const graph::Table table({file});
    const ReadTable read = read_cells(table);
    // Lists are read and never written.
    std::vector<graph::OutputColumn> columns;
    for (std::size_t c = 0; c < read.kinds.size(); ++c) {
        if (read.kinds[c] == CellKind::list) return;
        columns.push_back({table.columns()[c], read.kinds[c]});
    }
    if (read.rows.empty()) return;
    const auto again = scratch() / "again.parquet";
    drop("again.parquet");
    const auto writer = graph::make_table_writer(graph::OutputFormat::parquet, again, columns);
    for (const auto& row : read.rows) {
        FUZZ_EXPECT(row.size() == columns.size());
        for (std::size_t c = 0; c < row.size(); ++c)
            write_cell(*writer, read.kinds[c], row[c]);
        writer->end_row();
    }
    writer->finish();
    const graph::Table second({again});
    FUZZ_EXPECT(second.columns() == table.columns());
    FUZZ_EXPECT(read_cells(second).rows == read.rows);
}

std::vector<std::string> seeds() {
    std::vector<std::string> made;
    for (const int rows : {1, 5}) {
        drop("made.parquet");
        const auto file = scratch() / "made.parquet";
        const auto writer = graph::make_table_writer(
            graph::OutputFormat::parquet, file,
            {{"id", CellKind::text}, {"x", CellKind::real}, {"n", CellKind::integer}});
        for (int row = 0; row < rows; ++row) {
            writer->text("v" + std::to_string(row));
            writer->real(static_cast<float>(row) / 3);
            row == 2 ? writer->missing() : writer->integer(row - 1);
            writer->end_row();
        }
        writer->finish();
        made.push_back(bytes_of(file));
    }
    return made;
}

}  // namespace rudder::fuzz
