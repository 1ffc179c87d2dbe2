// Helpers of the tests of tables: import two tables or a schema, and look at rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/tables/table_source.hpp"
#include "graph/vertex_ids.hpp"

#include "io_support.hpp"

namespace rudder::test {

/// A missing cell is nothing.
using PlainRow = std::vector<std::optional<std::string>>;

/// Keeps every cell, as text.
class CellCollector final : public graph::TableVisitor {
public:
    void begin(std::size_t slots) override { slots_.assign(slots, {}); }
    void batch(std::size_t slot, const graph::TableBatch& batch) override {
        for (std::size_t r = 0; r < batch.rows; ++r) {
            PlainRow& row = slots_[slot].emplace_back();
            for (const graph::TableColumn& column : batch.columns) {
                row.push_back(column.is_missing(r) ? std::nullopt
                                                   : std::optional(std::string(column.texts[r])));
            }
        }
    }
    void end() override {
        for (auto& slot : slots_)
            rows.insert(rows.end(), slot.begin(), slot.end());
        ++rounds;
    }

    std::vector<PlainRow> rows;
    int rounds = 0;

private:
    std::vector<std::vector<PlainRow>> slots_;
};

class TablesTest : public ImportTest {
protected:
    graph::ImportOptions two(const std::string& nodes, const std::string& edges) {
        graph::ImportOptions options;
        options.input = write("nodes.csv", nodes);
        options.edge_table = write("edges.csv", edges);
        return options;
    }
    graph::ImportOptions schema(const std::string& text) {
        graph::ImportOptions options;
        options.input = write("schema.toml", text);
        return options;
    }
    static graph::VertexIds ids_of(const graph::Dataset& data) {
        return graph::VertexIds::open(data.folder(), data.info().vertices);
    }
    static std::vector<std::string> names_of(const graph::Dataset& data) {
        const graph::VertexIds ids = ids_of(data);
        std::vector<std::string> names;
        for (VertexId v = 0; v < ids.size(); ++v)
            names.push_back(ids.name(v));
        return names;
    }
    static std::vector<std::vector<float>> features_of(const graph::Dataset& data) {
        const graph::FeatureView view = data.features();
        std::vector<std::vector<float>> rows;
        for (VertexId v = 0; v < view.rows; ++v) {
            auto& row = rows.emplace_back(view.info.width);
            graph::decode_row(view.info, view.row(v), view.scale, row);
        }
        return rows;
    }
};

}  // namespace rudder::test
