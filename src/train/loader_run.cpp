#include "loader_run.hpp"

#include <utility>

#include "core/system.hpp"

namespace rudder::train {

LoaderRun::LoaderRun(const Ground& ground, const BufferSetup& setup, RunBuffer& buffer,
                     Steering* steering, TrainObserver& observer)
    : ground_(ground),
      setup_(setup),
      buffer_(buffer),
      steering_(steering),
      observer_(observer),
      records_(ground.comm, observer, buffer, steering),
      cpu_before_(process_cpu_seconds()) {}

void LoaderRun::add(StepRecord record) {
    const std::uint32_t epoch = record.epoch;
    const float loss = record.loss;
    if (result_.steps == 0) result_.first_loss = loss;
    result_.last_loss = loss;
    epoch_loss_ += static_cast<double>(loss);
    if (ground_.comm.rank() == 0) observer_.step_done(record, ground_.steps());
    records_.add(std::move(record));
    result_.steps += 1;
    const bool end = result_.steps % ground_.schedule.steps_per_epoch() == 0;
    if (records_.full() || end) records_.flush(counts_);
    if (end) end_epoch(epoch);
}

void LoaderRun::end_epoch(std::uint32_t epoch) {
    const std::uint64_t steps = ground_.schedule.steps_per_epoch();
    const EpochRecord record{.epoch = epoch,
                             .steps = steps,
                             .loss = std::exchange(epoch_loss_, 0) / static_cast<double>(steps),
                             .seconds = epoch_watch_.lap()};
    result_.epochs.push_back(record);
    if (ground_.comm.rank() == 0) observer_.epoch_done(record, ground_.options.epochs);
}

void LoaderRun::end_steps() {
    records_.flush(counts_);
    if (steering_ == nullptr) return;
    const auto last = steering_->gather(true);
    if (!last.empty()) observer_.decisions(last);
    const auto prompts = steering_->gather_prompts(true);
    if (!prompts.empty()) observer_.prompts(prompts);
    result_.agent = steering_->finish();
}

TrainResult LoaderRun::close(const Rows& unused, std::uint64_t in_flight) {
    ClosingFigures own{.unused = unused};
    buffer_.close(own);
    own.in_flight_bytes = in_flight;
    own.cpu_seconds = process_cpu_seconds() - cpu_before_;
    own.peak_rss = peak_resident_bytes();
    own.coding = ground_.coders.totals();
    const FinalReport report = close_accounts(ground_.comm, ground_.before, own);
    const ClosingFigures& all = report.figures;
    TrainResult result = std::move(result_);
    result.steps_per_epoch = ground_.schedule.steps_per_epoch();
    result.row_bytes = ground_.store.format().row_bytes();
    result.sparse = ground_.store.format().sparse() != nullptr;
    result.topology = ground_.source->name();
    result.seconds = whole_.passed();
    if (ground_.comm.rank() != 0) return result;
    result.rows = counts_.rows;
    result.rows += all.unused;
    result.step_seconds = counts_.seconds;
    result.edges = counts_.edges;
    result.cpu_seconds = all.cpu_seconds;
    result.received_total = report.accounts.received_total;
    result.sent_total = report.accounts.sent_total;
    result.bytes = report.accounts.received;
    if (ground_.coders.used()) result.coding = all.coding;
    result.peak_rss = all.peak_rss;
    result.in_flight_bytes = all.in_flight_bytes;
    result.buffer_bytes = all.buffer_bytes;
    result.capacity = all.capacity;
    result.policy = setup_.policy;
    if (buffer_.has_floor()) result.floor = all.floor;
    result.policy_seconds = all.policy_seconds;
    result.pilot_seconds = all.pilot_seconds;
    return result;
}

}  // namespace rudder::train
