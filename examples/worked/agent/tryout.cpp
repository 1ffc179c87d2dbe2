// rudder with one more agent, 'tryout': runs 'window' on a shadow buffer beside the policy in hand
// and, if it fetches fewer rows there, switches to it.
#include <array>

#include "rudder/cli/program.hpp"
#include "rudder/steer/agent_registry.hpp"

namespace {

constexpr std::array<rudder::SpecParameter, 1> parameters{
    {{"steps", rudder::ParameterKind::whole, 8, 100000, 32, "number of steps to compare"}}};

const rudder::steer::AgentInfo info{
    {.name = "tryout",
     .sentence = "Tries 'window' on a shadow buffer and takes it if it fetches fewer rows.",
     .parameters = parameters,
     .value = rudder::SpecValue::optional},
    /*needs=*/"nothing",
    /*costs=*/"a shadow buffer for a while"};

class Tryout final : public rudder::steer::Agent {
public:
    explicit Tryout(std::uint64_t steps) : steps_(steps) {}

    /// Steps between two questions.
    [[nodiscard]] std::uint64_t interval() const noexcept override { return 8; }

    /// Asked on a task of its own: training does not wait, so there is no hurry.
    [[nodiscard]] rudder::steer::Answer decide(const rudder::steer::Observation& seen) override {
        using rudder::steer::Action;
        using rudder::steer::Reason;
        if (decided_) return {.action = Action::keep(Reason::good_enough)};
        if (seen.shadows.empty()) {
            rudder::steer::Setting other = seen.setting;
            other.policy = rudder::buffer::PolicySpec::parse("window:16");
            return {.action = Action::keep(Reason::trying),
                    .shadows = {{.kind = rudder::steer::ShadowOrder::Kind::copy,
                                 .name = "window",
                                 .setting = other}}};
        }
        // Both saw the same sample of the ids, so that their difference has little noise.
        here_ += seen.twin.rows.fetched();
        there_ += seen.shadows.front().rows.fetched();
        if (seen.shadows.front().age < steps_) return {.action = Action::keep(Reason::trying)};
        decided_ = true;
        rudder::steer::Answer answer{
            .action = Action::keep(Reason::good_enough),
            .shadows = {{.kind = rudder::steer::ShadowOrder::Kind::close, .name = "window"}},
            .note = text()};
        if (there_ < here_)
            answer.action =
                Action::set({{rudder::steer::KnobId::policy, "window:16"}}, Reason::shadow_better);
        return answer;
    }

    [[nodiscard]] std::string learned() const override { return decided_ ? text() : ""; }

private:
    [[nodiscard]] std::string text() const {
        return "window fetched " + std::to_string(there_) + " rows where the run fetched " +
               std::to_string(here_);
    }

    std::uint64_t steps_;
    std::uint64_t here_ = 0;
    std::uint64_t there_ = 0;
    bool decided_ = false;
};

std::unique_ptr<rudder::steer::Agent> make(const rudder::steer::AgentSpec& spec,
                                           const rudder::steer::AgentFacts& /*facts*/) {
    return std::make_unique<Tryout>(spec.whole("steps"));
}

}  // namespace

int main(int argc, char** argv) {
    rudder::steer::register_agent(info, make);
    return rudder::cli::run_program({argv + 1, argv + argc});
}
