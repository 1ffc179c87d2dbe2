// Every vector path in turn, and comparisons of floats.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "nn/simd.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::testing {

inline constexpr nn::VectorPath paths[]{nn::VectorPath::portable, nn::VectorPath::avx2,
                                        nn::VectorPath::avx512};

/// Leaves the best path in place, whatever a test set.
struct Restore {
    Restore() = default;
    Restore(const Restore&) = delete;
    Restore& operator=(const Restore&) = delete;
    ~Restore() {
        nn::set_vector_path(nn::best_vector_path());
        set_thread_count(0);
    }
};

/// Runs a body that fills a vector of floats on every path; all must give the same bits, which are
/// returned.
template <class Body>
std::vector<float> on_all_paths(const Body& body) {
    std::vector<float> first;
    for (const nn::VectorPath path : paths) {
        nn::set_vector_path(path);
        const std::vector<float> made = body();
        if (first.empty()) first = made;
        EXPECT_EQ(made.size(), first.size());
        EXPECT_EQ(std::memcmp(made.data(), first.data(), made.size() * sizeof(float)), 0)
            << to_string(path);
    }
    nn::set_vector_path(nn::best_vector_path());
    return first;
}

inline void expect_close(std::span<const float> ours, std::span<const double> wanted,
                         double tolerance = 1e-5) {
    ASSERT_EQ(ours.size(), wanted.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
        ASSERT_NEAR(static_cast<double>(ours[i]), wanted[i], tolerance * (1 + std::abs(wanted[i])))
            << i;
}

}  // namespace rudder::testing
