// Small random traces, and the plain arrays they are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "rudder/buffer/trace.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {

/// A trace as plain as it gets.
struct PlainTrace {
    VertexId vertices = 0;
    std::vector<VertexId> halo;
    std::vector<std::uint32_t> degree;
    std::vector<double> inclusion;
    std::vector<std::uint8_t> listed;
    std::vector<std::vector<VertexId>> steps;

    [[nodiscard]] std::unique_ptr<const buffer::HostTrace> host() const {
        std::vector<std::uint64_t> ids;
        buffer::HostTrace::Arrays arrays{halo, degree, inclusion, {0}, listed};
        for (const auto& step : steps) {
            ids.insert(ids.end(), step.begin(), step.end());
            arrays.offsets.push_back(ids.size());
        }
        buffer::TraceHeader header;
        header.vertices = vertices;
        return std::make_unique<const buffer::HostTrace>(
            header, std::move(arrays), std::span<const std::uint64_t>(ids), "test");
    }
};

struct TraceShape {
    std::uint64_t vertices = 60;
    std::uint64_t steps = 40;
    std::uint64_t largest_step = 16;
};

/// Vertices of low id are asked for more often; about half of all are of the halo.
inline PlainTrace random_trace(std::uint64_t seed, const TraceShape& shape = {}) {
    const RandomStream stream({Purpose::test, seed});
    Draws draws(stream, 0);
    PlainTrace trace;
    trace.vertices = shape.vertices;
    for (VertexId v = 0; v < shape.vertices; ++v) {
        if (draws.below(2) == 0) continue;
        trace.halo.push_back(v);
        trace.degree.push_back(static_cast<std::uint32_t>(draws.below(8)));
        trace.inclusion.push_back(static_cast<double>(draws.below(16)) / 16);
    }
    for (std::uint64_t s = 0; s < shape.steps; ++s) {
        std::vector<VertexId> step;
        const std::uint64_t size = draws.below(shape.largest_step + 1);
        for (std::uint64_t i = 0; i < size; ++i) {
            const double u = draws.uniform();
            const auto v = static_cast<VertexId>(u * u * static_cast<double>(shape.vertices));
            if (std::find(step.begin(), step.end(), v) == step.end()) step.push_back(v);
        }
        trace.steps.push_back(std::move(step));
        trace.listed.push_back(static_cast<std::uint8_t>(draws.below(3) == 0));
    }
    return trace;
}

}  // namespace rudder::test
