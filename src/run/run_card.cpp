#include "run_card.hpp"

#include <array>
#include <chrono>
#include <mutex>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "core/staging.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/version.hpp"

#include "data_json.hpp"

namespace rudder::run {

namespace {

/// The present time, such as 2026-11-15T14:12:35Z.
std::string time_text() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// The starts before this one: those that the last one knew of, and itself.
Json earlier_starts(const std::filesystem::path& file) {
    Json list = Json::array();
    std::error_code code;
    if (!std::filesystem::exists(file, code)) return list;
    try {
        const Json before = read_json(file);
        if (!before.is_object()) return list;
        if (const Json known = before.value("resumed", Json()); known.is_array()) list = known;
        Json start = Json::object();
        for (const char* key : {"version", "command", "started", "ended", "state", "error"})
            start[key] = before.value(key, Json());
        if (start["state"] == "running") start["state"] = "killed";
        list.push_back(std::move(start));
    } catch (const Error&) {
        // A card that cannot be read tells nothing.
    }
    return list;
}

}  // namespace

Json run_facts(const comm::Communicator& comm, const partition::PartitionedDataset& data,
               const std::string& path, const train::TrainOptions& options,
               const RankOptions& ranks, const RunStart& start) {
    Json command = Json::array({"rudder"});
    for (const std::string& word : typed_arguments(ranks.arguments, comm.size()))
        command.push_back(word);
    return {{"schema", 1},
            {"version", version()},
            {"command", std::move(command)},
            {"started", time_text()},
            {"host", host_name()},
            {"pid", ::getpid()},
            {"ranks", comm.size()},
            {"hosts", comm.hosts().hosts()},
            {"cores", usable_cores()},
            {"data", path},
            {"partition", partition_json(data)},
            {"model", options.model},
            {"seed", options.seed},
            {"epochs", options.epochs},
            {"steps_per_epoch", start.steps_per_epoch},
            {"policy", start.policy},
            {"agent", train::agent_of(options).text()},
            {"link", ranks.link}};
}

struct RunCard::State {
    std::filesystem::path file;
    std::mutex mutex;
    Json json;
    bool warned = false;

    void write() {
        try {
            // A folder that was removed is not made anew.
            if (!std::filesystem::exists(file.parent_path())) {
                throw input_error("the folder of the run was removed", file.parent_path().string(),
                                  "leave it alone until the run has ended");
            }
            Staging staging = Staging::file(file, Existing::replace);
            // Names need not be UTF-8.
            write_text(staging.path(),
                       json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
            staging.commit();
        } catch (const std::exception& error) {
            if (!std::exchange(warned, true)) {
                log::warning(fmt::format("cannot update run.json: {}", error.what()));
            }
        }
    }
};

RunCard::RunCard(const std::filesystem::path& folder, Json facts)
    : state_(std::make_unique<State>()) {
    state_->file = folder / "run.json";
    state_->json = std::move(facts);
    state_->json["resumed"] = earlier_starts(state_->file);
    state_->json["state"] = "running";
    state_->json["ended"] = nullptr;
    state_->json["error"] = nullptr;
    state_->write();
}

RunCard::~RunCard() = default;

void RunCard::end(std::string_view state, const std::string& error) {
    const std::scoped_lock lock(state_->mutex);
    Json& json = state_->json;
    if (json["state"] != "running") return;
    json["state"] = state;
    json["ended"] = time_text();
    if (!error.empty()) json["error"] = error;
    state_->write();
}

}  // namespace rudder::run
