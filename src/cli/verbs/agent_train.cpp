#include "rudder/cli/verb.hpp"
namespace rudder::cli {
std::unique_ptr<Verb> make_agent_train_verb() { return make_agent_collect_verb(); }
}
