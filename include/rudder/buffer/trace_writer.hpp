// Records a host's trace, step by step, in bounded memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "rudder/buffer/trace.hpp"

namespace rudder {

/// Writes TRACE/host-NNNNN. It is built under a hidden name and appears when it is finished: a run
/// that ends before leaves no trace that could be taken for a whole one.
class TraceWriter {
public:
    /// `halo` is ascending; `halo_degree` and `inclusion` are by halo vertex and may be empty.
    /// An existing trace of this host is replaced.
    TraceWriter(const std::filesystem::path& trace, const TraceHeader& header,
                std::span<const VertexId> halo, std::span<const std::uint32_t> halo_degree,
                std::span<const double> inclusion);
    ~TraceWriter();
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    /// The next step: its distinct remote ids, in order of first appearance.
    void step(std::span<const VertexId> ids);
    /// The same, with what an agent decided.
    void step(std::span<const VertexId> ids, bool replace);
    /// Writes the manifest and puts the folder in its place.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder
