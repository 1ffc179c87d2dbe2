// rudder import IN OUT
#include "graph/io/import.hpp"

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/io/graph_reader.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

class ImportVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "import"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Read a graph: NPZ, edge lists, Matrix Market, METIS, OGB folders";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder import edges.txt graph --features random:100";
    }

    void define(CLI::App& app) override {
        app.add_option("IN", input_, "File or folder to read")->required();
        app.add_option("OUT", output_, "Folder to create")->required();
        app.add_option("--format", options_.format,
                       fmt::format("Format: auto, or {}", join(graph::graph_formats(), ", ")))
            ->capture_default_str();
        app.add_flag("--directed", options_.directed,
                     "Keep edges directed (default: store both directions)");
        app.add_flag("--keep-self-loops", options_.keep_self_loops,
                     "Keep self loops (default: drop them)");
        app.add_flag("--keep-duplicates", options_.keep_duplicates,
                     "Keep duplicate edges (default: drop them)");
        app.add_option("--vertices", vertices_, "Number of vertices, if the file does not give it");
        app.add_option("--id-bits", options_.id_bits, "Bits per id (binary): 32 or 64")
            ->check(CLI::IsMember({32, 64}))
            ->capture_default_str();
        app.add_option("--features", options_.features,
                       "Features, if the file has none: FILE.npy, random:W or structure:W");
        app.add_option("--feature-type", type_,
                       "Feature type: float32, float16, bfloat16 or uint8");
        app.add_flag("--row-normalise", options_.row_normalise,
                     "Divide each row by its absolute sum when it is used");
        app.add_option("--labels", labels_, "Labels, if the file has none: FILE.npy");
        app.add_option("--split", split_, "Split, if the file has none; or per-class:20/500/1000")
            ->capture_default_str();
        app.add_option("--seed", options_.seed,
                       "Random seed of the split and of generated features")
            ->capture_default_str();
        app.add_flag("--force", options_.force, "Replace an existing output");
    }

    int run(const Context& context) override {
        options_.input = input_;
        options_.output = output_;
        options_.labels = labels_;
        options_.provenance = context.provenance;
        options_.split = graph::parse_split(split_);
        if (vertices_ > 0) options_.vertices = vertices_;
        if (!type_.empty()) options_.feature_type = feature_type(type_);
        const graph::DatasetInfo info = graph::import_dataset(options_, *context.progress);
        if (context.json) {
            print_json(run::dataset_json(info));
        } else if (!context.quiet) {
            print_text(key_values(dataset_lines(info)));
        }
        return 0;
    }

private:
    static ElementType feature_type(const std::string& name) {
        const auto type = element_type(name);
        if (type && graph::is_feature_type(*type)) return *type;
        throw usage_error(fmt::format("invalid feature type: '{}'", name), "--feature-type",
                          "use float32, float16, bfloat16, int8 or uint8");
    }

    graph::ImportOptions options_;
    std::string input_;
    std::string output_;
    std::string labels_;
    std::string type_;
    std::string split_ = "60/20/20";
    VertexId vertices_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_import_verb() {
    return std::make_unique<ImportVerb>();
}

}  // namespace rudder::cli
