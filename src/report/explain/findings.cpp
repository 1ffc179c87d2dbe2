#include "findings.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "rules.hpp"

namespace rudder::report {

namespace {

constexpr std::array finding_rule_list{
    FindingRule{cause::slow_link, find_slow_link},
    FindingRule{cause::slow_host, find_slow_host},
    FindingRule{cause::skewed_parts, find_skewed_parts},
    FindingRule{cause::no_look_ahead, find_no_look_ahead},
    FindingRule{cause::no_buffer, find_no_buffer},
    FindingRule{cause::one_thread, find_one_thread},
    FindingRule{cause::shared_cores, find_shared_cores},
    FindingRule{cause::evaluation, find_evaluation},
    FindingRule{cause::tiny_batches, find_tiny_batches},
    FindingRule{cause::slow_sampling, find_slow_sampling},
    FindingRule{cause::slow_assembling, find_slow_assembling},
    FindingRule{cause::slow_policy, find_slow_policy},
    FindingRule{cause::evaluation_beside, find_evaluation_beside},
    FindingRule{cause::waiting_agent, find_waiting_agent},
    FindingRule{cause::costly_agent, find_costly_agent},
    FindingRule{cause::few_steps, find_few_steps},
    FindingRule{cause::one_host, find_one_host},
};

/// By which findings are ordered: what costs learning rather than time comes behind.
double weight_of(const Finding& one) {
    if (one.cause == cause::few_steps) return -1;
    return one.gain.value_or(-2);
}

}  // namespace

std::string_view to_string(Confidence confidence) noexcept {
    switch (confidence) {
        case Confidence::low:
            return "low";
        case Confidence::medium:
            return "medium";
        case Confidence::high:
            break;
    }
    return "high";
}

std::span<const FindingRule> finding_rules() noexcept {
    return finding_rule_list;
}

std::vector<Finding> findings_of(const ExplainedRun& run) {
    std::vector<Finding> all;
    if (!run.timed()) return all;
    for (const FindingRule& rule : finding_rule_list)
        if (auto found = rule.find(run)) all.push_back(std::move(*found));
    std::ranges::stable_sort(all, std::greater<>(), weight_of);
    return all;
}

}  // namespace rudder::report
