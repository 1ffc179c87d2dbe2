// rudder generate KIND OUT
#include "graph/generate/generate.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "graph/generate/stand_ins.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

/// What the options say, before what they mean is parsed.
struct GenerateForm : graph::GeneratorOptions {
    std::string shares = "0.57,0.19,0.19";
    std::string features;
    double signal = graph::GenerateOptions{}.signal;
    std::string split;
    double scale = 1;
    bool force = false;
};

std::span<const Setting<GenerateForm>> generate_table() {
    using O = GenerateForm;
    static const std::array table{
        setting<O, &O::vertices>("vertices",
                                 "Number of vertices (rmat: rounded up to a power of two)")
            .limit(1, static_cast<double>(graph::max_generated_vertices)),
        setting<O, &O::degree>("degree",
                               "Edges drawn per vertex (default: rmat 16, sbm, typed 10, ba 4)",
                               Marks::derived),
        setting<O, &O::seed>("seed", "Random seed: the same seed gives the same graph"),
        setting<O, &O::shares>("rmat-shares", "Probabilities a,b,c of three quadrants (rmat)"),
        setting<O, &O::classes>("classes", "Number of classes (sbm, typed)"),
        setting<O, &O::communities>("communities", "Number of communities (sbm; 0 = as classes)",
                                    Marks::derived),
        setting<O, &O::inside>("inside", "Share of edges inside a community (sbm, typed)"),
        setting<O, &O::skew>("skew", "Degree skew: 1 = even, larger = hubs (sbm, typed)"),
        setting<O, &O::features>(
            "features", "Features: planted:W (sbm, typed: 64), random:W, structure:W or none")
            .offering([] {
                return std::vector<std::string_view>{"planted:", "random:", "structure:", "none"};
            }),
        setting<O, &O::signal>("signal", "Strength of the class in planted features (sbm, typed)"),
        setting<O, &O::split>("split",
                              "Split: 60/20/20 (sbm, typed; default), or per-class:20/500/1000"),
        setting<O, &O::scale>("scale", "Share of the published size (like:NAME), up to 1")
            .limit(0, 1),
        setting<O, &O::rows>("rows", "Number of rows (grid; 0 = square root of the vertices)",
                             Marks::derived)
            .limit(0, static_cast<double>(graph::max_generated_vertices)),
        setting<O, &O::columns>("columns", "Number of columns (grid)", Marks::derived)
            .limit(0, static_cast<double>(graph::max_generated_vertices)),
        setting<O, &O::force>("force", "Replace an existing output"),
    };
    return table;
}

/// What the published data set says of a stand-in.
constexpr std::array<std::string_view, 9> shape_options{"vertices", "degree",      "rmat-shares",
                                                        "classes",  "communities", "inside",
                                                        "skew",     "rows",        "columns"};

class GenerateVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "generate"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Generate a graph: rmat, sbm (planted communities), ba, grid, typed or like:NAME";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder generate sbm graph --vertices 20000 --classes 8";
    }

    void define(CLI::App& app) override {
        CLI::Option* kind = app.add_option("KIND", options_.kind, kinds())->required();
        std::vector<std::string_view> names;
        for (const graph::GeneratorName& each : graph::generator_names())
            names.push_back(each.name);
        for (const std::string& each : graph::stand_in_kinds())
            names.push_back(each);
        offer(*kind, names);
        offer_folders(*app.add_option("OUT", output_, "Folder to create")->required());
        bind_options(app, generate_table(), form_);
    }

    void settle() override {
        // A stand-in's shape is published; others are as large as they are told to be.
        const bool like = graph::is_stand_in(options_.kind);
        for (const Setting<GenerateForm>& each : generate_table()) {
            const bool shapes = std::ranges::find(shape_options, each.name) != shape_options.end();
            if (!(like ? shapes : each.name == "scale")) continue;
            // A configuration that was written beside a graph holds all of them.
            if (each.value(form_) == each.value(GenerateForm{})) continue;
            const std::string option = fmt::format("--{}", each.name);
            throw usage_error(fmt::format("{} has no meaning for '{}'", option, options_.kind),
                              "generate",
                              like ? "leave it out; --scale sets the size of a stand-in"
                                   : "leave it out, or generate like:NAME");
        }
    }

    int run(const Context& context) override {
        options_.output = output_;
        options_.existing = form_.force ? Existing::replace : Existing::refuse;
        options_.features = form_.features;
        options_.signal = form_.signal;
        if (!form_.split.empty()) options_.split = graph::parse_split(form_.split);
        options_.scale = form_.scale;
        options_.provenance = context.provenance;
        read_shares();
        options_.generator = static_cast<const graph::GeneratorOptions&>(form_);
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
        text += "\nlike:NAME: stand-in for a published data set\n(";
        for (const graph::StandIn& each : graph::stand_ins())
            text += fmt::format("{}{}", &each == graph::stand_ins().data() ? "" : ", ", each.name);
        return text + ")";
    }

    void read_shares() {
        const auto pieces = split(form_.shares, ',');
        std::array<double*, 3> fields{&form_.a, &form_.b, &form_.c};
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const auto value = pieces.size() == 3 ? parse_double(pieces[i]) : std::nullopt;
            if (!value) {
                throw usage_error(fmt::format("invalid rmat-shares: '{}'", form_.shares),
                                  "--rmat-shares", "give three numbers such as 0.57,0.19,0.19");
            }
            *fields[i] = *value;
        }
    }

    graph::GenerateOptions options_;
    std::string output_;
    GenerateForm form_;
};

}  // namespace

std::unique_ptr<Verb> make_generate_verb() {
    return std::make_unique<GenerateVerb>();
}

}  // namespace rudder::cli
