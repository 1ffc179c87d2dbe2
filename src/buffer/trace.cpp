#include "rudder/buffer/trace.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder::buffer {

namespace {

constexpr const char* record_again = "record the trace again";

void check_halo(const HostTrace::Arrays& arrays, VertexId vertices, const std::string& where) {
    const auto bad = [&](std::string what) {
        return input_error(std::move(what), where + ", halo", record_again);
    };
    VertexId last = 0;
    for (std::size_t i = 0; i < arrays.halo.size(); ++i) {
        const VertexId v = arrays.halo[i];
        if (v >= vertices) {
            throw bad(fmt::format("vertex {} at position {} is not below {}", v, i, vertices));
        }
        if (i != 0 && v <= last) {
            throw bad(fmt::format("ids must ascend; position {} does not", i));
        }
        last = v;
    }
    if (!arrays.halo_degree.empty() && arrays.halo_degree.size() != arrays.halo.size()) {
        throw bad(fmt::format("{} degrees for {} vertices", arrays.halo_degree.size(),
                              arrays.halo.size()));
    }
    if (!arrays.inclusion.empty() && arrays.inclusion.size() != arrays.halo.size()) {
        throw bad(fmt::format("{} inclusion probabilities for {} vertices", arrays.inclusion.size(),
                              arrays.halo.size()));
    }
    for (const double p : arrays.inclusion) {
        if (!std::isfinite(p) || p < 0) {
            throw bad(fmt::format("invalid inclusion probability: {}", p));
        }
    }
}

void check_offsets(const HostTrace::Arrays& arrays, std::uint64_t ids, const std::string& where) {
    const auto bad = [&](std::string what) {
        return input_error(std::move(what), where + ", offsets", record_again);
    };
    const auto& offsets = arrays.offsets;
    if (offsets.empty() || offsets[0] != 0) throw bad("the first offset must be 0");
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        if (offsets[i] < offsets[i - 1]) throw bad(fmt::format("offset {} descends", i));
    }
    if (offsets.back() != ids) {
        throw bad(fmt::format("the steps need {} ids and there are {}: the trace is cut short",
                              offsets.back(), ids));
    }
    if (!arrays.listed.empty() && arrays.listed.size() != offsets.size() - 1) {
        throw bad(
            fmt::format("{} decisions for {} steps", arrays.listed.size(), offsets.size() - 1));
    }
}

/// Refuses an array before its ids are numbered, which relies on their range.
HostTrace::Arrays checked(HostTrace::Arrays arrays, const TraceHeader& header, IdSpan ids,
                          const std::string& where) {
    check_halo(arrays, header.vertices, where);
    check_offsets(arrays, ids.size(), where);
    for (std::uint64_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= header.vertices) {
            throw input_error(
                fmt::format("invalid vertex {}: the graph has {}", ids[i], header.vertices),
                fmt::format("{}, ids, position {}", where, i), record_again);
        }
    }
    return arrays;
}

/// An entry per vertex only where that is in proportion to the trace.
VertexId direct_limit(IdSpan ids) {
    return std::min<VertexId>(RowNumbering::direct_limit,
                              std::max<VertexId>(1U << 16, ids.size() * 4));
}

}  // namespace

std::string graph_checksum(const std::filesystem::path& folder) {
    const std::string text = read_text(folder / "manifest.json", 16U << 20);
    return to_hex(hash_bytes(std::as_bytes(std::span(text))));
}

HostTrace::HostTrace(TraceHeader header, Arrays arrays, IdSpan ids, const std::string& where)
    : header_(std::move(header)),
      arrays_(checked(std::move(arrays), header_, ids, where)),
      numbering_(header_.vertices, arrays_.halo, direct_limit(ids)),
      rows_(ids.size()) {
    std::vector<VertexId> block;
    std::vector<std::uint64_t> seen;
    for (std::uint64_t s = 0; s < steps(); ++s) {
        const std::uint64_t begin = arrays_.offsets[s];
        block.resize(arrays_.offsets[s + 1] - begin);
        for (std::size_t i = 0; i < block.size(); ++i)
            block[i] = ids[begin + i];
        const auto rows = std::span(rows_).subspan(begin, block.size());
        numbering_.number(block, rows);
        seen.resize(numbering_.size(), 0);
        for (const RowKey row : rows) {
            if (seen[row] == s + 1) {
                throw input_error(
                    fmt::format("step {} names vertex {} twice", s, numbering_.vertex(row)),
                    where + ", ids", record_again);
            }
            seen[row] = s + 1;
        }
    }
}

PolicyFacts HostTrace::facts() const noexcept {
    return {&numbering_, arrays_.halo_degree, arrays_.inclusion, arrays_.listed,
            header_.first_step + steps()};
}

void expect_graph(const Trace& trace, const std::filesystem::path& folder) {
    const std::string graph = graph_checksum(folder);
    for (const auto& host : trace) {
        if (host->header().graph == graph) continue;
        throw input_error(host->header().graph.empty()
                              ? "the trace does not say which data it was recorded on"
                              : "the trace was recorded on other data",
                          fmt::format("host {}, against {}", host->header().host, folder.string()),
                          "give the data of that run, or record the trace again");
    }
}

}  // namespace rudder::buffer
