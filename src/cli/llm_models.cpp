#include "llm_models.hpp"

#include <fmt/format.h>

#include "rudder/steer/agent_spec.hpp"

namespace rudder::cli {

namespace {

/// Whether it is an `llm` that leaves the server's model open.
bool takes_model(const std::string& text) {
    const steer::AgentSpec spec = steer::AgentSpec::parse(text);
    return spec.name() == "llm" && !spec.given("model") && !spec.given("file");
}

}  // namespace

std::vector<std::string> with_models(const std::vector<std::string>& agents,
                                     const std::vector<std::string>& models) {
    if (models.empty()) return agents;
    std::vector<std::string> all;
    bool taken = false;
    const std::string name = "llm";
    for (const std::string& agent : agents) {
        if (!takes_model(agent)) {
            all.push_back(agent);
            continue;
        }
        taken = true;
        for (const std::string& model : models)
            all.push_back(fmt::format("{}:{}{}", name, model, agent.substr(name.size())));
    }
    if (taken) return all;
    for (const std::string& model : models)
        all.push_back(fmt::format("{}:{}", name, model));
    return all;
}

}  // namespace rudder::cli
