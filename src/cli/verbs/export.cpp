// rudder export IN OUT
#include "rudder/graph/io/export.hpp"

#include <fmt/format.h>

#include "rudder/cli/describe.hpp"
#include "rudder/cli/verb.hpp"
#include "rudder/core/json.hpp"
#include "rudder/core/text.hpp"
#include "rudder/partition/partition_export.hpp"

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
        if (ArrayFolder::is(input_, partition_format)) {
            const PartitionedDataset data(input_);
            write(PartitionExport(data), context);
        } else {
            const Dataset data(input_);
            write(DatasetExport(data), context);
        }
        return 0;
    }

private:
    void write(const ExportSource& source, const Context& context) const {
        export_npz(source, output_, force_, *context.progress);
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
