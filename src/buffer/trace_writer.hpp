// Records a host's trace, step by step, in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "rudder/buffer/trace.hpp"

namespace rudder::buffer {

/// Is shown steps, one after the other.
using StepSink = std::function<void(std::span<const VertexId> ids)>;

/// Writes TRACE/host-NNNNN. It is built under a hidden name and appears when it is finished: a run
/// that ends before leaves no trace that could be taken for a whole one, but what `flush` put down
/// can be gone on with. Tasks may call side by side.
class TraceWriter {
public:
    /// `halo` is ascending; `halo_degree` and `inclusion` are by halo vertex and may be empty.
    /// Begins a trace, in the place of an existing one of this host; or, with `after`, goes on
    /// after the first `after` steps of that one and drops the others.
    TraceWriter(const std::filesystem::path& trace, const TraceHeader& header,
                std::span<const VertexId> halo, std::span<const std::uint32_t> halo_degree,
                std::span<const double> inclusion, std::uint64_t after = 0);
    ~TraceWriter();

    /// Refuses, touching nothing, what could not be gone on with after so many steps: no trace is a
    /// usage Error, one that is shorter, damaged or of another run an input Error.
    static void expect(const std::filesystem::path& trace, const TraceHeader& header,
                       std::uint64_t after);

    /// The next step: its distinct remote ids, in order of first appearance.
    void step(std::span<const VertexId> ids);
    /// The same, with what an agent decided.
    void step(std::span<const VertexId> ids, bool replace);
    /// Puts all steps so far down in the files.
    void flush();
    /// Shows all steps so far, those before `after` included, as the files have them.
    void show_steps(const StepSink& sink);
    /// Writes the manifest and puts the folder in its place.
    void finish();
    /// The same for the first `steps` steps; later ones are dropped.
    void finish(std::uint64_t steps);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::buffer
