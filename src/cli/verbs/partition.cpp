// rudder partition DATA OUT --parts N
#include "partition/partition.hpp"

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "partition/assignment.hpp"
#include "run/data_json.hpp"

namespace rudder::cli {

namespace {

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
        app.add_option("DATA", input_, "Data set to partition")->required();
        app.add_option("OUT", output_, "Folder to create")->required();
        app.add_option("--parts", options_.parts, "Number of parts")->required();
        app.add_option("--method", options_.method, "Method: metis, ldg, fennel, random or hash")
            ->capture_default_str();
        app.add_option(
            "--balance", balance_,
            "Balanced quantities: any of vertices,train,edges\n(default: metis all three, "
            "others vertices,train)");
        app.add_option("--slack", options_.slack, "Imbalance: how far a part may exceed the mean")
            ->capture_default_str();
        app.add_option("--passes", options_.passes, "Number of streaming passes (ldg, fennel)")
            ->capture_default_str();
        app.add_option("--order", order_, "Stream order (ldg, fennel): random or natural")
            ->capture_default_str();
        app.add_option("--assignment", assignment_,
                       "Given assignment: text with a part per line, .npy, or NPZ array 'part'");
        app.add_option("--cluster-size", options_.cluster_size,
                       "Approximate number of vertices per cluster inside a part")
            ->capture_default_str();
        app.add_option("--seed", options_.seed, "Random seed: the same seed gives the same parts")
            ->capture_default_str();
        app.add_flag("--force", force_, "Replace an existing output");
    }

    int run(const Context& context) override {
        if (!balance_.empty()) options_.balance = partition::parse_balance(balance_);
        options_.order = partition::parse_stream_order(order_);
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
        const Existing existing = force_ ? Existing::replace : Existing::refuse;
        if (assignment_.empty()) {
            return partition::partition_dataset(data, output_, options_, existing, progress);
        }
        const auto parts =
            partition::read_assignment(assignment_, data.info().vertices, options_.parts);
        return partition::partition_dataset(data, parts.span(), output_, options_, existing,
                                            progress);
    }

    partition::PartitionOptions options_;
    std::string input_;
    std::string output_;
    std::string balance_;
    std::string order_ = "random";
    std::string assignment_;
    bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_partition_verb() {
    return std::make_unique<PartitionVerb>();
}

}  // namespace rudder::cli
