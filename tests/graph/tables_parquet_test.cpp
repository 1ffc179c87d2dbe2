// Parquet tables, written and read through Arrow, against the same tables as CSV.
#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/tables/table_writer.hpp"
#include "rudder/core/parallel.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

using graph::CellKind;

class ParquetTables : public TablesTest {
protected:
    /// The same tables in both formats.
    void write_both(int vertices, int edges) {
        for (const auto format : {graph::OutputFormat::csv, graph::OutputFormat::parquet}) {
            const std::string ending = format == graph::OutputFormat::csv ? ".csv" : ".parquet";
            const auto nodes = graph::make_table_writer(format, folder_ / ("nodes" + ending),
                                                        {{"id", CellKind::text},
                                                         {"x", CellKind::real},
                                                         {"n", CellKind::integer},
                                                         {"label", CellKind::text}});
            for (int v = 0; v < vertices; ++v) {
                nodes->text(fmt::format("vé{}", v));
                nodes->real(static_cast<float>(v) / 3);
                v % 7 == 3 ? nodes->missing() : nodes->integer(v % 5);
                v % 11 == 0 ? nodes->missing() : nodes->text(v % 2 == 0 ? "even" : "odd");
                nodes->end_row();
            }
            nodes->finish();
            const auto pairs =
                graph::make_table_writer(format, folder_ / ("edges" + ending),
                                         {{"source", CellKind::text}, {"target", CellKind::text}});
            for (int e = 0; e < edges; ++e) {
                pairs->text(fmt::format("vé{}", e * 31 % vertices));
                pairs->text(fmt::format("vé{}", e * 17 % vertices));
                pairs->end_row();
            }
            pairs->finish();
        }
    }
    std::string arrays(const std::string& ending) {
        graph::ImportOptions options;
        options.input = folder_ / ("nodes" + ending);
        options.edge_table = folder_ / ("edges" + ending);
        options.missing = graph::MissingValues::mean;
        return import(options).folder().manifest().at("arrays").dump();
    }
};

TEST_F(ParquetTables, GiveWhatCsvGives) {
    if (!graph::has_parquet()) GTEST_SKIP() << "built without Arrow";
    write_both(1000, 150000);  // edges of two row groups
    const std::string csv = arrays(".csv");
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        EXPECT_EQ(arrays(".parquet"), csv);
    }
    set_thread_count(0);
}

TEST_F(ParquetTables, FaultsNameRowGroupAndRow) {
    if (!graph::has_parquet()) GTEST_SKIP() << "built without Arrow";
    write_both(10, 20);
    const auto nodes = graph::make_table_writer(
        graph::OutputFormat::parquet, folder_ / "nodes.parquet", {{"id", CellKind::integer}});
    for (const int id : {4, 5, 4}) {
        nodes->integer(id);
        nodes->end_row();
    }
    nodes->finish();
    graph::ImportOptions options;
    options.input = folder_ / "nodes.parquet";
    options.edge_table = folder_ / "edges.parquet";
    refuse(options, {"id '4' occurs twice", "nodes.parquet, row group 0, row 2, column 'id'"});
    write("nodes.parquet", "PAR1 and nothing else");
    refuse(options, {"nodes.parquet", "cannot be read"});
}

}  // namespace
}  // namespace rudder::test
