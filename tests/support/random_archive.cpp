#include "support/random_archive.hpp"

#include <cmath>

#include "rudder/core/random.hpp"

#include "support/npz_bytes.hpp"

namespace rudder::test {

std::string random_archive(std::uint64_t seed, const RandomEdges& random) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed, .step = 1});
    Draws draws(stream, 0);
    const std::size_t n = random.vertices;
    std::vector<std::int64_t> src;
    std::vector<std::int64_t> dst;
    for (const graph::Edge& edge : random.edges) {
        src.push_back(static_cast<std::int64_t>(edge.source));
        dst.push_back(static_cast<std::int64_t>(edge.target));
    }
    std::vector<ZipEntry> entries{
        {"num_nodes", npy<std::int64_t>({std::int64_t(n)})}, {"src", npy(src)}, {"dst", npy(dst)}};
    const auto fill = [&](auto sample, std::size_t count, auto draw) {
        std::vector<decltype(sample)> values(count);
        for (auto& value : values)
            value = static_cast<decltype(sample)>(draw());
        return values;
    };
    const auto byte = [&] { return draws.below(256); };
    const std::size_t width = 1 + draws.below(5);
    switch (seed % 4) {
        case 0:
            entries.push_back(
                {"x", npy(fill(float{}, n * width, [&] { return draws.normal(); }), width)});
            break;
        case 1:
            entries.push_back({"x", npy(fill(std::uint8_t{}, n * width, byte), width)});
            break;
        case 2:
            entries.push_back({"x_int8", npy(fill(std::int8_t{}, n * width, byte), width)});
            entries.push_back(
                {"x_scale", npy(fill(float{}, width, [&] { return draws.normal(); }))});
            break;
        default:
            break;
    }
    switch (seed / 4 % 4) {
        case 0:
            entries.push_back({"y", npy(fill(std::int64_t{}, n, [&] {
                                   return static_cast<std::int64_t>(draws.below(5)) - 1;
                               }))});
            entries.push_back({"num_classes", npy<std::int64_t>({6})});
            break;
        case 1:
            entries.push_back(
                {"y", npy(fill(std::uint8_t{}, n * 3, [&] { return draws.below(2); }), 3)});
            break;
        case 2:
            entries.push_back({"y", npy(fill(float{}, n, [&] {
                                   return draws.below(5) == 0 ? std::nan("") : draws.normal();
                               }))});
            break;
        default:
            break;
    }
    return zip(entries);
}

}  // namespace rudder::test
