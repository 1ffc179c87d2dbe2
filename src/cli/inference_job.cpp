#include "inference_job.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/train_settings.hpp"
#include "core/fields_json.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "run/partition_cache.hpp"
#include "train/steps/seed_targets.hpp"
#include "train/summary.hpp"

#include "bind_options.hpp"
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

const char* scored_things(const train::SavedNetwork& saved) noexcept {
    return train::task_of(saved) == train::TaskKind::edge ? "edges" : "vertices";
}

Json matched_json(train::ClassMatch match) {
    switch (match) {
        case train::ClassMatch::by_name:
            return "name";
        case train::ClassMatch::by_number:
            return "number";
        case train::ClassMatch::none:
            break;
    }
    return nullptr;
}

const char* ways(bool symmetric) noexcept {
    return symmetric ? "both ways" : "one way";
}

/// What fits, but may not be meant.
void warn_of_other(const train::SavedNetwork& saved, const graph::DatasetInfo& info,
                   const train::DataMatch& match) {
    if (match.same) return;
    if (saved.trained_on && saved.trained_on->symmetric != info.symmetric) {
        log::warning(
            fmt::format("scores may be lower than those of the run: edges go {} in its graph, and "
                        "{} in this one",
                        ways(saved.trained_on->symmetric), ways(info.symmetric)));
    }
    const bool named = saved.trained_on && !saved.trained_on->class_names.empty();
    if (match.classes == train::ClassMatch::by_number &&
        named == train::learned_targets(train::task_of(saved), info).names.empty() &&
        saved.options.objective != nn::Objective::regression) {
        log::warning(fmt::format("classes are matched by number: {} has no names for them",
                                 named ? "this data set" : "the run"));
    }
}

}  // namespace

void InferenceJob::define_run(CLI::App& app) {
    offer_folders(
        *app.add_option("RUN", run_, "Folder of a training run, or of a checkpoint")->required());
}

void InferenceJob::define_options(CLI::App& app) {
    offer_folders(
        *app.add_option("--data", data_, "Another data set or partition (default: the run's)"));
    bind_train(app, {train::OptionGroup::limits}, limits_, HelpListing::all);
    bind_ranks(app, ranks_, HelpListing::all);
}

std::string InferenceJob::own_data(const train::SavedNetwork& saved) const {
    namespace fs = std::filesystem;
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

/// Checkpoints of earlier versions do not say what their data set was like: it may still lie there.
void InferenceJob::complete(train::SavedNetwork& saved) const {
    if (saved.trained_on) return;
    try {
        const partition::PartitionedDataset own(own_data(saved));
        if (train::data_checksum(own) == saved.data_checksum)
            saved.trained_on = train::trained_on(train::task_of(saved), own.info());
    } catch (const Error&) {
        return;  // then classes are matched by number
    }
}

/// What --data names, in parts; one that has none is divided once it fits.
std::string InferenceJob::other_data(const train::SavedNetwork& saved, Labels labels,
                                     const Context& context) const {
    if (std::string parts = run::passed_parts(); !parts.empty()) return parts;
    if (!run::is_launched_rank()) run::pass_parts_on("");
    if (!run::is_whole_dataset(data_)) return data_;
    if (run::is_rank()) {
        throw input_error("the data set is not partitioned", data_,
                          fmt::format("run 'rudder partition {0} {0}-parts' first; or start the "
                                      "ranks with --ranks N, and it is divided into N parts here",
                                      data_));
    }
    const train::DataMatch match = match_other(saved, graph::Dataset(data_).info(), data_);
    if (labels == Labels::needed) check_labels(saved, match, data_);
    const auto count = static_cast<PartId>(std::max(1, ranks_.ranks));
    return run::find_parts(data_, count, "using", *context.progress).string();
}

int InferenceJob::run(const Context& context, Labels labels, const Body& body) {
    train::InferenceOptions options{.memory = limits_.memory, .verify = limits_.verify};
    train::SavedNetwork saved = train::load_network(run_);
    if (saved.lost_best && !run::is_rank()) {
        log::lasting_warning(
            fmt::format("the weights of step {} are used: those of the best epoch (step {}) could "
                        "not be written, or were removed",
                        saved.step, *saved.lost_best));
    }
    if (!data_.empty()) complete(saved);
    const partition::PartitionedDataset data(data_.empty() ? own_data(saved)
                                                           : other_data(saved, labels, context));
    if (data_.empty()) {
        train::check_same_data(saved, data);
    } else {
        options.match = train::match_data(saved, data);
        if (labels == Labels::needed) check_labels(saved, options.match, data_);
        if (!run::is_rank()) warn_of_other(saved, data.info(), options.match);
    }
    ranks_.arguments = context.arguments;
    ranks_.parts = data.parts();
    if (ranks_.ranks > 0) partition::check_ranks(ranks_.ranks, data.parts());
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", train::data_checksum(data)}};
    return context.run_ranks(ranks_, fingerprint, [&](const comm::Communicator& comm) {
        run::share_cores(comm, context.threads);
        train::share_network(comm, saved);
        return body(comm, data, saved, options);
    });
}

Json scores_json(const train::InferenceResult& result, const train::SavedNetwork& saved,
                 const train::DataMatch& match) {
    const nn::Objective objective = saved.options.objective;
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
    return {{"accuracy", accuracy},
            {"loss", loss},
            {scored_things(saved), vertices},
            {"other_data", !match.same},
            {"classes_by", matched_json(match.classes)},
            {"unknown_classes", match.unknown},
            {"unknown_labels", result.unknown}};
}

Json link_scores_json(const train::InferenceResult& result, const train::DataMatch& match) {
    const auto ranks = train::link_ranks(result.scores);
    if (!ranks) return Json::object();
    return {
        {"mrr", fields_json(ranks->mrr)},
        {"hits", fields_json(ranks->hits)},
        {"auc", fields_json(ranks->auc)},
        {"links",
         {{"valid", result.scores.valid_links->links}, {"test", result.scores.test_links->links}}},
        {"other_data", !match.same}};
}

std::string link_scores_text(const train::InferenceResult& result) {
    Table table({"set", "links", "MRR", "hits@1", "hits@3", "hits@10", "AUC"});
    const auto add = [&](const char* set, const std::optional<train::LinkScore>& score) {
        if (!score) return;
        std::vector<std::string> cells{set, format_count(score->links)};
        for (const double value :
             {score->mrr, score->hits_1, score->hits_3, score->hits_10, score->auc})
            cells.push_back(score->links == 0 ? "-" : fmt::format("{:.4f}", value));
        table.add(cells);
    };
    add("valid", result.scores.valid_links);
    add("test", result.scores.test_links);
    return table.text();
}

std::string scores_text(const train::InferenceResult& result, const train::SavedNetwork& saved) {
    const nn::Objective objective = saved.options.objective;
    Table table({"set", scored_things(saved), "accuracy", "loss"});
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

std::string unknown_text(const train::InferenceResult& result, const train::DataMatch& match) {
    if (match.unknown.empty()) return "";
    return fmt::format("not scored: {} label{} of {} class{} that the network does not know ({})\n",
                       format_count(result.unknown), result.unknown == 1 ? "" : "s",
                       match.unknown.size(), match.unknown.size() == 1 ? "" : "es",
                       train::some_of(match.unknown));
}

}  // namespace rudder::cli
