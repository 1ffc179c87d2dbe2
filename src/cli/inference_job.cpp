#include "inference_job.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/train_settings.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "table.hpp"

namespace rudder::cli {

namespace {

struct SetScore {
    const char* name;
    const train::Score* score;
    std::uint64_t vertices;
};

std::array<SetScore, 3> sets(const train::InferenceResult& result) {
    return {{{"train", &result.scores.train, result.scored[0]},
             {"valid", &result.scores.valid, result.scored[1]},
             {"test", &result.scores.test, result.scored[2]}}};
}

double mean_loss(const SetScore& set) {
    return set.score->loss / static_cast<double>(set.vertices);
}

}  // namespace

void InferenceJob::define_run(CLI::App& app) {
    app.add_option("RUN", run_, "Folder of a training run")->required();
}

void InferenceJob::define_options(CLI::App& app) {
    app.add_option("--data", data_, "Partitioned data set (default: that of the run)");
    bind_train(app, {train::OptionGroup::limits}, limits_, HelpListing::all);
    bind_ranks(app, ranks_, HelpListing::all);
}

std::string InferenceJob::data_path(const train::SavedNetwork& saved) const {
    namespace fs = std::filesystem;
    if (!data_.empty()) return data_;
    std::vector<fs::path> places{saved.data};
    // Runs of earlier versions keep the path as it was typed, wherever that was.
    if (places.front().is_relative()) {
        const fs::path run = fs::absolute(run_).lexically_normal();
        for (fs::path above = run; above != above.parent_path(); above = above.parent_path())
            places.push_back(above / saved.data);
    }
    const auto found = std::ranges::find_if(places, [](const fs::path& place) {
        std::error_code code;
        return fs::exists(place, code);
    });
    if (found == places.end()) {
        throw input_error("the data set of the run was moved or removed",
                          fmt::format("{}, seen from {}", saved.data, run_),
                          "give its new place with --data PATH");
    }
    return found->string();
}

int InferenceJob::run(const Context& context, const Body& body) {
    const train::InferenceOptions options{.memory = limits_.memory, .verify = limits_.verify};
    train::SavedNetwork saved = train::load_network(run_);
    if (saved.lost_best && !run::is_rank()) {
        log::lasting_warning(
            fmt::format("the weights of the best epoch (step {}) were not kept: those of step {} "
                        "are used",
                        *saved.lost_best, saved.step));
    }
    const partition::PartitionedDataset data(data_path(saved));
    train::check_same_data(saved, data);
    ranks_.arguments = context.arguments;
    ranks_.parts = data.parts();
    if (ranks_.ranks > 0) partition::check_ranks(ranks_.ranks, data.parts());
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", saved.data_checksum}};
    return run::run_ranked(ranks_, fingerprint, [&](const comm::Communicator& comm) {
        run::share_cores(comm, context.threads);
        train::share_network(comm, saved);
        return body(comm, data, saved, options);
    });
}

Json scores_json(const train::InferenceResult& result, nn::Objective objective) {
    Json accuracy;
    Json loss;
    Json vertices;
    for (const SetScore& set : sets(result)) {
        const bool counts = set.vertices > 0;
        accuracy[set.name] = counts && objective != nn::Objective::regression
                                 ? Json(set.score->share())
                                 : Json(nullptr);
        loss[set.name] = counts ? Json(mean_loss(set)) : Json(nullptr);
        vertices[set.name] = set.vertices;
    }
    return {{"accuracy", accuracy}, {"loss", loss}, {"vertices", vertices}};
}

std::string scores_text(const train::InferenceResult& result, nn::Objective objective) {
    Table table({"set", "vertices", "accuracy", "loss"});
    for (const SetScore& set : sets(result)) {
        const bool counts = set.vertices > 0;
        table.add({set.name, format_count(set.vertices),
                   counts && objective != nn::Objective::regression
                       ? fmt::format("{:.4f}", set.score->share())
                       : "-",
                   counts ? fmt::format("{:.4f}", mean_loss(set)) : "-"});
    }
    return table.text();
}

}  // namespace rudder::cli
