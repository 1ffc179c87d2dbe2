// The answer of a run in a few numbers, from its summary or, without one, from its steps.
#pragma once

#include <optional>
#include <string>

#include "report/run_data.hpp"

namespace rudder::report {

struct Answers {
    using Number = std::optional<double>;
    Number test, valid, train, mrr, best_epoch, epochs, steps, steps_planned, ranks;
    Number seconds, step_seconds;              ///< of the clock; of a step, on average
    Number compute, rest;                      ///< shares of a step, and of what it waited for:
    Number stall, reduce, slower, agent_wait;  ///< rows, gradients, slower ranks, the agent
    Number stall_seconds;                      ///< waiting for rows, of a step, on average
    Number needed, local, hit, fetched;        ///< rows
    Number remote;                             ///< hit + demand
    Number hit_rate;                           ///< of the remote rows
    Number saved;                              ///< share of remote rows that was not fetched
    Number floor, over_floor;                  ///< rows; fetched over floor
    Number feature_bytes, peak_memory;
    Number coded_rows;  ///< bytes of feature rows over those before coding; none: not coded
    std::string agent;  ///< empty: nobody steered
    Number decisions, applied;
    Number judged;                ///< and had an effect, or came to nothing
    Number no_effect;             ///< of the judged; none: an earlier version did not count them
    Number right;                 ///< a share of `judged`
    Number excess;                ///< rows over those of the built-in rule, less 1
    Number regret, regret_error;  ///< over those of the best of the declared class
    std::string regret_against;
    std::string policy, model, data, version;
    std::string last_policy;  ///< where it is another one in the end
    std::string link;
};

[[nodiscard]] Answers answers_of(const RunData& run);

}  // namespace rudder::report
