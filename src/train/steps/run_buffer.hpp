// The buffer of a run, the trace of what it is asked for, and the rule for its window.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "buffer/trace_writer.hpp"
#include "steer/helm/rule_pilot.hpp"

#include "buffer_setup.hpp"
#include "pipeline.hpp"
#include "record_book.hpp"
#include "steering.hpp"

namespace rudder::train {

/// What a trace says of this run, on ranks that write one.
[[nodiscard]] std::optional<buffer::TraceHeader> trace_header(const Ground& ground,
                                                              const BufferSetup& setup);

class RunBuffer {
public:
    /// Collective: a buffer for the steps from `first` on, if the run has one. `steering` is null
    /// where nobody steers; then the window may have a rule of its own.
    RunBuffer(Ground& ground, const BufferSetup& setup, Steering* steering, std::uint64_t first);

    /// Null if every row is pulled.
    [[nodiscard]] buffer::LiveBuffer* live() noexcept { return live_.get(); }
    /// After a step: the window follows the times. Only what is fetched when depends on it.
    void adapt_window(const Seconds& seconds, Pipeline& pipeline);
    /// Ranks that share a buffer know nothing of its knobs: the first one's are theirs.
    void share_knobs(std::span<StepRecord> records) const;

    /// Memory is short: a quarter of its room is given back. Bytes of rows it had and has; nothing
    /// where it has little left, or belongs to another rank.
    struct Cut {
        std::uint64_t before;
        std::uint64_t after;
    };
    [[nodiscard]] std::optional<Cut> give_back();
    /// What was recorded so far is on disk.
    void flush_trace();
    /// The trace ends after so many steps.
    void finish_trace(std::uint64_t steps);
    /// CPU time of its bookkeeping so far.
    [[nodiscard]] double policy_seconds() const;
    /// The same of who steers it.
    [[nodiscard]] double pilot_seconds() const;
    /// Adds what the buffer came to.
    void close(ClosingFigures& figures) const;
    /// Whether the fewest rows possible are known at the end.
    [[nodiscard]] bool has_floor() const noexcept {
        return live_ != nullptr && watches(ground_.options);
    }

private:
    [[nodiscard]] static bool watches(const TrainOptions& options) {
        return options.floor || !options.trace.empty();
    }
    [[nodiscard]] std::unique_ptr<buffer::TraceWriter> make_trace(std::uint64_t first) const;
    [[nodiscard]] std::unique_ptr<steer::RulePilot> make_window_pilot() const;
    [[nodiscard]] std::unique_ptr<buffer::LiveBuffer> make_live(std::uint64_t first);

    Ground& ground_;
    const BufferSetup& setup_;
    Steering* steering_;
    std::unique_ptr<buffer::TraceWriter> trace_;  ///< on the first rank of each buffer, if wanted
    std::unique_ptr<steer::RulePilot> window_pilot_;  ///< null where the window is set
    std::unique_ptr<buffer::LiveBuffer> live_;
    buffer::SlotId room_;  ///< slots that it may use
};

}  // namespace rudder::train
