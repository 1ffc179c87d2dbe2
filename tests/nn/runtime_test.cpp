// What is set for torch: one thread per product, whichever thread multiplies.
#include "rudder/nn/runtime.hpp"

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "rudder/nn/matmul.hpp"

#include "nn/random_batch.hpp"

namespace rudder {

namespace {

std::ptrdiff_t threads_alive() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
}

}  // namespace

TEST(Runtime, ProductsStartNoThreads) {
    prepare_torch();
    const std::ptrdiff_t before = threads_alive();
    std::ptrdiff_t during = 0;
    // A thread the library has not seen: its own limits are per thread.
    std::thread([&] {
        constexpr std::size_t size = 512;
        const auto a = testing::random_floats(size * size, 1);
        std::vector<float> c(size * size);
        const ConstMatrix square{a.data(), size, size, size};
        multiply(square, square, {c.data(), size, size, size});
        during = threads_alive();
    }).join();
    EXPECT_LE(during, before + 1);
}

TEST(Runtime, SettingsHaveReasons) {
    const auto settings = runtime_settings();
    EXPECT_GE(settings.size(), 3U);
    for (const RuntimeSetting& setting : settings) {
        EXPECT_FALSE(setting.name.empty());
        EXPECT_FALSE(setting.value.empty()) << setting.name;
        EXPECT_FALSE(setting.reason.empty()) << setting.name;
    }
}

}  // namespace rudder
