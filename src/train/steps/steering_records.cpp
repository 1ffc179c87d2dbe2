// What agents decided and what it came to, on the way to rank 0.
#include <algorithm>
#include <iterator>

#include "core/cpu_meter.hpp"
#include "core/packed.hpp"

#include "steering.hpp"

namespace rudder::train {

namespace {

/// What all ranks have, on rank 0, by rank; elsewhere nothing.
template <class T>
std::vector<T> gather_records(const comm::Communicator& comm, const T& own) {
    std::vector<T> all;
    for (const auto& bytes : comm.gather(0, std::span<const std::byte>(packed(own))))
        all.push_back(unpacked<T>(bytes));
    return all;
}

}  // namespace

std::vector<steer::DecisionRecord> Steering::gather(bool all) {
    std::vector<steer::DecisionRecord> own;
    if (helm_) {
        const CpuMeter meter(cpu_);
        own = helm_->take_records(all);
        for (steer::DecisionRecord& record : own)
            record.observation.history.clear();  // the records before
    }
    std::vector<steer::DecisionRecord> records;
    for (auto& of_rank : gather_records(ground_.comm, own))
        std::ranges::move(of_rank, std::back_inserter(records));
    std::ranges::stable_sort(records, {}, &steer::DecisionRecord::step);
    return records;
}

std::vector<steer::PromptLine> Steering::gather_prompts(bool all) {
    const auto& collect = ground_.options.steer.collect;
    if (!collect || collect->purpose != steer::CollectFor::llm) return {};
    std::vector<steer::PromptLine> lines;
    const auto own = collector_ ? collector_->take_prompts(all) : std::vector<steer::PromptLine>{};
    for (auto& of_rank : gather_records(ground_.comm, own))
        std::ranges::move(of_rank, std::back_inserter(lines));
    return lines;
}

Steering::Standing Steering::standing() {
    Standing all;
    steer::HelmTotals own;
    std::vector<steer::DecisionRecord> open;
    if (helm_) {
        own = helm_->totals();
        own.cpu_seconds += static_cast<double>(cpu_.load(std::memory_order_relaxed)) * 1e-9;
        open = helm_->open_records();
        for (steer::DecisionRecord& record : open)
            record.observation.history.clear();  // the records before
    }
    for (const steer::HelmTotals& totals : gather_records(ground_.comm, own))
        all.totals += totals;
    for (auto& of_rank : gather_records(ground_.comm, open))
        std::ranges::move(of_rank, std::back_inserter(all.open));
    std::ranges::stable_sort(all.open, {}, &steer::DecisionRecord::step);
    return all;
}

AgentResult Steering::finish() {
    steer::HelmTotals own;
    steer::ClassRows rivals;
    std::string learned;
    if (helm_) {
        helm_->stop();
        rivals = helm_->class_rows();
        own = helm_->totals();
        own.cpu_seconds += static_cast<double>(cpu_.load(std::memory_order_relaxed)) * 1e-9;
        learned = helm_->learned();
    }
    AgentResult result;
    for (const steer::HelmTotals& totals : gather_records(ground_.comm, own))
        result.totals += totals;
    steer::ClassRows beside;
    for (const steer::ClassRows& rows : gather_records(ground_.comm, rivals))
        beside += rows;
    result.regret = steer::regret_of(beside);
    for (std::string& text : gather_records(ground_.comm, learned))
        if (!text.empty()) result.learned.push_back(std::move(text));
    return result;
}

steer::SampleTable Steering::samples() {
    steer::SampleTable all;
    const auto tables = gather_records(
        ground_.comm, collector_ ? collector_->take_samples() : steer::SampleTable{});
    for (std::size_t rank = 0; rank < tables.size(); ++rank)
        if (!tables[rank].samples.empty()) all.append(tables[rank], "rank " + std::to_string(rank));
    return all;
}

}  // namespace rudder::train
