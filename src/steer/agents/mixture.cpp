// mixture:a+b+c: does what the member does whose shadow cost least.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "steer/agents/mixture/member.hpp"
#include "steer/agents/mixture/shares.hpp"
#include "steer/helm/guard.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 1> mixture_parameters{
    {{"agents", ParameterKind::specs, 0, 0, std::nullopt, "member agents, joined by +"}}};

bool mixture_decides(const AgentSpec& spec) {
    return std::ranges::any_of(spec.members(), &AgentSpec::decides);
}

constexpr std::size_t most_members = 6;      ///< shadows are limited, and members may want some
constexpr double worth_a_switch = 2;         ///< times the weight of the member it follows
constexpr std::uint64_t told_every = 64;     ///< steps between two lines of weights
constexpr std::uint64_t overruled_for = 64;  ///< steps before it insists
constexpr std::size_t most_lines = 12;

// A shadow has the past of its own member, the real buffer that of all it has followed: what is
// cheap in the one may not be in the other. So the real one is held against the other members.
constexpr std::uint64_t block = 16;  ///< observations over which it is
constexpr double tolerated = 0.02;   ///< rows beyond those of another member's shadow
constexpr double far_off = 0.5;      ///< is left before the block is over
constexpr double rarely = 256;       ///< observations to one alarm without reason, on average
constexpr std::uint64_t first_pause = 256;  ///< steps that a member which failed so is not followed

class Mixture final : public Agent {
public:
    Mixture(const AgentSpec& spec, const AgentFacts& facts)
        : shares_(spec.members().size()), trials_(spec.members().size()) {
        if (spec.members().empty() || spec.members().size() > most_members) {
            throw usage_error(fmt::format("invalid number of members: {}", spec.members().size()),
                              "agent 'mixture'", fmt::format("give 1 to {}", most_members));
        }
        for (const AgentSpec& member : spec.members())
            members_.emplace_back(fmt::format("m{}", members_.size()), member, facts);
    }

    [[nodiscard]] std::uint64_t interval() const noexcept override {
        std::uint64_t shortest = told_every;
        for (const Member& member : members_)
            shortest = std::min(shortest, member.interval());
        return shortest;
    }
    [[nodiscard]] Answer decide(const Observation& seen) override;
    void cancel() noexcept override {
        for (Member& member : members_)
            member.cancel();
    }
    [[nodiscard]] std::string learned() const override;

private:
    void weigh(const Observation& seen, Answer& answer);
    void choose(const Observation& seen, std::span<const double> costs, Answer& answer);
    [[nodiscard]] std::optional<std::size_t> cheaper(double real, std::span<const double> costs,
                                                     std::uint64_t step);
    void lead(std::size_t member);
    void follow(const Observation& seen, Answer& answer);
    [[nodiscard]] std::string weights_text() const;

    std::vector<Member> members_;
    Shares shares_;
    /// How a member does in the real buffer, and how the real buffer does beside its shadow.
    struct Trial {
        PairedCosts real;                ///< against this member's shadow
        std::uint64_t barred_until = 0;  ///< step
        std::uint64_t pause = first_pause;
    };
    std::vector<Trial> trials_;
    std::size_t leader_ = 0;
    std::uint64_t switches_ = 0;
    std::uint64_t told_ = 0;
    std::optional<Setting> placed_;
    std::uint64_t overruled_until_ = 0;
    struct Line {
        std::uint64_t step;
        std::string weights;
    };
    std::vector<Line> lines_;
};

Answer Mixture::decide(const Observation& seen) {
    Answer answer;
    weigh(seen, answer);
    for (Member& member : members_)
        member.ask(seen, answer);
    follow(seen, answer);
    return answer;
}

