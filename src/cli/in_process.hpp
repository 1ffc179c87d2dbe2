// A verb of the program inside of another one: nothing is printed, errors are thrown.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rudder/run/ranks.hpp"
#include "rudder/train/observer.hpp"

namespace rudder::cli {

/// Has a verb's work done on ranks, as run::run_ranked.
using RankRunner =
    std::function<int(const run::RankOptions&, const comm::Fingerprint&, const run::RankBody&)>;

/// What the other program brings.
struct InProcess {
    RankRunner run_ranks;
    train::TrainObserver* observer = nullptr;  ///< also watches what is trained; may be null
};

struct VerbOutcome {
    int code = 0;        ///< as the program would end
    std::string answer;  ///< what it would print with --json; "null" on ranks that print nothing
};

/// `verb` is the name of one; the arguments are those behind it. Ends with an Error where the
/// program would end with a message.
[[nodiscard]] VerbOutcome run_in_process(const std::string& verb,
                                         std::vector<std::string> arguments, const InProcess& how);

}  // namespace rudder::cli
