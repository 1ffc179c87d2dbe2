// What agents decided and what it came to, on the way to rank 0.
#include <algorithm>
#include <array>

#include "core/cpu_meter.hpp"

#include "steering.hpp"

namespace rudder::train {

namespace {

struct FlatTotals {
    std::array<std::uint64_t, 10> counts;
    std::array<double, 5> sums;
};

FlatTotals flat(const steer::HelmTotals& t) {
    return {{t.decisions, t.applied, t.kept, t.late, t.invalid, t.refused, t.undone,
             t.breaker_openings, t.judged, t.correct},
            {t.mailbox_seconds, t.waited_seconds, t.cpu_seconds, t.twin_rows, t.built_in_rows}};
}

steer::HelmTotals unflat(const FlatTotals& f) {
    steer::HelmTotals t;
    const auto& c = f.counts;
    t.decisions = c[0];
    t.applied = c[1];
    t.kept = c[2];
    t.late = c[3];
    t.invalid = c[4];
    t.refused = c[5];
    t.undone = c[6];
    t.breaker_openings = c[7];
    t.judged = c[8];
    t.correct = c[9];
    t.mailbox_seconds = f.sums[0];
    t.waited_seconds = f.sums[1];
    t.cpu_seconds = f.sums[2];
    t.twin_rows = f.sums[3];
    t.built_in_rows = f.sums[4];
    return t;
}

}  // namespace

std::vector<DecisionLine> Steering::gather(bool all) {
    std::vector<std::uint64_t> sizes;
    std::string text;
    if (helm_) {
        const CpuMeter meter(cpu_);
        for (const steer::DecisionRecord& record : helm_->take_records(all)) {
            const std::string line = steer::log_line(record);
            sizes.insert(sizes.end(), {record.step, line.size()});
            text += line;
        }
    }
    const auto all_sizes = s_.comm.gather(0, std::span<const std::uint64_t>(sizes));
    const auto texts = s_.comm.gather(0, std::span<const char>(text));
    std::vector<DecisionLine> lines;
    for (std::size_t rank = 0; rank < all_sizes.size(); ++rank) {
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < all_sizes[rank].size(); i += 2) {
            const std::size_t size = all_sizes[rank][i + 1];
            lines.push_back({all_sizes[rank][i], static_cast<std::uint32_t>(rank),
                             std::string(texts[rank].data() + at, size)});
            at += size;
        }
    }
    std::ranges::stable_sort(lines, {}, &DecisionLine::step);
    return lines;
}

AgentResult Steering::finish() {
    FlatTotals own{};
    std::string learned;
    if (helm_) {
        helm_->stop();
        steer::HelmTotals totals = helm_->totals();
        totals.cpu_seconds += static_cast<double>(cpu_.load(std::memory_order_relaxed)) * 1e-9;
        own = flat(totals);
        learned = helm_->learned();
    }
    const auto totals = s_.comm.gather(0, std::span<const FlatTotals>(&own, 1));
    const auto texts = s_.comm.gather(0, std::span<const char>(learned));
    AgentResult result;
    for (std::size_t rank = 0; rank < totals.size(); ++rank) {
        result.totals += unflat(totals[rank].front());
        if (!texts[rank].empty())
            result.learned.emplace_back(texts[rank].begin(), texts[rank].end());
    }
    return result;
}

steer::SampleTable Steering::samples() {
    const steer::SampleTable own = collector_ ? collector_->take() : steer::SampleTable{};
    const std::string text = own.samples.empty() ? std::string{} : steer::to_csv(own);
    const auto texts = s_.comm.gather(0, std::span<const char>(text));
    steer::SampleTable all;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
        if (texts[rank].empty()) continue;
        const std::string where = "rank " + std::to_string(rank);
        all.append(steer::parse_csv({texts[rank].data(), texts[rank].size()}, where), where);
    }
    return all;
}

}  // namespace rudder::train
