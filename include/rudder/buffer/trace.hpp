// Recorded traces: which remote rows each step of each host needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/buffer/policy.hpp"
#include "rudder/buffer/row_numbering.hpp"
#include "rudder/core/id_array.hpp"

namespace rudder::buffer {

inline constexpr std::string_view trace_format = "rudder trace";
inline constexpr std::uint64_t trace_version = 1;

/// What is known of a host's trace beside its steps.
struct TraceHeader {
    std::uint64_t host = 0;
    std::uint64_t hosts = 1;
    VertexId vertices = 0;              ///< of the graph: ids are below
    std::uint64_t steps_per_epoch = 0;  ///< 0: not known
    std::uint64_t first_step = 0;       ///< global number of the first one recorded
    std::uint64_t capacity = 0;         ///< rows the run's buffer had; 0: not known
    std::uint64_t row_bytes = 0;        ///< of one feature row on the wire; 0: not known
    std::string precision{};
    std::string policy{};  ///< of the run
    std::string graph{};   ///< graph_checksum() of the data, or empty
    std::uint64_t seed = 0;
    std::uint64_t batch = 0;         ///< seeds per part and step; 0: not known
    std::uint64_t own_vertices = 0;  ///< of the host's parts; 0: not known
};

/// What tells one partitioned data set from another: the hash of its manifest.
[[nodiscard]] std::string graph_checksum(const std::filesystem::path& folder);

/// One host's trace: what is known of its rows in memory, halo first, its ids where they were read
/// from (a mapped file), numbered as rows when a step is asked for.
class HostTrace {
public:
    /// Arrays as they were read; checked: offsets ascending and ending with the ids, ids below the
    /// number of vertices and once per step, halo ascending. An input Error naming `where`
    /// otherwise.
    struct Arrays {
        std::vector<VertexId> halo;
        std::vector<std::uint32_t> halo_degree;  ///< may be empty
        std::vector<double> inclusion;           ///< may be empty
        std::vector<std::uint64_t> offsets;      ///< steps + 1
        std::vector<std::uint8_t> listed;        ///< by step; may be empty
    };
    HostTrace(TraceHeader header, Arrays arrays, IdArray ids, const std::string& where);
    /// The same with a copy of ids in memory.
    HostTrace(TraceHeader header, Arrays arrays, IdSpan ids, const std::string& where);

    [[nodiscard]] const TraceHeader& header() const noexcept { return header_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return arrays_.offsets.size() - 1; }
    [[nodiscard]] std::uint64_t needed() const noexcept { return ids_.size(); }
    [[nodiscard]] std::uint64_t halo() const noexcept { return arrays_.halo.size(); }
    [[nodiscard]] std::uint64_t distinct() const noexcept { return numbering_.size(); }
    /// Puts the rows of a step, counted from 0, in the place of what `rows` has.
    void step(std::uint64_t i, std::vector<RowKey>& rows) const;
    [[nodiscard]] VertexId vertex(RowKey row) const noexcept { return numbering_.vertex(row); }
    /// What a policy may know; valid as long as this trace is.
    [[nodiscard]] PolicyFacts facts() const noexcept;

private:
    TraceHeader header_;
    Arrays arrays_;
    IdArray ids_;
    RowNumbering numbering_;
};

/// All hosts of a run.
using Trace = std::vector<std::unique_ptr<const HostTrace>>;

/// Reads a trace: a run folder or its trace/ (one folder per host), or a lone NPZ archive in the
/// layout of the golden traces. What is cut short, damaged, or not of one graph is an input Error.
[[nodiscard]] Trace read_trace(const std::filesystem::path& path);
/// Refuses, as an input Error, a trace that was not recorded on the data of `folder`.
void expect_graph(const Trace& trace, const std::filesystem::path& folder);

}  // namespace rudder::buffer
