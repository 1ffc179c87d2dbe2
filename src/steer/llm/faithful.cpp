#include "faithful.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"

#include "http.hpp"
#include "reply.hpp"

namespace rudder::steer {

namespace {

constexpr std::string_view role =
    R"(You decide about evictions in a distributed training of a graph neural network.

Context: the graph is partitioned over machines. Each trainer caches feature rows of remote nodes. An
eviction drops the cached nodes that were sampled least and fetches new ones in their place. The cache
starts empty, so evictions also fill it. Evictions are expensive.
)";

constexpr std::string_view rules =
    R"(Metrics:
- hitrate: per cent of sampled remote nodes that were in the cache. Up is good.
- comm_volume: remote nodes fetched per mini-batch. Down is good.
- The history says what your last decisions did to both.

Rules:
1. If hitrate is 0, you must evict.
2. Evict when hitrate fell or is low, or when comm_volume rises.
3. Do not evict when the last attempt found no candidates, when the last 2 or 3 attempts changed
   nothing, when hitrate rises on its own, or when under 5 per cent of the mini-batches remain.

History lines say, oldest first: the mini-batch, what you decided, how many nodes were evicted, and
how hitrate and comm_volume changed until the next decision.

Task: decide whether to evict now. Reply with this JSON and nothing else:
{"decision": "yes" or "no",
 "explanation": one or two sentences,
 "expected_impact": {"hitrate": "increase", "decrease" or "stagnant",
                     "comm_volume": "increase", "decrease" or "stagnant"}}

Example: {"decision": "yes", "explanation": "The hit rate is low and misses rise.",
 "expected_impact": {"hitrate": "increase", "comm_volume": "decrease"}}
)";

constexpr std::size_t longest_explanation = 400;

/// "+3 (12.5 %)".
std::string change(double before, double after) {
    const double by = after - before;
    if (before == 0) return fmt::format("{:+.4g}", by);
    return fmt::format("{:+.4g} ({:+.1f} %)", by, 100 * by / before);
}

}  // namespace

PublishedRecord PublishedRecord::of(const Observation& o) {
    PublishedRecord record;
    const std::uint64_t per_epoch = o.steps_per_epoch == 0 ? o.step + 1 : o.steps_per_epoch;
    record.epoch = o.step / per_epoch;
    record.step = o.step % per_epoch;
    record.minibatch = o.step;
    record.remaining = o.steps_left();
    record.hit_rate = std::lround(100 * rudder::steer::hit_rate(o.total));
    if (o.rows.steps != 0) {
        record.comm_volume =
            static_cast<double>(o.rows.needed - o.rows.hit) / static_cast<double>(o.rows.steps);
    }
    return record;
}

PublishedProtocol::PublishedProtocol(const AgentFacts& facts)
    : capacity_(facts.start.capacity), steps_(facts.steps), about_(facts.llm.about) {}

std::string PublishedProtocol::system_message(const Observation& first) const {
    std::string text(role);
    text += "\nFacts:\n";
    if (!about_.empty()) text += about_ + "\n";
    text += fmt::format("mini-batches in all: {}\nremote nodes: {}\ncache capacity: {} nodes\n\n",
                        steps_, first.halo, capacity_);
    return text += rules;
}

void PublishedProtocol::complete(const Observation& observation) {
    if (!pending_) return;
    const PublishedRecord now = PublishedRecord::of(observation);
    const PublishedRecord& then = pending_->record;
    const std::string since =
        fmt::format("hitrate {}, comm_volume {}",
                    change(static_cast<double>(then.hit_rate), static_cast<double>(now.hit_rate)),
                    change(then.comm_volume, now.comm_volume));
    const std::uint64_t evicted = observation.total.replacement - pending_->replaced;
    std::string line;
    switch (pending_->event) {
        case Event::yes:
            line = evicted == 0 ? "you decided eviction; skipped, there were no candidates"
                                : fmt::format(
                                      "you decided eviction; {} nodes evicted ({:.1f} % of the "
                                      "cache); impact: {}",
                                      evicted,
                                      capacity_ == 0 ? 0.0
                                                     : 100 * static_cast<double>(evicted) /
                                                           static_cast<double>(capacity_),
                                      since);
            break;
        case Event::no:
            line = "you decided no eviction; since then: " + since;
            break;
        case Event::invalid:
            line = "your reply was not the JSON that was asked for; since then: " + since;
            break;
    }
    lines_.push_back(fmt::format("mini-batch {}: {}\n", then.minibatch, line));
    if (lines_.size() > history_lines) lines_.pop_front();
    pending_.reset();
}

FittedMessage PublishedProtocol::user_message(const Observation& observation,
                                              const TokenBudget& budget) {
    complete(observation);
    const PublishedRecord r = PublishedRecord::of(observation);
    const std::string record = fmt::format(
        "Latest metrics:\nepoch: {}\nstep: {}\nminibatch_id: {}\nremaining_minibatches: {}\n"
        "hitrate: {}\ncomm_volume: {:.1f}\n\n",
        r.epoch, r.step, r.minibatch, r.remaining, r.hit_rate, r.comm_volume);
    constexpr std::string_view closing = "Reply with the JSON only.";
    const std::vector<std::string> lines(lines_.begin(), lines_.end());
    const std::uint64_t fixed = budget.count(record);
    // As published: metrics, then history, then the closing line.
    FittedMessage message =
        fitted_message(lines, "History:\n", std::string(closing),
                       {budget.tokens > fixed ? budget.tokens - fixed : 0, budget.count});
    message.text.insert(0, record);
    return message;
}

Json PublishedProtocol::schema() {
    Json impact{{"type", "object"}, {"properties", Json::object()}};
    impact["properties"]["hitrate"] = trend_schema();
    impact["properties"]["comm_volume"] = trend_schema();
    impact["required"] = {"hitrate", "comm_volume"};
    impact["additionalProperties"] = false;
    Json schema{{"type", "object"}, {"properties", Json::object()}};
    schema["properties"]["decision"] = {{"enum", {"yes", "no"}}};
    // The pattern keeps small models from writing without end. It is not checked: what real ones
    // write beyond it does no harm, since it goes nowhere but to the log.
    schema["properties"]["explanation"] = {{"type", "string"},
                                           {"maxLength", longest_explanation},
                                           {"pattern", "^[A-Za-z0-9 .,;:%()'-]{1,300}$"}};
    schema["properties"]["expected_impact"] = std::move(impact);
    schema["required"] = {"decision", "explanation", "expected_impact"};
    schema["additionalProperties"] = false;
    return schema;
}

Answer PublishedProtocol::parse(std::string_view text, const Observation& observation,
                                const std::string& where) {
    const Json object = parse_reply_object(text, schema(), where);
    const bool yes = object.at("decision") == "yes";
    const Json& impact = object.at("expected_impact");
    Answer answer;
    answer.action =
        yes ? Action::replace(Reason::model_choice) : Action::keep(Reason::model_choice);
    answer.forecast = Forecast{trend(impact.at("hitrate").get<std::string>()),
                               trend(impact.at("comm_volume").get<std::string>())};
    answer.note = printable(object.at("explanation").get<std::string>(), longest_explanation);
    pending_ = Pending{yes ? Event::yes : Event::no, PublishedRecord::of(observation),
                       observation.total.replacement};
    return answer;
}

void PublishedProtocol::failed(const Observation& observation) {
    pending_ =
        Pending{Event::invalid, PublishedRecord::of(observation), observation.total.replacement};
}

}  // namespace rudder::steer
