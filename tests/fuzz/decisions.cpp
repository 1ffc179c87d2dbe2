// Decision logs: what was read, written line by line and read again, gives the same lines.
#include "core/json.hpp"
#include "steer/log/decision_log.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

std::string lines_of(const std::vector<steer::DecisionRecord>& records) {
    std::string text;
    for (const steer::DecisionRecord& record : records)
        text += log_line(record) + "\n";
    return text;
}

}  // namespace

void check(std::string_view bytes) {
    const auto first = steer::read_decisions(put("in.jsonl", bytes));
    const std::string text = lines_of(first);
    const auto again = steer::read_decisions(put("again.jsonl", text));
    FUZZ_EXPECT(again.size() == first.size());
    FUZZ_EXPECT(lines_of(again) == text);
}

std::vector<std::string> seeds() {
    steer::DecisionRecord record;
    record.step = 32;
    record.agent = "bandit";
    record.run = "run";
    record.action = steer::Action::replace(steer::Reason::low_hit_rate, 0.5);
    std::vector<std::string> all{lines_of({record})};
    record.observation.sequence = 2;
    record.observation.setting.policy = buffer::PolicySpec::parse("window:16");
    record.observation.twin.setting = record.observation.setting;
    record.observation.built_in.setting = record.observation.setting;
    record.status = steer::DecisionStatus::refused;
    record.problem = "too soon";
    record.note = "a note";
    record.forecast = steer::Forecast{1, -1};
    record.outcome = steer::Outcome{16, 3, 4, 0.5, 0.01};
    record.alternative = steer::Action::keep(steer::Reason::rule);
    all.push_back(lines_of({record, record}));
    all.push_back(lines_of({record}) + "{\"step\":1");
    return all;
}

}  // namespace rudder::fuzz
