#include "step_frames.hpp"

#include "core/json.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::run {

namespace {

/// The knobs that are parameters of the policy.
report::PolicyWords words_of(const std::string& policy) {
    report::PolicyWords words;
    words.text = policy;
    if (policy.empty()) return words;
    steer::Setting setting;
    try {
        setting.policy = buffer::PolicySpec::parse(policy);
    } catch (const Error&) {
        words.known = false;  // a text too long to travel whole
        return words;
    }
    Json knobs = to_json(setting);
    for (const char* beside :
         {"policy", "window", "capacity", "bulk", "sample_threads", "fetch_threads"})
        knobs.erase(beside);
    const std::string text = knobs.dump();
    words.knobs = text.substr(1, text.size() - 2);
    return words;
}

/// In the order of the catalogue.
void fill(const train::StepRecord& r, std::array<double, report::metric_count>& values) {
    std::size_t next = 0;
    const auto add = [&](auto value) { values[next++] = static_cast<double>(value); };
    add(r.loss);
    const train::StepSeconds& s = r.seconds;
    for (const double seconds : {s.step, s.sample, s.fetch, s.stall, s.compute, s.reduce})
        add(seconds);
    const buffer::RowCounts& n = r.rows;
    for (const std::uint64_t rows :
         {n.needed, n.local, n.hit, n.demand, n.replacement, n.ahead, n.wasted, n.saved})
        add(rows);
    for (const std::uint64_t bytes : r.bytes)
        add(bytes);
    add(r.edges);
    for (const std::uint64_t knob :
         {r.window, r.capacity, r.bulk, r.sample_threads, r.fetch_threads})
        add(knob);
    RUDDER_CHECK(next == report::metric_count);
}

}  // namespace

std::uint32_t StepFrames::place(report::StepBatch& batch, const std::string& policy) {
    for (std::size_t i = batch.policies.size(); i-- > 0;)
        if (batch.policies[i].text == policy) return static_cast<std::uint32_t>(i);
    auto found = known_.find(policy);
    if (found == known_.end()) found = known_.emplace(policy, words_of(policy)).first;
    batch.policies.push_back(found->second);
    return static_cast<std::uint32_t>(batch.policies.size() - 1);
}

report::StepBatch StepFrames::frames(std::span<const train::StepRecord> records) {
    report::StepBatch batch;
    if (records.empty()) return batch;
    batch.owners = records.front().bytes_by_owner.size();
    batch.steps.resize(records.size());
    batch.bytes_by_owner.reserve(records.size() * batch.owners);
    for (std::size_t i = 0; i < records.size(); ++i) {
        const train::StepRecord& record = records[i];
        report::StepFrame& frame = batch.steps[i];
        frame.step = record.step;
        frame.epoch = record.epoch;
        frame.rank = record.rank;
        frame.policy = place(batch, record.policy);
        fill(record, frame.values);
        RUDDER_CHECK(record.bytes_by_owner.size() == batch.owners);
        batch.bytes_by_owner.insert(batch.bytes_by_owner.end(), record.bytes_by_owner.begin(),
                                    record.bytes_by_owner.end());
    }
    return batch;
}

std::vector<report::DecisionFrame> decision_frames(std::span<const train::DecisionLine> lines) {
    std::vector<report::DecisionFrame> frames;
    frames.reserve(lines.size());
    for (const train::DecisionLine& line : lines)
        frames.push_back({line.step, line.rank, line.text});
    return frames;
}

report::EpochFrame epoch_frame(const train::EpochRecord& epoch, bool regression) {
    const auto share = [&](const train::Score& score, bool known) -> std::optional<double> {
        if (!known || regression || score.answers == 0) return std::nullopt;
        return score.share();
    };
    const train::Scores& scores = epoch.scores;
    return {.epoch = epoch.epoch,
            .steps = epoch.steps,
            .loss = epoch.loss,
            .seconds = epoch.seconds,
            .evaluation_seconds = epoch.evaluation_seconds,
            .train = share(scores.train, true),
            .valid = share(scores.valid, scores.evaluated),
            .test = share(scores.test, scores.evaluated)};
}

}  // namespace rudder::run
