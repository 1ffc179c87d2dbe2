#include "row_reader.hpp"

#include <algorithm>
#include <deque>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/fields_json.hpp"
#include "core/json.hpp"
#include "partition/share.hpp"
#include "rudder/comm/handshake.hpp"
#include "rudder/core/error.hpp"
#include "train/ground.hpp"
#include "train/steps/buffer_setup.hpp"
#include "train/steps/run_buffer.hpp"
#include "train/types.hpp"

#include "asked_options.hpp"
#include "job.hpp"

namespace rudder::python {

namespace {

/// Steps that have begun before they are asked for.
constexpr std::size_t most_begun = 2;

struct AnnouncedStep {
    sample::SampledStep step;
    buffer::BegunStep begun{};  ///< empty until it has begun

    [[nodiscard]] std::span<const VertexId> ids() const noexcept {
        return step.batches.front().vertices;
    }
};

train::TrainOptions options_of(const std::string& text) {
    train::TrainOptions options = read_options(text, endless_epochs);
    options.eval_every = 0;
    options.topology = train::TopologyChoice::partitioned;  // nobody draws
    options.steer.agent = "never";
    options.buffer_scope = buffer::BufferScope::rank;  // ranks do not meet in steps
    return options;
}

}  // namespace

/// Touched on the worker's thread alone. In the order of construction; what is above must outlive
/// what is below.
struct RowReader::State {
    std::optional<partition::PartitionedDataset> data;
    std::unique_ptr<train::Ground> ground;
    std::optional<train::BufferSetup> setup;
    std::unique_ptr<train::RunBuffer> buffer;
    std::deque<AnnouncedStep> announced;
    std::uint64_t next_step = 0;
    Rows counts;
    RowReaderFacts facts;
    bool closed = false;

