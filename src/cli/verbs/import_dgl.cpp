// rudder import-dgl PART.json OUT
#include <array>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "graph/io/dgl_import.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

/// What the options say, before what they mean is parsed.
struct ImportDglForm : graph::DglImportOptions {
    std::string split_rule = "60/20/20";
};

std::span<const Setting<ImportDglForm>> import_dgl_table() {
    using O = ImportDglForm;
    static const std::array table{
        setting<O, &O::features>("features",
                                 "Features: name of a tensor (default: feat, features or x)",
                                 Marks::derived),
        setting<O, &O::labels>("labels", "Labels: name of a tensor (default: label, labels or y)",
                               Marks::derived),
        setting<O, &O::undirected>("undirected",
                                   "Store both directions of each edge (default: as they are)"),
        setting<O, &O::split_rule>("split",
                                   "Split, if there are no masks; or per-class:20/500/1000"),
        setting<O, &O::seed>("seed", "Random seed of the split"),
        setting<O, &O::force>("force", "Replace an existing output"),
    };
    return table;
}

class ImportDglVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "import-dgl"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Read the folder of a partition of DGL";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder import-dgl dgl/graph.json graph";
    }

    void define(CLI::App& app) override {
        app.add_option("PART.json", input_, "What dgl.distributed.partition_graph has written")
            ->required();
        app.add_option("OUT", output_, "Folder to create")->required();
        bind_options(app, import_dgl_table(), options_);
    }

    int run(const Context& context) override {
        options_.input = input_;
        options_.output = output_;
        options_.provenance = context.provenance;
        options_.split = graph::parse_split(options_.split_rule);
        const graph::DatasetInfo info = graph::import_dgl(options_, *context.progress);
        if (context.json) {
            print_json(run::dataset_json(info));
        } else if (!context.quiet) {
            print_text(key_values(dataset_lines(info)));
        }
        return 0;
    }

private:
    ImportDglForm options_;
    std::string input_;
    std::string output_;
};

}  // namespace

std::unique_ptr<Verb> make_import_dgl_verb() {
    return std::make_unique<ImportDglVerb>();
}

}  // namespace rudder::cli
