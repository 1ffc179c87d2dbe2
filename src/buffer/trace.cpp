#include "rudder/buffer/trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

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
    ids.visit([&](const auto all) {
        for (std::uint64_t i = 0; i < all.size(); ++i) {
            if (all[i] < header.vertices) continue;
            throw input_error(
                fmt::format("invalid vertex {}: the graph has {}", all[i], header.vertices),
                fmt::format("{}, ids, position {}", where, i), record_again);
        }
    });
    return arrays;
}

/// An entry per vertex only where that is in proportion to the trace.
VertexId direct_limit(std::uint64_t ids) {
    return std::min<VertexId>(RowNumbering::direct_limit, std::max<VertexId>(1U << 16, ids * 4));
}

IdArray copy_of(IdSpan ids) {
    return ids.visit([](const auto all) {
        using Id = std::remove_const_t<typename decltype(all)::element_type>;
        return IdArray(Array<Id>::copy_of(all));
    });
}

/// Calls `each` with pieces of a stretch of ids, and where they begin in it.
template <class Each>
void for_pieces(IdSpan ids, std::uint64_t begin, std::uint64_t end, const Each& each) {
    std::array<VertexId, 1024> piece;
    ids.visit([&](const auto all) {
        for (std::uint64_t at = begin; at < end; at += piece.size()) {
            const std::size_t count = std::min<std::uint64_t>(piece.size(), end - at);
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), count, piece.begin());
            each(std::span<const VertexId>(piece).first(count), at - begin);
        }
    });
}

}  // namespace

std::string graph_checksum(const std::filesystem::path& folder) {
    const std::string text = read_text(folder / "manifest.json", 16U << 20);
    return to_hex(hash_bytes(std::as_bytes(std::span(text))));
}

HostTrace::HostTrace(TraceHeader header, Arrays arrays, IdSpan ids, const std::string& where)
    : HostTrace(std::move(header), std::move(arrays), copy_of(ids), where) {}

HostTrace::HostTrace(TraceHeader header, Arrays arrays, IdArray ids, const std::string& where)
    : header_(std::move(header)),
      arrays_(checked(std::move(arrays), header_, ids.span(), where)),
      ids_(std::move(ids)),
      numbering_(header_.vertices, arrays_.halo, direct_limit(ids_.size())) {
    std::array<RowKey, 1024> rows;
    std::vector<std::uint64_t> seen;
    for (std::uint64_t s = 0; s < steps(); ++s) {
        for_pieces(ids_.span(), arrays_.offsets[s], arrays_.offsets[s + 1],
                   [&](std::span<const VertexId> piece, std::uint64_t /*at*/) {
                       const auto numbers = std::span(rows).first(piece.size());
                       numbering_.number(piece, numbers);
                       seen.resize(numbering_.size(), 0);
                       for (const RowKey row : numbers) {
                           if (seen[row] == s + 1) {
                               throw input_error(fmt::format("step {} names vertex {} twice", s,
                                                             numbering_.vertex(row)),
                                                 where + ", ids", record_again);
                           }
                           seen[row] = s + 1;
                       }
                   });
    }
}

void HostTrace::step(std::uint64_t i, std::vector<RowKey>& rows) const {
    const std::uint64_t begin = arrays_.offsets[i];
    rows.resize(arrays_.offsets[i + 1] - begin);
    for_pieces(ids_.span(), begin, arrays_.offsets[i + 1],
               [&](std::span<const VertexId> piece, std::uint64_t at) {
                   numbering_.find(piece, std::span(rows).subspan(at, piece.size()));
               });
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