void Mixture::weigh(const Observation& seen, Answer& answer) {
    std::vector<double> costs;
    for (const Member& member : members_)
        costs.push_back(member.cost(seen));
    // All or none: a member whose shadow has not begun has cost nothing yet.
    if (std::ranges::min(costs) < 0) return;
    shares_.add(costs, static_cast<double>(seen.twin.rows.steps));
    const std::size_t before = leader_;
    choose(seen, costs, answer);
    const bool changes = leader_ != before;
    if (!changes && seen.step < told_ + told_every) return;
    told_ = seen.step;
    const std::string text = weights_text();
    answer.note += fmt::format("{}weights {}", answer.note.empty() ? "" : "; ", text);
    lines_.push_back({seen.step, text});
    // Thins out, so that lines lie ever further apart.
    if (lines_.size() > 2 * most_lines) {
        for (std::size_t i = 1; i < lines_.size(); ++i)
            lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// The member of the largest weight leads, unless the real buffer has shown that it costs more
/// there than in its shadow.
void Mixture::choose(const Observation& seen, std::span<const double> costs, Answer& answer) {
    const double real = static_cast<double>(seen.twin.rows.fetched()) /
                        static_cast<double>(std::max<std::uint64_t>(1, seen.twin.rows.steps));
    if (const auto other = cheaper(real, costs, seen.step)) {
        Trial& failed = trials_[leader_];
        failed.barred_until = seen.step + failed.pause;
        answer.note = fmt::format("{} costs more here than in its shadow: follows {} for {} steps",
                                  members_[leader_].text(), members_[*other].text(), failed.pause);
        failed.pause *= 4;
        lead(*other);
        return;
    }
    const auto weights = shares_.weights();
    std::size_t best = leader_;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (seen.step >= trials_[i].barred_until && weights[i] > weights[best]) best = i;
    }
    if (best == leader_ || weights[best] <= worth_a_switch * weights[leader_]) return;
    lead(best);
    answer.note = fmt::format("follows {} now", members_[leader_].text());
}

/// The cheapest member whose shadow fetched clearly less than the real buffer over a block.
std::optional<std::size_t> Mixture::cheaper(double real, std::span<const double> costs,
                                            std::uint64_t step) {
    for (std::size_t i = 0; i < members_.size(); ++i)
        trials_[i].real.add(real, costs[i]);
    // Only where the leader's own shadow does better, too: else the weights will tell. What is far
    // off shows after some ten observations, and each costs.
    const PairedCosts& own = trials_[leader_].real;
    if (own.count() < block && !own.worse(far_off, rarely)) return std::nullopt;
    const bool differs = own.worse(tolerated, rarely);
    std::optional<std::size_t> found;
    for (std::size_t i = 0; differs && i < members_.size(); ++i) {
        if (i == leader_ || step < trials_[i].barred_until) continue;
        const PairedCosts& one = trials_[i].real;
        if (!one.worse(tolerated, rarely)) continue;
        if (!found || one.reference() < trials_[*found].real.reference()) found = i;
    }
    // Where nobody else is cheaper either, the same is told only once.
    for (Trial& trial : trials_)
        differs ? trial.real.clear() : trial.real.begin_block();
    return found;
}

void Mixture::lead(std::size_t member) {
    leader_ = member;
    ++switches_;
    overruled_until_ = 0;
    for (Trial& trial : trials_)
        trial.real.clear();
}

/// Makes the real buffer do what the leader's shadow does.
void Mixture::follow(const Observation& seen, Answer& answer) {
    if (placed_ && seen.setting != *placed_) {
        answer.note += fmt::format("{}was overruled: {}", answer.note.empty() ? "" : "; ",
                                   text_of(seen.setting));
        overruled_until_ = seen.step + overruled_for;
    }
    placed_ = seen.setting;
    const Member& leader = members_[leader_];
    const auto changes = changes_between(seen.setting, leader.setting());
    if (!changes.empty() && seen.step >= overruled_until_) {
        answer.action = Action::set(changes, Reason::leader);
        placed_ = leader.setting();
    } else if (leader.action().kind == ActionKind::replace && seen.takes_decisions) {
        answer.action = Action::replace(Reason::leader, leader.action().fraction);
    } else {
        answer.action = Action::keep(Reason::leader);
    }
}

std::string Mixture::weights_text() const {
    std::string text;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        text += fmt::format("{}{} {:.3f}", i == 0 ? "" : ", ", members_[i].text(),
                            shares_.weights()[i]);
    }
    return text;
}

std::string Mixture::learned() const {
    std::string text;
    for (const Line& line : lines_)
        text += fmt::format("step {}: {}\n", line.step, line.weights);
    for (const Member& member : members_) {
        const std::string of_member = member.learned();
        if (!of_member.empty()) text += fmt::format("{}: {}\n", member.text(), of_member);
    }
    text += fmt::format("ends with {}, after {} switches: {}", members_[leader_].text(), switches_,
                        weights_text());
    return text;
}

}  // namespace

const AgentInfo mixture_info{
    {"mixture", "Does what that member does whose shadow costs least, by multiplicative weights.",
     mixture_parameters, SpecValue::required},
    "what its members need",
    "what its members cost, and a shadow for each",
    /*decides=*/false,
    /*fixed=*/false,
    mixture_decides};

std::unique_ptr<Agent> make_mixture(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<Mixture>(spec, facts);
}

}  // namespace rudder::steer
