// rudder info PATH...
#include <numeric>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/look.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

class InfoVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "info"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Describe a data set, partition, trace, checkpoint or run; --check verifies it";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder info graph --check"; }

    void define(CLI::App& app) override {
        app.add_option("PATH", paths_, "Path to describe; several give one table")
            ->required()
            ->expected(1, 1000);
        app.add_flag("--check", check_, "Verify every checksum and every invariant of the format");
    }

    int run(const Context& context) override;

private:
    std::vector<std::string> paths_;
    bool check_ = false;
};

/// One path looked at, and its row of the table of several.
struct Shown {
    Looked looked;
    std::vector<std::string> row;
};

const std::vector<std::string> header{"path",   "kind", "vertices", "edges", "features", "parts",
                                      "method", "cut",  "balance",  "train", "halo rows"};

std::vector<std::string> table_row(const std::string& path, const graph::DatasetInfo& info,
                                   const partition::PartitionSummary* parts) {
    std::vector<std::string> row{
        path, parts != nullptr ? "partition" : "dataset", format_count(info.vertices),
        format_count(info.edges),
        info.features.present()
            ? fmt::format("{} {}", info.features.width, to_string(info.features.type))
            : (info.types.present() ? "by type" : "-")};
    if (parts == nullptr) {
        row.insert(row.end(), 6, "-");
        return row;
    }
    const VertexId halo = std::accumulate(parts->halo.begin(), parts->halo.end(), VertexId{0});
    row.insert(row.end(),
               {std::to_string(parts->parts), parts->method,
                fmt::format("{:.1f} %", 100 * parts->cut), fmt::format("{:.3f}", parts->balance),
                fmt::format("{:.3f}", parts->train_balance), format_count(halo)});
    return row;
}

/// Says what the user calls the vertices, where ids are kept.
Looked with_ids(Looked looked, const graph::ArrayFolder& folder) {
    const auto types = looked.json.find("vertex_types");
    for (std::size_t t = 0; types != looked.json.end() && t < types->size(); ++t) {
        const auto kind = graph::id_kind(folder, t);
        if (!kind) continue;
        Json& type = (*types)[t];
        type["ids"] = to_string(*kind);
        looked.lines.emplace_back(fmt::format("ids of {}", type["name"].get<std::string>()),
                                  fmt::format("{}, those of the tables", to_string(*kind)));
    }
    if (const auto kind = graph::id_kind(folder)) {
        looked.json["ids"] = to_string(*kind);
        looked.lines.emplace_back("ids", fmt::format("{}, those of the tables", to_string(*kind)));
    }
    return looked;
}

Shown look(const std::string& path, bool check) {
    if (graph::ArrayFolder::is(path, partition::partition_format)) {
        const partition::PartitionedDataset data(path);
        if (check) data.check();
        return {with_ids({run::partition_json(data.info(), data.summary()),
                          partition_lines(data.info(), data.summary())},
                         data.folder()),
                table_row(path, data.info(), &data.summary())};
    }
    if (auto run = look_at_run(path, check)) {
        std::vector<std::string> row(header.size(), "-");
        row[0] = path;
        row[1] = run->json.at("kind");
        if (run->json.contains("vertices")) row[2] = format_count(run->json.at("vertices"));
        return {std::move(*run), std::move(row)};
    }
    const graph::Dataset data(path);
    if (check) data.check();
    return {with_ids({run::dataset_json(data.info()), dataset_lines(data.info())}, data.folder()),
            table_row(path, data.info(), nullptr)};
}

int InfoVerb::run(const Context& context) {
    Json results = Json::array();
    Table table(header);
    std::string single;
    for (const std::string& path : paths_) {
        auto [looked, row] = look(path, check_);
        if (check_) {
            looked.json["checked"] = true;
            looked.lines.emplace_back("checked", "every checksum and every invariant holds");
        }
        table.add(row);
        single = key_values(looked.lines);
        results.push_back(std::move(looked.json));
    }
    if (context.json) {
        print_json(results.size() == 1 ? results[0] : results);
    } else {
        print_text(results.size() == 1 ? single : table.text());
    }
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_info_verb() {
    return std::make_unique<InfoVerb>();
}

}  // namespace rudder::cli
