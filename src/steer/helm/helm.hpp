// The helm: between a buffer and an agent.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/buffer/pilot.hpp"
#include "rudder/steer/agent_spec.hpp"
#include "rudder/steer/helm_totals.hpp"
#include "rudder/steer/steering_options.hpp"
#include "steer/log/decision_log.hpp"
#include "steer/regret/class_watch.hpp"

#include "mailbox.hpp"

namespace rudder::steer {

struct HelmOptions {
    AgentSpec agent;
    /// Makes the agent instead of the registry: for agents of one's own.
    std::function<std::unique_ptr<Agent>(const AgentFacts&)> make{};
    AgentFacts facts{};
    AgentMode mode = AgentMode::async;
    double deadline = 30;            ///< seconds an answer may take
    std::uint32_t sample = 16;       ///< shadows follow one id in so many; fewer of large buffers
    std::uint64_t horizon = 16;      ///< steps after which a decision to replace is judged
    std::uint64_t set_horizon = 64;  ///< the same of a change of knobs
    double guard = 0.01;             ///< as buffer::GuardTerms::share
    bool guarded = true;             ///< false: no change is refused or taken back
    bool replies_twice = false;      ///< for tests: the agent's task gives every answer twice
    /// Decisions that are judged at once, at most: each needs two more shadows.
    std::uint32_t judged_at_once = 1;
    /// Answers wait for `send` and `order` before they take effect: other ranks follow.
    bool deferred = false;
    bool follower = false;     ///< has no agent: does what it is ordered
    bool clock_turn = true;    ///< may try things on the clock before it is given the turn
    bool watch_class = false;  ///< the declared class runs beside it, so that regret is known
    std::uint64_t row_bytes = 0;
    std::uint64_t halo = 0;
    RunSizes sizes{};
};

/// An action on its way to all buffers it is for.
struct Order {
    Action action;
    std::uint64_t effective_step = 0;
    /// Of the buffer that the agent watches: a capacity means the same share of any other.
    std::uint64_t slots = 0;
};

/// An order as it travels between ranks: plain bytes, the same on all of them.
struct PackedOrder {
    std::uint64_t effective_step = 0;
    std::uint64_t slots = 0;
    double fraction = 1;
    std::array<double, knob_count> values{};  ///< by change
    std::uint8_t kind = 0;
    std::uint8_t reason = 0;
    std::uint8_t knobs = 0;  ///< changes
    std::uint8_t text_size = 0;
    std::array<std::uint8_t, knob_count> ids{};  ///< by change
    std::array<char, 216> text{};                ///< of the policy, where one is set
};
static_assert(sizeof(PackedOrder) == 352);
/// A usage Error where an action takes more room than there is, or cannot be meant.
[[nodiscard]] PackedOrder pack(const Order& order);
/// Reads what `pack` wrote; an Error otherwise.
[[nodiscard]] Order unpack(const PackedOrder& packed);

/// Steers one buffer. It runs the shadows, makes observations, asks the agent, checks what it says,
/// applies it at its step, judges it, and writes it down.
class Helm : public buffer::BufferPilot {
public:
    explicit Helm(HelmOptions options);
    /// Ends the agent's task.
    ~Helm() override;

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override;
    [[nodiscard]] std::uint64_t horizon() const override;
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override;
    void prepare(std::uint64_t step) override;
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override;
    void after(std::uint64_t step, const Rows& accounts) override;
    [[nodiscard]] std::optional<buffer::GuardTerms> guard_terms() const override;
    void overruled(std::uint64_t step, const buffer::Overruled& what) override;
    void limited(std::uint64_t step, buffer::SlotId most) override;
    void accounted(const buffer::GuardAccount& account) override;

    /// How long a step took, and rows fetched by owner (may be empty); from the training task.
    void timed(std::uint64_t step, const Seconds& seconds,
               std::span<const std::uint64_t> rows_by_owner = {});

    // Where one agent steers several buffers. Whatever changes one of them travels as an order:
    // what the guard takes back and the built-in rule of an open breaker, too.
    /// What other buffers that this agent steers did in a step, added up; counts in observations.
    void elsewhere(const Rows& rows, const Seconds& seconds);
    /// The action that waits to be sent, if any, to take effect at `effective_step`; once.
    [[nodiscard]] std::optional<Order> send(std::uint64_t effective_step);
    /// Whether the agent wants to try something on the clock, and whether it may: one agent of a
    /// job at a time.
    [[nodiscard]] bool wants_clock() const;
    void give_clock(bool turn);
    /// What an agent elsewhere (or here, once sent) has said.
    void order(const Order& order);

    /// Records that are complete since it was asked last; `all`, after the
    /// last step: also those still being judged or waiting for their step.
    [[nodiscard]] std::vector<DecisionRecord> take_records(bool all);
    /// Copies of those whose outcome is not known yet.
    [[nodiscard]] std::vector<DecisionRecord> open_records() const;
    [[nodiscard]] HelmTotals totals() const;
    /// What the agent has to say at the end; empty: nothing.
    [[nodiscard]] std::string learned() const;
    /// What the declared class would have fetched, after the last step; empty without watch_class.
    [[nodiscard]] ClassRows class_rows();
    /// The agent is asked no more; its task ends.
    void stop();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::steer
