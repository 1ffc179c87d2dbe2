// Whoever steers a buffer: sees its steps, and changes it between them.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/buffer/id_buffer.hpp"

namespace rudder::buffer {

/// What may be changed of a buffer between two steps. What it holds stays as far as it fits.
class BufferControl {
public:
    virtual ~BufferControl() = default;
    [[nodiscard]] virtual const PolicySpec& policy() const = 0;
    [[nodiscard]] virtual SlotId capacity() const = 0;
    [[nodiscard]] virtual SlotId slots() const = 0;  ///< the most the capacity may be
    /// Another policy or other parameters. A usage Error where the policy lacks facts it needs;
    /// then nothing has changed.
    virtual void set_policy(const PolicySpec& spec) = 0;
    /// At most slots().
    virtual void set_capacity(SlotId rows) = 0;
    /// As the step to come finds it.
    [[nodiscard]] virtual const IdBuffer& buffer() const = 0;

protected:
    BufferControl() = default;
    BufferControl(const BufferControl&) = default;
    BufferControl& operator=(const BufferControl&) = default;
};

/// Steers one buffer, live or in replay. Called on the first rank that shares the buffer, one call
/// at a time, for every step in turn: `published` some steps early, then `prepare`, `before` and
/// `after`. A run may end after any call. What a pilot throws ends the run.
class BufferPilot {
public:
    virtual ~BufferPilot() = default;
    /// What the policies it runs beside the real one need to know from the start; before any step.
    virtual void start(const PolicyFacts& facts, const BufferControl& control) = 0;
    /// How many steps after the one to come it wants to see published, at least; asked before
    /// every step. More may be.
    [[nodiscard]] virtual std::uint64_t horizon() const { return 0; }
    /// The rows of a step that is coming, in order of steps. Valid until its `after`.
    virtual void published(std::uint64_t step, std::span<const RowKey> rows) = 0;
    /// It is the step's turn. No lock is held: the only call that may wait, and the only one that
    /// must look neither at the real buffer nor at its facts, which may change meanwhile.
    virtual void prepare(std::uint64_t /*step*/) {}
    /// Changes what is to change before the step; the decision is for this step alone. Never waits.
    virtual Decision before(std::uint64_t step, BufferControl& control) = 0;
    /// The step was taken; the accounts are the buffer's, this step included. Never waits.
    virtual void after(std::uint64_t step, const RowAccounts& accounts) = 0;
};

}  // namespace rudder::buffer
