// rudder partition DATA OUT --parts N
#include "partition/partition.hpp"

#include <array>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "partition/assignment.hpp"
#include "partition/partitioner.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

/// What the options say, before what they mean is parsed.
struct PartitionForm : partition::PartitionOptions {
    std::string balanced;
    std::string assignment;
    bool force = false;
};

std::span<const Setting<PartitionForm>> partition_table() {
    using O = PartitionForm;
    static const std::array table{
        setting<O, &O::parts>("parts", "Number of parts", Marks::derived),
        setting<O, &O::method>("method", "Method: metis, ldg, fennel, random or hash").offering([] {
            const auto names = partition::partitioner_names();
            return std::vector<std::string_view>(names.begin(), names.end());
        }),
        setting<O, &O::balanced>(
            "balance",
            "Balanced quantities: any of vertices,train,edges\n(default: metis all three, "
            "others vertices,train)",
            Marks::derived),
        setting<O, &O::slack>("slack", "Imbalance: how far a part may exceed the mean"),
        setting<O, &O::passes>("passes", "Number of streaming passes (ldg, fennel)"),
        setting<O, &O::order>("order", "Stream order (ldg, fennel)").among([] {
            return std::vector<std::string_view>{to_string(partition::StreamOrder::random),
                                                 to_string(partition::StreamOrder::natural)};
        }),
        setting<O, &O::assignment>(
            "assignment", "Given assignment: text with a part per line, .npy, or NPZ array 'part'"),
        setting<O, &O::cluster_size>("cluster-size",
                                     "Approximate number of vertices per cluster inside a part")
            .limit(1, 4294967295.0),
        setting<O, &O::seed>("seed", "Random seed: the same seed gives the same parts"),
        setting<O, &O::force>("force", "Replace an existing output"),
    };
    return table;
}

class PartitionVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "partition"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Partition a data set: metis, ldg, fennel, random or hash";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder partition graph parts --parts 4";
    }

    void define(CLI::App& app) override {
        offer_folders(*app.add_option("DATA", input_, "Data set to partition")->required());
        offer_folders(*app.add_option("OUT", output_, "Folder to create")->required());
        bind_options(app, partition_table(), options_);
        app.get_option("--parts")->required();
    }

    int run(const Context& context) override {
        if (!options_.balanced.empty())
            options_.balance = partition::parse_balance(options_.balanced);
        options_.provenance = context.provenance;
        const graph::Dataset data(input_);
        const partition::PartitionSummary summary = divide(data, *context.progress);
        if (context.json) {
            print_json(run::partition_json(data.info(), summary));
        } else if (!context.quiet) {
            print_text(key_values(partition_lines(data.info(), summary)));
        }
        return 0;
    }

private:
    partition::PartitionSummary divide(const graph::Dataset& data, Progress& progress) const {
        const Existing existing = options_.force ? Existing::replace : Existing::refuse;
        if (options_.assignment.empty()) {
            return partition::partition_dataset(data, output_, options_, existing, progress);
        }
        const auto parts =
            partition::read_assignment(options_.assignment, data.info().vertices, options_.parts);
        return partition::partition_dataset(data, parts.span(), output_, options_, existing,
                                            progress);
    }

    PartitionForm options_;
    std::string input_;
    std::string output_;
};

}  // namespace

std::unique_ptr<Verb> make_partition_verb() {
    return std::make_unique<PartitionVerb>();
}

}  // namespace rudder::cli
