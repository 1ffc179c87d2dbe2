// What coming steps need: split, numbered, merged over the ranks, and told of.
#include <algorithm>

#include "core/cpu_meter.hpp"
#include "rudder/core/span.hpp"

#include "live_state.hpp"

namespace rudder::buffer {

void LiveBuffer::State::publish(const sample::SampledStep& step) {
    const Span span("numbering rows", step.step);
    const CpuMeter meter(bookkeeping);
    OwnStep own;
    split(step, own);
    if (!exchange) {
        Monitor::Lock lock(monitor);
        publish_alone(own);
        own_steps.emplace(step.step, std::move(own));
        return;
    }
    RankNeeds of;
    std::vector<RowKey> rows;
    own_distinct.begin();
    number(own_distinct, rows, own);
    for (const RowKey row : rows)
        of.remote.push_back(own_numbering.vertex(row));
    of.local = local_ids;
    of.repeats = remote_ids.size() - rows.size();
    if (!exchange->first()) exchange->publish(step.step, of);
    Monitor::Lock lock(monitor);
    own_steps.emplace(step.step, std::move(own));
    if (!exchange->first()) return;
    needs.front().emplace(step.step, std::move(of));
    merge();
}

void LiveBuffer::State::split(const sample::SampledStep& step, OwnStep& own) {
    remote_ids.clear();
    local_ids.clear();
    places.clear();
    std::uint32_t at = 0;
    for (const sample::Batch& batch : step.batches) {
        for (const VertexId v : batch.vertices) {
            if (local.contains(v)) {
                local_ids.push_back(v);
            } else {
                remote_ids.push_back(v);
                places.push_back(at);
            }
            ++at;
        }
    }
    own.positions.assign(at, no_position);
}

void LiveBuffer::State::number(DistinctRows& in, std::vector<RowKey>& rows, OwnStep& own) {
    positions.resize(remote_ids.size());
    in.add(remote_ids, rows, positions);
    for (std::size_t i = 0; i < places.size(); ++i)
        own.positions[places[i]] = positions[i];
    own.remote = rows.size();
}

void LiveBuffer::State::publish_alone(OwnStep& own) {
    SharedStep& step = shared.emplace_back();
    distinct.begin();
    number(distinct, step.rows, own);
    RankShare& share = step.shares.emplace_back();
    share.end = static_cast<std::uint32_t>(step.rows.size());
    local.begin();
    share.counts.local = local.add(local_ids);
    share.counts.saved =
        local_ids.size() - share.counts.local + remote_ids.size() - step.rows.size();
    announce();
}

void LiveBuffer::State::merge() {
    while (std::ranges::all_of(needs, [&](const auto& of) { return of.contains(merged); })) {
        SharedStep& step = shared.emplace_back();
        distinct.begin();
        local.begin();
        for (auto& member : needs) {
            const RankNeeds of = std::move(member.extract(merged).mapped());
            RankShare& share = step.shares.emplace_back();
            share.begin = static_cast<std::uint32_t>(step.rows.size());
            share.positions.resize(of.remote.size());
            distinct.add(of.remote, step.rows, share.positions);
            share.end = static_cast<std::uint32_t>(step.rows.size());
            share.counts.local = local.add(of.local);
            share.counts.saved = of.local.size() - share.counts.local + of.repeats +
                                 of.remote.size() - (share.end - share.begin);
        }
        announce();
    }
}

void LiveBuffer::State::announce() {
    ids->publish(merged++, shared.back().rows);
    if (!preparing) tell_pilot();  // it is told after that
    monitor.notify_all();
}

void LiveBuffer::State::tell_pilot() {
    if (options.pilot == nullptr) return;
    const CpuMeter meter(piloting);
    for (; told < merged; ++told)
        options.pilot->published(told, shared[told - next].rows);
}

}  // namespace rudder::buffer
