// Look-ups per second against the standard hash map, and what each policy costs per id.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "buffer/shadow_buffer.hpp"
#include "buffer/trace_window.hpp"
#include "rudder/buffer/replay.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

namespace {

using namespace rudder;

double seconds(auto&& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Ids as steps ask for them: remote vertices of a graph, popular ones more often.
std::vector<VertexId> skewed_ids(VertexId vertices, std::size_t count) {
    const RandomStream stream({Purpose::test, 1});
    Draws draws(stream, 0);
    std::vector<VertexId> ids(count);
    for (VertexId& id : ids) {
        const double u = draws.uniform();
        id = static_cast<VertexId>(u * u * static_cast<double>(vertices)) * 0x9E3779B1U % vertices;
    }
    return ids;
}

/// Vertex to slot, by both tables of ours and by the library's map, alternating.
void look_ups(VertexId vertices, std::size_t buffered) {
    constexpr std::size_t count = 1 << 21;
    constexpr int rounds = 9;
    const auto ids = skewed_ids(vertices, count);
    buffer::RowNumbering direct(vertices, {});
    buffer::RowNumbering hashed(vertices, {}, 0);
    std::vector<buffer::RowKey> rows(count);
    std::vector<buffer::SlotId> slots(count);
    direct.number(ids, rows);
    hashed.number(ids, rows);
    buffer::Residents residents(static_cast<buffer::SlotId>(buffered),
                                static_cast<buffer::SlotId>(buffered));
    residents.know(direct.size());
    std::unordered_map<VertexId, buffer::SlotId> map;
    for (std::size_t i = 0; i < count && residents.room() != 0; ++i) {
        if (!residents.holds(rows[i])) map.emplace(ids[i], residents.place(rows[i]));
    }
    std::vector<double> ours;
    std::vector<double> ours_hashed;
    std::vector<double> theirs;
    std::vector<double> threaded;
    std::atomic<std::uint64_t> found = 0;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(seconds([&] {
            direct.find(ids, rows);
            found += residents.look_up(rows, slots);
        }));
        ours_hashed.push_back(seconds([&] {
            hashed.find(ids, rows);
            found += residents.look_up(rows, slots);
        }));
        threaded.push_back(seconds([&] {
            parallel_chunks(count, 1 << 14, [&](const Chunk& chunk) {
                const std::size_t size = chunk.end - chunk.begin;
                const auto some = std::span(rows).subspan(chunk.begin, size);
                direct.find(std::span(ids).subspan(chunk.begin, size), some);
                found += residents.look_up(some, std::span(slots).subspan(chunk.begin, size));
            });
        }));
        theirs.push_back(seconds([&] {
            for (std::size_t i = 0; i < count; ++i) {
                const auto at = map.find(ids[i]);
                slots[i] = at == map.end() ? buffer::no_slot : at->second;
                found += at == map.end() ? 0U : 1U;
            }
        }));
    }
    const auto rate = [&](const std::vector<double>& times) {
        return static_cast<double>(count) / median(times) * 1e-6;
    };
    fmt::print("{:>12} {:>10} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>8.1f} {:>8.1f}\n",
               vertices, residents.count(), rate(ours), rate(ours_hashed), rate(threaded),
               rate(theirs), rate(ours) / rate(theirs), rate(ours_hashed) / rate(theirs));
    if (found == 0) fmt::print("nothing was found\n");
}

void policies(const buffer::HostTrace& trace, double fraction) {
    const auto capacity = static_cast<std::uint64_t>(fraction * static_cast<double>(trace.halo()));
    for (const char* text :
         {"none", "static-degree", "lru", "lfu", "clock", "periodic", "scored-faithful,every:4",
          "scored,every:16", "window:16", "window:16,distance:0", "optimal"}) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        std::vector<double> times;
        Rows rows;
        for (int round = 0; round < 7; ++round)
            times.push_back(seconds([&] { rows = buffer::replay_host(trace, spec, capacity); }));
        fmt::print("{:<26} {:>6.2f} {:>8.1f} {:>12}\n", text, fraction,
                   median(times) / static_cast<double>(trace.needed()) * 1e9, rows.fetched());
    }
}

void shadows(const buffer::HostTrace& trace, double fraction) {
    const auto capacity = static_cast<buffer::SlotId>(fraction * static_cast<double>(trace.halo()));
    for (const char* text : {"lru", "scored,every:16", "window:16"}) {
        std::vector<double> times;
        Rows guess;
        for (int round = 0; round < 7; ++round) {
            times.push_back(seconds([&] {
                const auto feed =
                    std::make_shared<buffer::ShadowFeed>(trace.facts(), buffer::ShadowOptions{});
                buffer::ShadowBuffer shadow(buffer::PolicySpec::parse(text), feed, capacity,
                                            capacity);
                buffer::TraceWindow steps(trace);
                std::uint64_t published = 0;
                for (std::uint64_t step = 0; step < trace.steps(); ++step) {
                    for (; published < trace.steps() && published - step <= shadow.horizon();
                         ++published)
                        feed->publish(published, steps.step(published));
                    shadow.advance();
                    steps.forget_before(step + 1);
                    feed->forget(step + 1);
                }
                guess = shadow.estimated();
            }));
        }
        const auto real =
            buffer::replay_host(trace, buffer::PolicySpec::parse(text), capacity).fetched();
        fmt::print("{:<26} {:>6.2f} {:>8.1f} {:>12} {:>12} {:>7.3f}\n", text, fraction,
                   median(times) / static_cast<double>(trace.needed()) * 1e9, guess.fetched(), real,
                   static_cast<double>(guess.fetched()) / static_cast<double>(real));
    }
}

}  // namespace

int main(int argc, char** argv) {
    fmt::print(
        "look-up, million ids per second, one thread (and direct on {})\n{:>12} {:>10} {:>10} "
        "{:>10} {:>10} {:>10} {:>8} {:>8}\n",
        thread_count(), "vertices", "slots", "direct", "hashed", "threads", "std map", "ratio",
        "hashed");
    look_ups(300'000, 16'000);
    look_ups(10'000'000, 500'000);
    look_ups(100'000'000, 1'000'000);
    const std::string file =
        argc > 1 ? argv[1] : RUDDER_SOURCE_DIR "/tests/data/golden/npm_1000.npz";
    const buffer::Trace trace = buffer::read_trace(file);
    fmt::print("\npolicies, {}: nanoseconds per id\n{:<26} {:>6} {:>8} {:>12}\n", file, "policy",
               "buffer", "ns", "rows");
    for (const double fraction : {0.05, 0.25})
        policies(*trace[0], fraction);
    fmt::print(
        "\nshadows of 1 in 16, nanoseconds per id of the run\n{:<26} {:>6} {:>8} {:>12} "
        "{:>12} {:>7}\n",
        "policy", "buffer", "ns", "estimated", "rows", "ratio");
    for (const double fraction : {0.05, 0.25})
        shadows(*trace[0], fraction);
    return 0;
}
