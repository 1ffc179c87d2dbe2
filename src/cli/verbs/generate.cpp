// rudder generate KIND OUT
#include "graph/generate/generate.hpp"

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

class GenerateVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "generate"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Generate a graph: rmat, sbm (planted communities), ba or grid";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder generate sbm graph --vertices 20000 --classes 8";
    }

    void define(CLI::App& app) override {
        graph::GeneratorOptions& g = options_.generator;
        app.add_option("KIND", options_.kind, kinds())->required();
        app.add_option("OUT", output_, "Folder to create")->required();
        app.add_option("--vertices", g.vertices,
                       "Number of vertices (rmat: rounded up to a power of two)")
            ->capture_default_str();
        app.add_option("--degree", g.degree,
                       "Edges drawn per vertex (default: rmat 16, sbm 10, ba 4)");
        app.add_option("--seed", g.seed, "Random seed: the same seed gives the same graph")
            ->capture_default_str();
        app.add_option("--rmat-shares", shares_, "Probabilities a,b,c of three quadrants (rmat)")
            ->capture_default_str();
        app.add_option("--classes", g.classes, "Number of communities (sbm)")
            ->capture_default_str();
        app.add_option("--inside", g.inside, "Share of edges inside a community (sbm)")
            ->capture_default_str();
        app.add_option("--skew", g.skew, "Degree skew: 1 = even, larger = hubs (sbm)")
            ->capture_default_str();
        app.add_option("--features", options_.features,
                       "Features: planted:W (sbm; default 64), random:W, structure:W or none");
        app.add_option("--signal", options_.signal,
                       "Strength of the class in planted features (sbm)")
            ->capture_default_str();
        app.add_option("--split", split_, "Split: 60/20/20, or per-class:20/500/1000 (sbm)")
            ->capture_default_str();
        app.add_option("--rows", g.rows, "Number of rows (grid; 0 = square root of the vertices)");
        app.add_option("--columns", g.columns, "Number of columns (grid)");
        app.add_flag("--force", force_, "Replace an existing output");
    }

    int run(const Context& context) override {
        options_.output = output_;
        options_.existing = force_ ? Existing::replace : Existing::refuse;
        options_.split = graph::parse_split(split_);
        options_.provenance = context.provenance;
        read_shares();
        const graph::DatasetInfo info = graph::generate_dataset(options_, *context.progress);
        if (context.json) {
            print_json(run::dataset_json(info));
        } else if (!context.quiet) {
            print_text(key_values(dataset_lines(info)));
        }
        return 0;
    }

private:
    static std::string kinds() {
        std::string text;
        for (const graph::GeneratorName& kind : graph::generator_names()) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", kind.name, kind.summary);
        }
        return text;
    }

    void read_shares() {
        const auto pieces = split(shares_, ',');
        graph::GeneratorOptions& g = options_.generator;
        std::array<double*, 3> fields{&g.a, &g.b, &g.c};
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const auto value = pieces.size() == 3 ? parse_double(pieces[i]) : std::nullopt;
            if (!value) {
                throw usage_error(fmt::format("invalid rmat-shares: '{}'", shares_),
                                  "--rmat-shares", "give three numbers such as 0.57,0.19,0.19");
            }
            *fields[i] = *value;
        }
    }

    graph::GenerateOptions options_;
    std::string output_;
    std::string split_ = "60/20/20";
    std::string shares_ = "0.57,0.19,0.19";
    bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_generate_verb() {
    return std::make_unique<GenerateVerb>();
}

}  // namespace rudder::cli
