#include "verbs.hpp"

#include <utility>

#include "cli/in_process.hpp"
#include "partition/share.hpp"
#include "report/json_lines_sink.hpp"
#include "rudder/comm/handshake.hpp"
#include "rudder/core/error.hpp"

#include "job.hpp"

namespace rudder::python {

void RunNews::step_done(const train::StepRecord& record, std::uint64_t steps) {
    const std::scoped_lock lock(mutex_);
    all_.step =
        Step{.done = record.step + 1, .steps = steps, .loss = static_cast<double>(record.loss)};
}

void RunNews::epoch_done(const train::EpochRecord& record, std::uint32_t /*epochs*/) {
    std::string line = report::epoch_line(record);
    const std::scoped_lock lock(mutex_);
    all_.epochs.push_back(std::move(line));
}

RunNews::All RunNews::take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(all_, {});
}

namespace {

/// Refuses what only a launcher can do.
void check_own(const run::RankOptions& options) {
    const auto refuse = [](const char* option, const char* remedy) {
        throw usage_error("the ranks are there already", option, remedy);
    };
    if (options.ranks != 0) refuse("ranks", "leave it out, and start the processes with torchrun");
    if (options.restarts != 0) refuse("restarts", "leave it out: torchrun has --max-restarts");
    if (options.ranks_per_host != 0) refuse("ranks-per-host", "set RUDDER_RANKS_PER_HOST instead");
    if (!options.link.empty()) refuse("link", "set RUDDER_LINK instead");
}

int run_on_job(const run::RankOptions& options, const comm::Fingerprint& fingerprint,
               const run::RankBody& body) {
    check_own(options);
    const comm::Communicator comm = Job::get().line();
    comm::verify_same(comm, fingerprint);
    partition::check_ranks(comm.size(), options.parts);
    const int code = body(comm);
    comm.barrier();
    return code;
}

}  // namespace

VerbResult run_verb(const VerbRequest& request, RunNews& news) {
    cli::VerbOutcome outcome =
        cli::run_in_process(request.verb, request.arguments, {run_on_job, &news});
    return {outcome.code, std::move(outcome.answer)};
}

}  // namespace rudder::python
