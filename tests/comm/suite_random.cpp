// Random reductions and exchanges of the suite: drawn from a seed, checked or digested.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "comm/reduction.hpp"
#include "comm/suite.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/element.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {

std::vector<float> contribution(std::uint64_t seed, std::uint32_t index, std::size_t size) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed, .layer = index});
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) {
        // Of very different magnitudes, so that the order of additions shows in the bits.
        Draws draws(stream, i);
        const int exponent = static_cast<int>(draws.below(40)) - 20;
        values[i] = static_cast<float>(std::ldexp(draws.uniform() - 0.5, exponent));
    }
    return values;
}

std::vector<float> ordered_sum(std::uint64_t seed, std::uint32_t count, std::size_t size,
                               comm::SumPrecision precision) {
    const auto rounded = [&](float value) {
        return precision == comm::SumPrecision::float32 ? value
                                                        : bf16_to_float(float_to_bf16(value));
    };
    std::vector<float> sum(size, 0.0F);
    for (std::uint32_t c = 0; c < count; ++c) {
        const auto values = contribution(seed, c, size);
        for (std::size_t i = 0; i < size; ++i)
            sum[i] = c == 0 ? rounded(values[i]) : sum[i] + rounded(values[i]);
    }
    for (float& value : sum)
        value = rounded(value);
    return sum;
}

void check_reduction(const comm::Communicator& comm, std::uint64_t seed, std::uint32_t count,
                     std::size_t size, comm::SumPrecision precision) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed, .epoch = 7});
    std::vector<std::uint32_t> mine;
    std::vector<std::vector<float>> values;
    for (std::uint32_t c = 0; c < count; ++c) {
        const auto holder = Draws(stream, c).below(static_cast<std::uint64_t>(comm.size()));
        if (static_cast<int>(holder) != comm.rank()) continue;
        mine.push_back(c);
        values.push_back(contribution(seed, c, size));
    }
    comm::OrderedReducer reducer(comm, mine);
    std::vector<std::span<const float>> spans(values.begin(), values.end());
    std::vector<float> out(size, -1.0F);
    reducer.reduce(spans, out, comm::Kind::gradients, precision).wait();
    const auto expected = ordered_sum(seed, count, size, precision);
    require(size == 0 || std::memcmp(out.data(), expected.data(), size * sizeof(float)) == 0,
            fmt::format("reduction of {} contributions of {} floats", count, size));
}

std::uint64_t random_exchange(const comm::Communicator& comm, std::uint64_t seed) {
    // Every rank draws the same plan, so that all know who sends what to whom.
    const RandomStream stream({.purpose = Purpose::test, .seed = seed, .epoch = 3});
    Draws plan(stream, 0);
    const auto ranks = static_cast<std::uint64_t>(comm.size());
    std::uint64_t digest = seed;
    const auto mix = [&](std::span<const std::byte> bytes) {
        const std::array<std::uint64_t, 2> pair{digest, hash_bytes(bytes)};
        digest = hash_bytes(std::as_bytes(std::span(pair)));
    };
    const auto payload = [&](std::uint64_t tag, std::uint64_t size) {
        std::vector<std::uint32_t> values(size);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<std::uint32_t>(tag * 7919 + i);
        }
        return values;
    };
    const std::uint64_t rounds = 1 + plan.below(6);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        switch (plan.below(5)) {
            case 0:
                comm.barrier();
                break;
            case 1: {
                const int root = static_cast<int>(plan.below(ranks));
                const std::uint64_t size = plan.below(3000);
                auto values =
                    comm.rank() == root ? payload(round, size) : std::vector<std::uint32_t>(size);
                comm.broadcast(root, std::span(values));
                mix(std::as_bytes(std::span(values)));
                break;
            }
            case 2: {
                comm::PerRank<std::uint32_t> out;
                for (std::uint64_t to = 0; to < ranks; ++to) {
                    out.push_back(payload(round + to, plan.below(500)));
                }
                for (const auto& values : comm.all_to_all(out)) {
                    mix(std::as_bytes(std::span(values)));
                }
                break;
            }
            case 3:
                check_reduction(comm, seed + round, static_cast<std::uint32_t>(plan.below(6)),
                                plan.below(5000));
                break;
            default: {
                struct Letter {
                    int from;
                    int to;
                    std::vector<std::uint32_t> values;
                };
                std::vector<Letter> letters;
                const std::uint64_t count = plan.below(20);
                for (std::uint64_t i = 0; i < count; ++i) {
                    const int from = static_cast<int>(plan.below(ranks));
                    const int to = static_cast<int>(plan.below(ranks));
                    letters.push_back({from, to, payload(i, plan.below(4) == 0 ? 70000 : i)});
                }
                std::vector<comm::Request> sends;
                for (const Letter& letter : letters) {
                    if (letter.from != comm.rank()) continue;
                    sends.push_back(comm.send(letter.to, comm::user_channels + 3,
                                              comm::Kind::features,
                                              std::span<const std::uint32_t>(letter.values)));
                }
                for (const Letter& letter : letters) {
                    if (letter.to != comm.rank()) continue;
                    const comm::Message got =
                        comm.receive_message(letter.from, comm::user_channels + 3).take();
                    require(std::ranges::equal(got.as<std::uint32_t>(), letter.values),
                            "a letter of a random exchange");
                    mix(got.bytes);
                }
                comm::wait_all(sends);
            }
        }
    }
    // One digest for all: rank order, so that every body gives the same.
    std::uint64_t all = 0;
    for (const auto& values : comm.all_gather(std::span<const std::uint64_t>(&digest, 1))) {
        const std::array<std::uint64_t, 2> pair{all, values.front()};
        all = hash_bytes(std::as_bytes(std::span(pair)));
    }
    return all;
}

}  // namespace rudder::test
