#include "step_queue.hpp"

#include <algorithm>

namespace rudder::buffer {

StepQueue::StepQueue(const LiveBufferOptions& options, bool first, std::size_t members,
                     StepTurns& turns)
    : turns_(turns),
      local_(options.local, options.parts),
      numbering_(first ? options.vertices : 0, first ? std::span<const VertexId>(options.facts.halo)
                                                     : std::span<const VertexId>()),
      distinct_(numbering_, members == 0 && local_.counts_once()),
      own_numbering_(members > 0 ? options.vertices : 0, {}),
      own_distinct_(own_numbering_),
      needs_(members),
      complete_(options.first_step) {}

void StepQueue::publish(const sample::SampledStep& step, HostExchange* exchange) {
    OwnStep own;
    split(step, own);
    std::uint64_t complete = 0;
    if (exchange == nullptr) {
        Monitor::Lock lock(monitor_);
        publish_alone(own);
        own_steps_.emplace(step.step, std::move(own));
        complete = complete_;
    } else {
        RankNeeds of;
        std::vector<RowKey> rows;
        own_distinct_.begin();
        number(own_distinct_, rows, own);
        for (const RowKey row : rows)
            of.remote.push_back(own_numbering_.vertex(row));
        of.local = local_ids_;
        of.repeats = remote_ids_.size() - rows.size();
        if (!exchange->first()) exchange->publish(step.step, of);
        Monitor::Lock lock(monitor_);
        own_steps_.emplace(step.step, std::move(own));
        if (!exchange->first()) return;
        needs_.front().emplace(step.step, std::move(of));
        complete = merge();
    }
    turns_.published(complete);
}

void StepQueue::add(int member, std::uint64_t step, RankNeeds needs) {
    std::uint64_t complete = 0;
    {
        Monitor::Lock lock(monitor_);
        needs_[static_cast<std::size_t>(member)].emplace(step, std::move(needs));
        complete = merge();
    }
    turns_.published(complete);
}

void StepQueue::split(const sample::SampledStep& step, OwnStep& own) {
    remote_ids_.clear();
    local_ids_.clear();
    places_.clear();
    std::uint32_t at = 0;
    for (const sample::Batch& batch : step.batches) {
        for (const VertexId v : batch.vertices) {
            if (local_.contains(v)) {
                local_ids_.push_back(v);
            } else {
                remote_ids_.push_back(v);
                places_.push_back(at);
            }
            ++at;
        }
    }
    own.positions.assign(at, no_position);
}

void StepQueue::number(DistinctRows& in, std::vector<RowKey>& rows, OwnStep& own) {
    positions_.resize(remote_ids_.size());
    in.add(remote_ids_, rows, positions_);
    for (std::size_t i = 0; i < places_.size(); ++i)
        own.positions[places_[i]] = positions_[i];
    own.remote = rows.size();
}

void StepQueue::publish_alone(OwnStep& own) {
    SharedStep& step = shared_.emplace_back();
    distinct_.begin();
    number(distinct_, step.rows, own);
    RankShare& share = step.shares.emplace_back();
    share.end = static_cast<std::uint32_t>(step.rows.size());
    local_.begin();
    share.counts.local = local_.add(local_ids_);
    share.counts.saved =
        local_ids_.size() - share.counts.local + remote_ids_.size() - step.rows.size();
    ++complete_;
}

std::uint64_t StepQueue::merge() {
    while (std::ranges::all_of(needs_, [&](const auto& of) { return of.contains(complete_); })) {
        SharedStep& step = shared_.emplace_back();
        distinct_.begin();
        local_.begin();
        for (auto& member : needs_) {
            const RankNeeds of = std::move(member.extract(complete_).mapped());
            RankShare& share = step.shares.emplace_back();
            share.begin = static_cast<std::uint32_t>(step.rows.size());
            share.positions.resize(of.remote.size());
            distinct_.add(of.remote, step.rows, share.positions);
            share.end = static_cast<std::uint32_t>(step.rows.size());
            share.counts.local = local_.add(of.local);
            share.counts.saved = of.local.size() - share.counts.local + of.repeats +
                                 of.remote.size() - (share.end - share.begin);
        }
        ++complete_;
    }
    return complete_;
}

OwnStep StepQueue::take_own(std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    return std::move(own_steps_.extract(step).mapped());
}

std::vector<std::span<const RowKey>> StepQueue::rows_from(std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    std::vector<std::span<const RowKey>> rows;
    const std::uint64_t front = complete_ - shared_.size();
    for (std::uint64_t i = step - front; i < shared_.size(); ++i)
        rows.emplace_back(shared_[i].rows);
    return rows;
}

SharedStep StepQueue::take() {
    Monitor::Lock lock(monitor_);
    SharedStep step = std::move(shared_.front());
    shared_.pop_front();
    return step;
}

}  // namespace rudder::buffer
