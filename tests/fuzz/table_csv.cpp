// CSV tables: what was read, written as CSV and read again, is equal.
#include <optional>

#include "graph/tables/table_source.hpp"
#include "graph/tables/table_writer.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

using Rows = std::vector<std::vector<std::optional<std::string>>>;

class Collector final : public graph::TableVisitor {
public:
    void begin(std::size_t slots) override { slots_.assign(slots, {}); }
    void batch(std::size_t slot, const graph::TableBatch& batch) override {
        for (std::size_t r = 0; r < batch.rows; ++r) {
            auto& row = slots_[slot].emplace_back();
            for (const graph::TableColumn& column : batch.columns) {
                row.push_back(column.is_missing(r) ? std::nullopt
                                                   : std::optional(std::string(column.texts[r])));
            }
            // Every row has a place.
            FUZZ_EXPECT(batch.place != nullptr);
        }
    }
    void end() override {
        for (auto& slot : slots_)
            rows.insert(rows.end(), slot.begin(), slot.end());
    }
    Rows rows;

private:
    std::vector<Rows> slots_;
};

Rows read_rows(const graph::Table& table) {
    Collector collector;
    table.walk(table.columns(), collector);
    return std::move(collector.rows);
}

}  // namespace

void check(std::string_view bytes) {
    const auto file = put("in.csv", bytes);
    if (graph::is_parquet(file)) return;
    const graph::Table table({file});
    const Rows rows = read_rows(table);
    std::vector<graph::OutputColumn> columns;
    for (const std::string& name : table.columns())
        columns.push_back({name, graph::CellKind::text});
    const auto again = scratch() / "again.csv";
    const auto writer = graph::make_table_writer(graph::OutputFormat::csv, again, columns);
    for (const auto& row : rows) {
        FUZZ_EXPECT(row.size() == columns.size());
        for (const auto& cell : row)
            cell ? writer->text(*cell) : writer->missing();
        writer->end_row();
    }
    writer->finish();
    const graph::Table second({again});
    FUZZ_EXPECT(second.columns() == table.columns());
    FUZZ_EXPECT(read_rows(second) == rows);
    if (!rows.empty()) {
        FUZZ_EXPECT(table.where(rows.size() - 1, table.columns().front()).find("line") !=
                    std::string::npos);
    }
}

std::vector<std::string> seeds() {
    return {"id,x,label\na,1,red\n\"b, c\",2,\"\"\n",
            "\xef\xbb\xbfid;\"a \"\"quoted\"\" name\"\r\n1;\"line\r\nend\"\r\n\r\n2;\r\n",
            "one\tcolumn\n\t\nü\t漢\n"};
}

}  // namespace rudder::fuzz
