// rudder export IN OUT
#include "graph/io/export.hpp"

#include <array>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/staging.hpp"
#include "graph/io/export_table.hpp"
#include "partition/partition_export.hpp"
#include "report/run_data.hpp"
#include "report/run_table.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

/// The tables of a run, then those of a data set.
enum class ExportedTable : std::uint8_t { steps, epochs, decisions, vertices, edges };
constexpr std::array<std::string_view, 5> exported_tables{"steps", "epochs", "decisions",
                                                          "vertices", "edges"};

struct ExportForm {
    ExportedTable table = ExportedTable::steps;
    std::string type;
    bool force = false;
};

std::span<const Setting<ExportForm>> export_table() {
    using O = ExportForm;
    static const std::array table{
        setting<O, &O::table>("table", "Table to write").among([] {
            return std::vector(exported_tables.begin(), exported_tables.end());
        }),
        setting<O, &O::type>("type", "Type of vertices or edges to write, of a graph of several"),
        setting<O, &O::force>("force", "Replace an existing output"),
    };
    return table;
}

class ExportVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "export"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Write a data set or partition as NPZ, CSV or Parquet, or a run's numbers as CSV";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder export graph graph.npz";
    }
    void define(CLI::App& app) override {
        app_ = &app;
        app.add_option("IN", input_, "Data set, partition or run")->required();
        app.add_option("OUT", output_,
                       "File to create, by its ending: .npz, .csv, .parquet; of a run, CSV")
            ->required();
        bind_options(app, export_table(), form_);
    }

    int run(const Context& context) override {
        const bool of_graph = form_.table >= ExportedTable::vertices;
        if (report::is_run_folder(input_)) {
            if (of_graph) {
                throw usage_error(fmt::format("invalid table of a run: '{}'", table_name()),
                                  "table", "use steps, epochs or decisions, or give a data set");
            }
            if (!form_.type.empty()) {
                throw usage_error("the tables of a run have no types", "--type", "leave it out");
            }
            write_table(context);
            return 0;
        }
        format_ = graph::output_format(output_);
        if (given(*app_, "--table") && !of_graph) {
            throw usage_error(fmt::format("invalid table of a data set: '{}'", table_name()),
                              "table",
                              "use --table vertices or edges, or give the folder of a run");
        }
        if (of_graph && format_ == graph::OutputFormat::npz) {
            throw usage_error("an NPZ archive holds vertices and edges", "table",
                              "leave --table out, or write .csv or .parquet");
        }
        if (!form_.type.empty() && format_ == graph::OutputFormat::npz) {
            throw usage_error("an NPZ archive holds all types", "--type",
                              "leave it out, or write .csv or .parquet");
        }
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
    [[nodiscard]] std::string_view table_name() const {
        return exported_tables[static_cast<std::size_t>(form_.table)];
    }

    void write(const graph::ExportSource& source, const Context& context) const {
        if (format_ == graph::OutputFormat::npz) {
            graph::export_npz(source, output_, form_.force, *context.progress);
        } else {
            const bool edges = form_.table == ExportedTable::edges;
            graph::export_table(
                source,
                {edges ? graph::GraphTable::edges : graph::GraphTable::vertices, form_.type},
                format_, output_, form_.force, *context.progress);
        }
        if (context.json) {
            print_json({{"output", output_}, {"bytes", std::filesystem::file_size(output_)}});
        } else if (!context.quiet) {
            print_text(fmt::format("{}: {}\n", output_,
                                   format_bytes(std::filesystem::file_size(output_))));
        }
    }

    void write_table(const Context& context) const {
        Staging staging =
            Staging::file(output_, form_.force ? Existing::replace : Existing::refuse);
        const auto which = static_cast<report::RunTable>(form_.table);
        const report::TableSize size = report::write_run_table(input_, which, staging.path());
        staging.commit();
        const auto bytes = std::filesystem::file_size(output_);
        const auto name = table_name();
        if (context.json) {
            print_json({{"output", output_},
                        {"bytes", bytes},
                        {"table", name},
                        {"lines", size.lines},
                        {"left_out", size.left_out}});
        } else if (!context.quiet) {
            print_text(fmt::format("{}: {}, {} lines of {}{}\n", output_, format_bytes(bytes),
                                   format_count(size.lines), name,
                                   size.left_out == 0 ? std::string()
                                                      : fmt::format("; {} could not be read",
                                                                    format_count(size.left_out))));
        }
    }

    CLI::App* app_ = nullptr;
    std::string input_;
    std::string output_;
    ExportForm form_;
    graph::OutputFormat format_ = graph::OutputFormat::npz;
};

}  // namespace

std::unique_ptr<Verb> make_export_verb() {
    return std::make_unique<ExportVerb>();
}

}  // namespace rudder::cli
