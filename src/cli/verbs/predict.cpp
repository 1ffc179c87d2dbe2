// rudder predict RUN OUT
#include <array>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/inference_job.hpp"
#include "core/json.hpp"
#include "core/setting.hpp"
#include "graph/tables/table_writer.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

struct PredictionSettings {
    std::optional<train::TaskKind> task{};  ///< none: what the run learned
    std::uint32_t top = 10;                 ///< targets for each vertex
    std::string type;                       ///< of vertices
};

std::span<const Setting<PredictionSettings>> prediction_options() {
    using O = PredictionSettings;
    constexpr double most_targets = 100'000;
    static const std::array table{
        setting<O, &O::task>("task", "Task (default: what the run learned)", Marks::derived)
            .among({"vertex", "link", "edge"}),
        setting<O, &O::top>("top", "Targets for each vertex, of a run with --task link")
            .limit(1, most_targets)
            .in("N"),
        setting<O, &O::type>("type",
                             "Type of vertices to write, of a graph of several (the one\n"
                             "that has labels)"),
    };
    return table;
}

class PredictVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "predict"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Write a trained network's predictions for all vertices: NPZ, CSV or Parquet";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder predict run answers.npz";
    }
    void define(CLI::App& app) override {
        job_.define_run(app);
        app.add_option("OUT", output_, "File to create, by its ending: .npz, .csv or .parquet")
            ->required();
        app.add_flag("--embeddings", embeddings_, "Also write the last hidden layer");
        bind_options(app, prediction_options(), settings_);
        job_.define_options(app);
        app.add_flag("--force", force_, "Replace an existing output");
    }

    int run(const Context& context) override {
        static_cast<void>(graph::output_format(output_));  // refuses before anything is done
        const Existing existing = force_ ? Existing::replace : Existing::refuse;
        static_cast<void>(Staging::file(output_, existing));  // so does this
        return job_.run(
            context, Labels::optional,
            [&](const comm::Communicator& comm, const partition::PartitionedDataset& data,
                const train::SavedNetwork& saved, const train::InferenceOptions& options) {
                check_task(saved);
                const train::InferenceResult result = write(comm, data, saved, options, existing);
                if (comm.rank() == 0) print(result, saved, data, options.match, context);
                return 0;
            });
    }

private:
    static bool learned_links(const train::SavedNetwork& saved) {
        return train::task_of(saved) == train::TaskKind::link;
    }
    train::InferenceResult write(const comm::Communicator& comm,
                                 const partition::PartitionedDataset& data,
                                 const train::SavedNetwork& saved,
                                 const train::InferenceOptions& options, Existing existing) const {
        if (learned_links(saved)) {
            return train::write_link_predictions(comm, data, saved,
                                                 {.inference = options,
                                                  .output = output_,
                                                  .existing = existing,
                                                  .top = settings_.top});
        }
        const train::PredictionOptions vertices{.inference = options,
                                                .output = output_,
                                                .existing = existing,
                                                .type = settings_.type,
                                                .embeddings = embeddings_};
        return train::task_of(saved) == train::TaskKind::edge
                   ? train::write_edge_predictions(comm, data, saved, vertices)
                   : train::write_predictions(comm, data, saved, vertices);
    }
    void check_task(const train::SavedNetwork& saved) const {
        constexpr std::array<std::string_view, 3> names{"vertex", "link", "edge"};
        constexpr std::array<std::string_view, 3> learned{"targets of vertices", "links",
                                                          "targets of edges"};
        const train::TaskKind task = train::task_of(saved);
        const auto index = static_cast<std::size_t>(task);
        if (settings_.task && *settings_.task != task) {
            throw usage_error(
                fmt::format("invalid task: '{}'; the run learned {}",
                            names.at(static_cast<std::size_t>(*settings_.task)), learned.at(index)),
                "--task", "leave --task out, or name a run that learned it");
        }
        if (task != train::TaskKind::vertex && embeddings_) {
            throw usage_error(fmt::format("a run with --task {} writes {}s, not vertices",
                                          names.at(index), names.at(index)),
                              "--embeddings", "leave --embeddings out");
        }
        if (task != train::TaskKind::vertex && !settings_.type.empty()) {
            throw usage_error(fmt::format("a run with --task {} writes {}s, not vertices of a type",
                                          names.at(index), names.at(index)),
                              "--type", "leave --type out");
        }
    }

    void print(const train::InferenceResult& result, const train::SavedNetwork& saved,
               const partition::PartitionedDataset& data, const train::DataMatch& match,
               const Context& context) const {
        const std::uintmax_t bytes = std::filesystem::file_size(output_);
        if (context.json) {
            Json json = learned_links(saved)
                            ? Json{{"top", settings_.top}, {"other_data", !match.same}}
                            : scores_json(result, saved, match);
            json["data"] = data.folder().path().string();
            json["class_names"] = saved.trained_on ? Json(saved.trained_on->class_names) : Json();
            json["output"] = output_;
            json["bytes"] = bytes;
            json["checkpoint"] = saved.checkpoint.string();
            json["step"] = saved.step;
            json["epoch"] = saved.epoch;
            json["seconds"] = result.seconds;
            context.answer(json);
        } else if (!context.quiet) {
            const graph::DatasetInfo& info = data.info();
            const train::TaskKind task = train::task_of(saved);
            const EdgeIndex once = info.symmetric ? (info.edges + info.self_loops) / 2 : info.edges;
            const VertexId vertices =
                task == train::TaskKind::edge ? info.vertices : result.written;
            const bool edges = task == train::TaskKind::edge;
            print_text(fmt::format("{}: {} {}, {}\n", output_,
                                   format_count(edges ? once : vertices),
                                   edges ? "edges" : "vertices", format_bytes(bytes)));
        }
    }

    InferenceJob job_;
    std::string output_;
    PredictionSettings settings_;
    bool embeddings_ = false;
    bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_predict_verb() {
    return std::make_unique<PredictVerb>();
}

}  // namespace rudder::cli
