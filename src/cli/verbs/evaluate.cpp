// rudder evaluate RUN
#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/inference_job.hpp"
#include "core/json.hpp"

namespace rudder::cli {

namespace {

class EvaluateVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "evaluate"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Score a trained network exactly, over all neighbours of all vertices";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder evaluate run"; }
    void define(CLI::App& app) override {
        job_.define_run(app);
        job_.define_options(app);
    }

    int run(const Context& context) override {
        return job_.run(
            context, Labels::needed,
            [&](const comm::Communicator& comm, const partition::PartitionedDataset& data,
                const train::SavedNetwork& saved, const train::InferenceOptions& options) {
                const train::InferenceResult result =
                    train::run_inference(comm, data, saved, options);
                if (comm.rank() != 0) return 0;
                print(result, saved, {data, options.match, comm.size()}, context);
                return 0;
            });
    }

private:
    /// What the network was used on.
    struct Use {
        const partition::PartitionedDataset& data;
        const train::DataMatch& match;
        int ranks;
    };
    static void print(const train::InferenceResult& result, const train::SavedNetwork& saved,
                      const Use& use, const Context& context) {
        const bool links = saved.options.objective == nn::Objective::links;
        if (context.json) {
            Json json =
                links ? link_scores_json(result, use.match) : scores_json(result, saved, use.match);
            json["data"] = use.data.folder().path().string();
            json["checkpoint"] = saved.checkpoint.string();
            json["step"] = saved.step;
            json["epoch"] = saved.epoch;
            json["seconds"] = result.seconds;
            json["ranks"] = use.ranks;
            json["memory"] = result.planned_bytes;
            context.answer(json);
        } else if (!context.quiet) {
            print_text(links ? link_scores_text(result) : scores_text(result, saved));
            print_text(unknown_text(result, use.match));
            print_text(fmt::format("{}: {} steps, {:.2f} s\n", saved.checkpoint.string(),
                                   saved.step, result.seconds));
        }
    }

    InferenceJob job_;
};

}  // namespace

std::unique_ptr<Verb> make_evaluate_verb() {
    return std::make_unique<EvaluateVerb>();
}

}  // namespace rudder::cli
