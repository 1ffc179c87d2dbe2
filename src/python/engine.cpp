#include "engine.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "comm/together.hpp"
#include "core/fields_json.hpp"
#include "core/json.hpp"
#include "partition/share.hpp"
#include "rudder/comm/handshake.hpp"
#include "rudder/core/error.hpp"
#include "train/default_batch.hpp"
#include "train/link_options.hpp"
#include "train/types.hpp"

#include "asked_options.hpp"
#include "job.hpp"

namespace rudder::python {

namespace {

struct Asked {
    train::LoaderOptions options;
    bool batch = false;  ///< a batch size was given
};

Asked asked_of(const EngineRequest& request) {
    Asked asked;
    train::TrainOptions& train = asked.options.train;
    train = read_options(request.options, endless_epochs);
    train.eval_every = 0;
    const Json given = Json::parse(request.options);
    train.layers = static_cast<int>(train.fanout.size());
    // As in the program: a policy that was chosen is left alone.
    if (!given.contains("agent") && !given.contains("policy"))
        train.steer.agent = train::default_agent;
    asked.batch = given.contains("batch");
    train.floor = request.floor;
    asked.options.shuffled = request.shuffled;
    asked.options.edge_numbers = request.edge_numbers;
    if (request.role == "valid") asked.options.role = graph::Role::valid;
    if (request.role == "test") asked.options.role = graph::Role::test;
    return asked;
}

}  // namespace

/// Touched on the worker's thread alone, but for what the mutex guards.
struct Engine::State {
    std::optional<partition::PartitionedDataset> data;
    std::optional<LoaderFolder> folder;
    std::unique_ptr<train::Loader> loader;
    EngineFacts facts;
    bool closed = false;
    std::mutex mutex;
    bool asked = false;                          ///< a step was fetched that nobody has taken
    std::shared_ptr<train::LoadedStep> waiting;  ///< that step; null: there are no more

    void make(const EngineRequest& request);
    [[nodiscard]] train::Loader& open() const {
        if (loader != nullptr && !closed) return *loader;
        throw usage_error("the loader is closed", "NeighborLoader", "make another one");
    }
    void fetch() {
        {
            const std::scoped_lock lock(mutex);
            if (asked) return;
        }
        std::shared_ptr<train::LoadedStep> step = open().next();
        const std::scoped_lock lock(mutex);
        waiting = std::move(step);
        asked = true;
    }
    [[nodiscard]] std::shared_ptr<train::LoadedStep> take() {
        const std::scoped_lock lock(mutex);
        asked = false;
        return std::exchange(waiting, nullptr);
    }
    void close() {
        if (loader == nullptr || closed) return;
        closed = true;
        static_cast<void>(take());
        loader->close();
        if (folder->observer() != nullptr) folder->finish(loader->result());
    }
};

void Engine::State::make(const EngineRequest& request) {
    Job& job = Job::get();
    const comm::Communicator comm = job.line();
    comm::verify_same(comm, {{"options", request.options},
                             {"input_nodes", request.role},
                             {"shuffle", request.shuffled ? "true" : "false"},
                             {"floor", request.floor ? "true" : "false"},
                             {"edge_ids", request.edge_numbers ? "true" : "false"},
                             {"out", request.folder.path}});
    folder.emplace(comm, request.folder);
    Asked asked = asked_of(request);
    facts.path = parts_of(comm, request.path).string();
    comm::do_together(comm, [&] { data.emplace(facts.path); });
    partition::check_ranks(comm.size(), data->parts());
    train::TrainOptions& train = asked.options.train;
    if (!asked.batch) train.batch = train::default_batch(data->info(), data->summary());
    asked.options.observer = folder->observer();
    loader = std::make_unique<train::Loader>(comm, *data, asked.options);
    folder->begin(comm, *data, facts.path, train, *loader);
    facts.steps_per_epoch = loader->steps_per_epoch();
    facts.epochs = train.epochs;
    facts.parts = data->parts() / static_cast<PartId>(comm.size());
    const graph::DatasetInfo& info = data->info();
    facts.width = info.rows().width;
    facts.node_types = node_types(info);
    facts.edge_types = edge_type_names(info);
    facts.seed_type = labelled_type(info);
    facts.targets = info.targets.count;
    facts.target_kind = to_string(info.targets.kind);
    facts.links = train.task == train::TaskKind::link;
    facts.edge_numbers = request.edge_numbers;
    if (const auto typed = train::typed_links(info, train)) facts.link_type = typed->edges.type;
    if (facts.links) facts.group = train::parse_negatives(train.links.negatives).count + 1;
    facts.rank = job.rank();
    facts.size = job.size();
}

Engine::Engine(const EngineRequest& request, Poll poll)
    : state_(std::make_shared<State>()), worker_("a loader") {
    worker_.run([state = state_, request] { state->make(request); }, poll);
    facts_ = state_->facts;
}

Engine::~Engine() {
    if (!worker_.here()) {
        static_cast<void>(new (std::nothrow)
                              std::shared_ptr<State>(std::move(state_)));  // as ~Worker
        return;
    }
    worker_.post([state = state_] { state->close(); });
}

std::shared_ptr<train::LoadedStep> Engine::next(Poll poll) {
    // Whoever was called away has left a fetch in the worker's hands; this comes after it.
    worker_.run([state = state_] { state->fetch(); }, poll);
    std::shared_ptr<train::LoadedStep> step = state_->take();
    if (step != nullptr) step_ = step->sampled.step + 1;
    return step;
}

void Engine::note_loss(std::size_t part, float loss) {
    worker_.post([state = state_, part, loss] {
        if (!state->closed) state->open().note_loss(part, loss);
    });
}

void Engine::pause(Poll poll) {
    worker_.run([state = state_] { state->open().pause(); }, poll);
}

void Engine::leave_epoch() {
    worker_.post([state = state_] {
        if (!state->closed) state->open().leave_epoch();
    });
}

void Engine::skip_epoch(Poll poll) {
    const auto at = std::make_shared<std::uint64_t>(0);
    worker_.run(
        [state = state_, at] {
            static_cast<void>(state->take());
            state->open().skip_epoch();
            *at = state->loader->step();
        },
        poll);
    step_ = *at;
}

std::string Engine::stats(Poll poll) {
    const auto text = std::make_shared<std::string>();
    worker_.run(
        [state = state_, text] {
            const train::LoaderStats stats = state->loader->stats();
            Json json{{"steps", stats.steps},
                      {"rows", fields_json(stats.rows)},
                      {"bytes", fields_json(stats.bytes)},
                      {"seconds", fields_json(stats.seconds)},
                      {"edges", stats.edges},
                      {"row_bytes", stats.row_bytes},
                      {"buffer_bytes", stats.buffer_bytes},
                      {"policy_seconds", stats.policy_seconds}};
            json["policy"] = stats.knobs ? Json(stats.knobs->policy.text()) : Json(nullptr);
            json["capacity"] = stats.knobs ? Json(stats.knobs->capacity) : Json(nullptr);
            json["floor"] = stats.floor ? Json(*stats.floor) : Json(nullptr);
            *text = json.dump();
        },
        poll);
    return *text;
}

void Engine::close(Poll poll) {
    worker_.run([state = state_] { state->close(); }, poll);
}

}  // namespace rudder::python