    void make(const RowReaderRequest& request);
    [[nodiscard]] buffer::LiveBuffer* live() const { return buffer->live(); }
    void check(std::span<const VertexId> ids) const;
    void announce(std::span<const VertexId> ids);
    void begin_some();
    [[nodiscard]] std::shared_ptr<Array<float>> rows(std::span<const VertexId> ids);
    [[nodiscard]] std::shared_ptr<Array<float>> take_first();
    [[nodiscard]] std::shared_ptr<Array<float>> pull(std::span<const VertexId> ids);
    void drop_first();
    void drop_all();
    void close();
};

void RowReader::State::make(const RowReaderRequest& request) {
    Job& job = Job::get();
    const comm::Communicator comm = job.line();
    comm::verify_same(comm, {{"options", request.options}});
    const train::TrainOptions options = options_of(request.options);
    facts.path = parts_of(comm, request.path).string();
    comm::do_together(comm, [&] {
        data.emplace(facts.path);
        train::check_one_type(data->info(), facts.path);
    });
    partition::check_ranks(comm.size(), data->parts());
    ground = std::make_unique<train::Ground>(
        comm, *data, options, train::GroundUse{.assembled = store::AssembledRows::dense});
    setup.emplace(train::set_up_buffer(*ground));
    buffer = std::make_unique<train::RunBuffer>(*ground, *setup, nullptr, 0);
    facts.vertices = data->info().vertices;
    facts.width = data->info().features.width;
    facts.rank = job.rank();
    facts.size = job.size();
}

void RowReader::State::check(std::span<const VertexId> ids) const {
    if (closed) throw usage_error("the store is closed", "FeatureStore", "make another one");
    const auto wrong =
        std::ranges::find_if(ids, [this](VertexId v) { return v >= facts.vertices; });
    if (wrong == ids.end()) return;
    throw usage_error(fmt::format("invalid id: {}, of {} vertices", *wrong, facts.vertices),
                      "FeatureStore", "give ids of the partition, as n_id has them");
}

void RowReader::State::announce(std::span<const VertexId> ids) {
    check(ids);
    if (live() == nullptr) return;  // without a buffer there is nowhere to put them
    AnnouncedStep next;
    next.step.step = next_step++;
    next.step.batches.resize(std::max<std::size_t>(1, ground->parts.size()));
    next.step.batches.front().vertices.assign(ids.begin(), ids.end());
    live()->publish(next.step);
    announced.push_back(std::move(next));
    begin_some();
}

/// What a step lacks is asked for when it begins.
void RowReader::State::begin_some() {
    for (std::size_t i = 0; i < std::min(most_begun, announced.size()); ++i) {
        AnnouncedStep& step = announced[i];
        if (!step.begun) step.begun = live()->begin(step.step.step, announced.size() - 1 - i);
    }
}

std::shared_ptr<Array<float>> RowReader::State::rows(std::span<const VertexId> ids) {
    check(ids);
    if (live() == nullptr) return pull(ids);
    if (announced.empty()) {
        announce(ids);
        return take_first();
    }
    const auto found = std::ranges::find_if(
        announced, [&](const AnnouncedStep& step) { return std::ranges::equal(step.ids(), ids); });
    if (found == announced.end()) return pull(ids);
    for (auto before = found - announced.begin(); before > 0; --before)
        drop_first();
    return take_first();
}

std::shared_ptr<Array<float>> RowReader::State::take_first() {
    begin_some();
    AnnouncedStep step = std::move(announced.front());
    announced.pop_front();
    begin_some();
    auto memory = std::make_shared<Array<float>>(
        Array<float>::uninitialised(step.ids().size() * facts.width));
    std::vector<store::RowsWanted> wanted(step.step.batches.size());
    wanted.front() = {step.ids(), memory->span(), true};
    buffer::StepRows rows;
    if (!live()->assemble(std::move(step.begun), wanted, rows)) {
        throw Error(ErrorKind::failed, "the buffer was halted", "FeatureStore",
                    "make another store");
    }
    counts += rows.counts;
    live()->step_done(step.step.step);
    return memory;
}

std::shared_ptr<Array<float>> RowReader::State::pull(std::span<const VertexId> ids) {
    auto memory =
        std::make_shared<Array<float>>(Array<float>::uninitialised(ids.size() * facts.width));
    const store::RowsWanted wanted{ids, memory->span(), true};
    store::Pull pull = ground->store.pull({&wanted, 1});
    counts += pull.wait().rows;
    return memory;
}

void RowReader::State::drop_first() {
    begin_some();
    AnnouncedStep step = std::move(announced.front());
    announced.pop_front();
    counts += live()->drop(std::move(step.begun));
    live()->step_done(step.step.step);
}

void RowReader::State::drop_all() {
    while (!announced.empty())
        drop_first();
}

void RowReader::State::close() {
    if (ground == nullptr || closed) return;
    closed = true;
    if (live() != nullptr) {
        drop_all();
        live()->halt();
        counts += live()->finish();
    }
    ground->stop();
}

RowReader::RowReader(const RowReaderRequest& request, Poll poll)
    : state_(std::make_shared<State>()), worker_("the store") {
    worker_.run([state = state_, request] { state->make(request); }, poll);
    facts_ = state_->facts;
}

RowReader::~RowReader() {
    if (!worker_.here()) {
        static_cast<void>(new (std::nothrow)
                              std::shared_ptr<State>(std::move(state_)));  // as ~Worker
        return;
    }
    worker_.post([state = std::move(state_)] { state->close(); });
}

void RowReader::announce(std::vector<VertexId> ids, Poll poll) {
    worker_.run([state = state_, ids = std::move(ids)] { state->announce(ids); }, poll);
}

std::shared_ptr<Array<float>> RowReader::rows(std::vector<VertexId> ids, Poll poll) {
    const auto rows = std::make_shared<std::shared_ptr<Array<float>>>();
    worker_.run([state = state_, ids = std::move(ids), rows] { *rows = state->rows(ids); }, poll);
    return std::move(*rows);
}

std::string RowReader::stats(Poll poll) {
    const auto text = std::make_shared<std::string>();
    worker_.run(
        [state = state_, text] {
            const Json json{{"steps", state->next_step},
                            {"rows", fields_json(state->counts)},
                            {"announced", state->announced.size()},
                            {"row_bytes", state->ground->store.format().row_bytes()},
                            {"policy", state->setup->policy.text()},
                            {"capacity", state->setup->slots}};
            *text = json.dump();
        },
        poll);
    return *text;
}

void RowReader::close(Poll poll) {
    worker_.run([state = state_] { state->close(); }, poll);
}

}  // namespace rudder::python
