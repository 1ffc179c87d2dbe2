// rudder import IN OUT
#include "graph/io/import.hpp"

#include <array>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "graph/tables/import_tables.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/io/graph_reader.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

using ImportWords = std::vector<std::string_view>;

/// What the options say, before what they mean is parsed.
struct ImportForm : graph::ImportOptions {
    std::string type;
    std::string split_rule = "60/20/20";
};

std::span<const Setting<ImportForm>> import_table() {
    using O = ImportForm;
    static const std::string formats =
        fmt::format("Format: auto, or {}", join(graph::graph_formats(), ", "));
    static const std::array table{
        setting<O, &O::format>("format", formats).offering([] {
            ImportWords names{"auto"};
            for (const std::string_view name : graph::graph_formats())
                names.push_back(name);
            return names;
        }),
        setting<O, &O::directed>("directed",
                                 "Keep edges directed (default: store both directions)"),
        setting<O, &O::keep_self_loops>("keep-self-loops", "Keep self loops (default: drop them)"),
        setting<O, &O::keep_duplicates>("keep-duplicates",
                                        "Keep duplicate edges (default: drop them)"),
        setting<O, &O::vertices>("vertices", "Number of vertices, if the file does not give it")
            .limit(0, static_cast<double>(graph::max_vertices)),
        setting<O, &O::id_bits>("id-bits", "Bits per id (binary)").among([] {
            return ImportWords{"32", "64"};
        }),
        setting<O, &O::features>(
            "features", "Features, if the file has none: FILE.npy, random:W or structure:W"),
        setting<O, &O::type>("feature-type", "Feature type: float32, float16, bfloat16 or uint8")
            .offering([] {
                return ImportWords{"float32", "float16", "bfloat16", "int8", "uint8"};
            }),
        setting<O, &O::row_normalise>("row-normalise",
                                      "Divide each row by its absolute sum when it is used"),
        setting<O, &O::labels>("labels", "Labels, if the file has none: FILE.npy"),
        setting<O, &O::split_rule>(
            "split", "Split, if there is none; or time:60/20/20, per-class:20/500/1000"),
        setting<O, &O::seed>("seed", "Random seed of the split and of generated features"),
        setting<O, &O::unknown>("unknown", "Tables: edges that name a vertex without a row")
            .among({"refuse", "drop"}),
        setting<O, &O::missing>("missing", "Tables: missing features by default")
            .among({"refuse", "zero", "mean"}),
        setting<O, &O::memory>("memory",
                               "Tables: memory before rows go to disk (0 = a quarter of the free)")
            .in_bytes(),
        setting<O, &O::force>("force", "Replace an existing output"),
    };
    return table;
}

class ImportVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "import"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Read a graph: tables (CSV, Parquet), NPZ, edge lists, Matrix Market, METIS, OGB";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder import edges.txt graph --features random:100";
    }

    void define(CLI::App& app) override {
        app_ = &app;
        app.add_option("IN", input_, "File, folder or schema (.toml); or a table of vertices")
            ->required();
        app.add_option("OUT", second_, "Folder to create; or a table of edges")->required();
        app.add_option("DIR", third_, "After two tables: the folder to create");
        bind_options(app, import_table(), options_);
    }

    int run(const Context& context) override {
        options_.input = input_;
        if (!third_.empty()) options_.edge_table = second_;
        options_.output = third_.empty() ? second_ : third_;
        if (graph::names_tables(options_)) refuse_options();
        options_.provenance = context.provenance;
        options_.split = graph::parse_split(options_.split_rule);
        if (options_.vertices == VertexId{0}) options_.vertices.reset();
        if (!options_.type.empty()) options_.feature_type = feature_type(options_.type);
        const graph::DatasetInfo info = graph::import_dataset(options_, *context.progress);
        if (context.json) {
            print_json(run::dataset_json(info));
        } else if (!context.quiet) {
            print_text(key_values(dataset_lines(info)));
        }
        return 0;
    }

private:
    /// Options that say nothing of tables.
    void refuse_options() const {
        for (const char* name : {"--format", "--vertices", "--id-bits"}) {
            if (!given(*app_, name)) continue;
            throw usage_error(fmt::format("{} does not go with tables", name), name,
                              "leave it out");
        }
    }

    static ElementType feature_type(const std::string& name) {
        const auto type = element_type(name);
        if (type && graph::is_feature_type(*type)) return *type;
        throw usage_error(fmt::format("invalid feature type: '{}'", name), "--feature-type",
                          "use float32, float16, bfloat16, int8 or uint8");
    }

    ImportForm options_;
    CLI::App* app_ = nullptr;
    std::string input_;
    std::string second_;
    std::string third_;
};

}  // namespace

std::unique_ptr<Verb> make_import_verb() {
    return std::make_unique<ImportVerb>();
}

}  // namespace rudder::cli
