#include "loader_folder.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/json.hpp"
#include "rudder/core/parallel.hpp"
#include "run/run_card.hpp"
#include "train/option_table.hpp"

#include "asked_options.hpp"

namespace rudder::python {

namespace {

/// The network is the caller's.
constexpr const char* own_model = "own";

/// The options that a loader has, as TOML; those of networks are left out.
std::string config_text(const train::TrainOptions& options) {
    using Group = train::OptionGroup;
    constexpr std::array groups{Group::task,   Group::sampling, Group::seed,     Group::policy,
                                Group::buffer, Group::agent,    Group::steering, Group::guard,
                                Group::llm,    Group::storage,  Group::limits,   Group::slowness};
    std::string text = "# The options of a loader.\n";
    for (const Group group : groups) {
        for (const auto& setting : train::options_of(group)) {
            const Json value = setting.value(options);
            if (!value.is_null()) text += fmt::format("{} = {}\n", setting.name, value.dump());
        }
    }
    return text;
}

std::string link_text() {
    const char* text = std::getenv("RUDDER_LINK");
    return text == nullptr ? "" : text;
}

}  // namespace

LoaderFolder::LoaderFolder(const comm::Communicator& comm, FolderRequest request)
    : request_(std::move(request)) {
    if (request_.path.empty()) return;
    comm::do_together(comm, [&] {
        if (comm.rank() != 0) return;
        run::RunFolder::check(request_.path, request_.force ? Existing::replace : Existing::refuse);
    });
}

void LoaderFolder::begin(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                         const std::string& path, const train::TrainOptions& options,
                         const train::Loader& loader) {
    if (request_.path.empty()) return;
    options_ = options;
    options_.model = own_model;
    facts_ = {.ranks = comm.size(),
              .hosts = comm.hosts().hosts(),
              .parts = data.parts(),
              .data = path,
              .link = link_text(),
              .threads = thread_count(),
              .regression = data.info().targets.kind == graph::TargetKind::regression};
    run::RankOptions ranks;
    ranks.arguments = request_.command;
    ranks.link = facts_.link;
    Json card = run::run_facts(comm, data, path, options_, ranks,
                               {loader.steps_per_epoch(), loader.policy().text()});
    card["command"] = request_.command;
    if (options.epochs == endless_epochs) card.erase("epochs");
    comm::do_together(comm, [&] {
        if (comm.rank() != 0) return;
        run::RunFolder folder(request_.path, request_.force ? Existing::replace : Existing::refuse,
                              config_text(options));
        recorder_.emplace(std::move(folder), card, run::SinkSettings{}, run::RunPosition{},
                          facts_.regression);
        observers_.add(*recorder_);
    });
}

void LoaderFolder::finish(const train::TrainResult& result) {
    if (!recorder_) return;
    Json summary = train::summary_json(result, options_, facts_);
    summary["checkpoints"] = Json();
    summary["sinks"] = recorder_->close(result.cpu_seconds);
    recorder_->finish(summary);
    observers_ = {};  // whoever keeps the loader does not keep others from the folder
    recorder_.reset();
}

}  // namespace rudder::python
