// Policies of one's own, known by name like those of the program.
#pragma once

#include <memory>

#include "rudder/buffer/policy.hpp"

namespace rudder::buffer {

/// Makes one policy of a given spec. A usage Error where the facts lack what it needs.
using MakePolicy = std::unique_ptr<Policy>(const PolicySpec& spec, const PolicyFacts& facts,
                                           Residents& residents);

/// Makes a policy known: from then on `--policy`, replays, shadows and agents find it by its name.
/// To be called before anything else runs, as in the first lines of main, and on every rank; not
/// safe from several threads. What `info` shows must live as long as the program. A name that is
/// taken is an InternalError.
void register_policy(const PolicyInfo& info, MakePolicy* make);

}  // namespace rudder::buffer
