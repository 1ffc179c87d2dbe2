#include "step_queue.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

StepQueue::StepQueue(const LiveBufferOptions& options, bool first, std::size_t members,
                     StepTurns& turns)
    : turns_(turns),
      local_(options.local, options.parts, options.repeats),
      apart_(options.apart),
      numbering_(first ? options.vertices : 0, first ? std::span<const VertexId>(options.facts.halo)
                                                     : std::span<const VertexId>()),
      distinct_(numbering_, members == 0 && local_.counts_once()),
      own_numbering_(members > 0 ? options.vertices : 0, {}),
      own_distinct_(own_numbering_),
      needs_(members),
      complete_(options.first_step) {}

void StepQueue::publish(const sample::SampledStep& step, HostExchange* exchange) {
    OwnStep own = spare_own();
    split(step, own);
    if (exchange == nullptr) return publish_alone(step.step, std::move(own));
    RankNeeds of;
    std::vector<RowKey> rows;
    own_distinct_.begin();
    own_distinct_.add(remote_ids_, rows, own.positions);
    own.remote = rows.size();
    for (const RowKey row : rows)
        of.remote.push_back(own_numbering_.vertex(row));
    of.local.assign(local_ids_.begin(), local_ids_.end());
    of.repeats = remote_ids_.size() - rows.size();
    if (!exchange->first()) exchange->publish(step.step, of);
    std::uint64_t complete = 0;
    {
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
    pieces_.clear();
    for (std::size_t b = 0; b < step.batches.size(); ++b)
        cut_batch(step.batches[b].vertices, b, pieces_);
    own.before.assign(pieces_.size() + 1, 0);
    parallel_chunks(pieces_.size(), 1, [&](const Chunk& chunk) {
        std::uint32_t remote = 0;
        local_.tell(pieces_[chunk.index].vertices,
                    [&](VertexId /*v*/, bool local) { remote += local ? 0U : 1U; });
        own.before[chunk.index + 1] = remote;
    });
    std::partial_sum(own.before.begin(), own.before.end(), own.before.begin());
    list_ids(own);
    if (!apart_.empty()) leave_apart(step);
}

bool StepQueue::is_apart(VertexId v) const noexcept {
    const auto after = std::ranges::upper_bound(apart_, v, {}, &LocalRange::begin);
    return after != apart_.begin() && v < (after - 1)->end;
}

void StepQueue::leave_apart(const sample::SampledStep& step) {
    const auto apart = [this](VertexId v) { return is_apart(v); };
    std::erase_if(local_ids_, apart);
    for (const sample::Batch& batch : step.batches)
        local_count_ -= static_cast<std::size_t>(std::ranges::count_if(batch.vertices, apart));
}

void StepQueue::list_ids(const OwnStep& own) {
    std::size_t all = 0;
    for (const StepPiece& piece : pieces_)
        all += piece.vertices.size();
    remote_ids_.resize(own.before.back());
    local_count_ = all - remote_ids_.size();
    const bool list_local = !needs_.empty() || !local_.counts_once();
    local_ids_.resize(list_local ? local_count_ : 0);
    std::size_t start = 0;
    starts_.clear();
    for (const StepPiece& piece : pieces_)
        starts_.push_back(std::exchange(start, start + piece.vertices.size()));
    parallel_chunks(pieces_.size(), 1, [&](const Chunk& chunk) {
        // One of the two places is right; which one cannot be foreseen, so both are written.
        std::array<VertexId, piece_vertices + 1> far{};
        std::array<VertexId, piece_vertices + 1> near{};
        std::size_t remote = 0;
        std::size_t local = 0;
        local_.tell(pieces_[chunk.index].vertices, [&](VertexId v, bool here) {
            far[remote] = v;
            near[local] = v;
            remote += here ? 0U : 1U;
            local += here ? 1U : 0U;
        });
        const std::size_t before = own.before[chunk.index];
        std::copy_n(far.begin(), remote, remote_ids_.begin() + static_cast<std::ptrdiff_t>(before));
        if (!list_local) return;
        const auto at = static_cast<std::ptrdiff_t>(starts_[chunk.index] - before);
        std::copy_n(near.begin(), local, local_ids_.begin() + at);
    });
}

void StepQueue::publish_alone(std::uint64_t number, OwnStep own) {
    SharedStep step = spare_shared();
    distinct_.begin();
    distinct_.add(remote_ids_, step.rows, own.positions);
    own.remote = step.rows.size();
    RankShare& share = step.shares.emplace_back();
    share.end = narrow<std::uint32_t>(step.rows.size(), "remote rows of a step");
    local_.begin();
    share.counts.local = local_.counts_once() ? local_count_ : local_.add(local_ids_);
    share.counts.saved = local_count_ - share.counts.local + remote_ids_.size() - step.rows.size();
    std::uint64_t complete = 0;
    {
        Monitor::Lock lock(monitor_);
        // Steps are found from the end of `shared_`: where memory runs out it must not have grown.
        own_steps_.emplace(number, std::move(own));
        shared_.push_back(std::move(step));
        complete = ++complete_;
    }
    turns_.published(complete);
}

std::uint64_t StepQueue::merge() {
    while (std::ranges::all_of(needs_, [&](const auto& of) { return of.contains(complete_); })) {
        SharedStep step;
        distinct_.begin();
        local_.begin();
        for (auto& member : needs_) {
            const RankNeeds of = std::move(member.extract(complete_).mapped());
            RankShare& share = step.shares.emplace_back();
            share.begin = static_cast<std::uint32_t>(step.rows.size());
            distinct_.add(of.remote, step.rows, share.positions);
            share.end = static_cast<std::uint32_t>(step.rows.size());
            share.counts.local = local_.add(of.local);
            share.counts.saved = of.local.size() - share.counts.local + of.repeats +
                                 of.remote.size() - (share.end - share.begin);
        }
        shared_.push_back(std::move(step));
        ++complete_;
    }
    return complete_;
}

OwnStep StepQueue::spare_own() {
    Monitor::Lock lock(monitor_);
    if (spare_own_.empty()) return {};
    OwnStep own = std::move(spare_own_.back());
    spare_own_.pop_back();
    return own;
}

SharedStep StepQueue::spare_shared() {
    Monitor::Lock lock(monitor_);
    if (spare_shared_.empty()) return {};
    SharedStep step = std::move(spare_shared_.back());
    spare_shared_.pop_back();
    step.rows.clear();
    step.shares.clear();
    return step;
}

void StepQueue::take_own(std::uint64_t step, OwnStep& out) {
    Monitor::Lock lock(monitor_);
    spare_own_.push_back(std::exchange(out, std::move(own_steps_.extract(step).mapped())));
}

std::vector<std::span<const RowKey>> StepQueue::rows_from(std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    std::vector<std::span<const RowKey>> rows;
    const std::uint64_t front = complete_ - shared_.size();
    for (std::uint64_t i = step - front; i < shared_.size(); ++i)
        rows.emplace_back(shared_[i].rows);
    return rows;
}

void StepQueue::take(SharedStep& out) {
    Monitor::Lock lock(monitor_);
    spare_shared_.push_back(std::exchange(out, std::move(shared_.front())));
    shared_.pop_front();
}

}  // namespace rudder::buffer
