// rudder export IN OUT
#include "graph/io/export.hpp"

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "partition/partition_export.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

class ExportVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "export"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Write a data set or partition as NPZ, in its original vertex ids";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder export graph graph.npz";
    }
    void define(CLI::App& app) override {
        app.add_option("IN", input_, "Data set or partition")->required();
        app.add_option("OUT", output_, "NPZ file to create")->required();
        app.add_flag("--force", force_, "Replace an existing output");
    }

    int run(const Context& context) override {
        if (graph::ArrayFolder::is(input_, partition::partition_format)) {
            const partition::PartitionedDataset data(input_);
            write(partition::PartitionExport(data), context);
        } else {
            const graph::Dataset data(input_);
            write(graph::DatasetExport(data), context);
        }
        return 0;
    }

private:
    void write(const graph::ExportSource& source, const Context& context) const {
        graph::export_npz(source, output_, force_, *context.progress);
        if (context.json) {
            print_json({{"output", output_}, {"bytes", std::filesystem::file_size(output_)}});
        } else if (!context.quiet) {
            print_text(fmt::format("{}: {}\n", output_,
                                   format_bytes(std::filesystem::file_size(output_))));
        }
    }

    std::string input_;
    std::string output_;
    bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_export_verb() {
    return std::make_unique<ExportVerb>();
}

}  // namespace rudder::cli
