// One body at a time on a device, with its inputs and outputs as vectors of the host.
#pragma once

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "nn/gpu/device_memory.hpp"
#include "nn/random_batch.hpp"
#include "rudder/nn/aggregate.hpp"

namespace rudder::testing {

/// Memory of a device that lives as long as this.
class OnDevice {
public:
    explicit OnDevice(std::shared_ptr<nn::Device> device) : device_(std::move(device)) {}

    template <class T>
    T* put(std::span<const T> values) {
        memory_.push_back(
            std::make_unique<nn::DeviceMemory>(device_, nn::DeviceMemory::Where::device, "a test"));
        std::byte* const place = memory_.back()->fit(values.size_bytes() + 64);
        device_->upload(place, values.data(), values.size_bytes());
        device_->finish();
        return reinterpret_cast<T*>(place);
    }
    template <class T, class A>
    T* put(const std::vector<T, A>& values) {
        return put(std::span<const T>(values));
    }
    float* room(std::size_t floats) {
        const std::vector<float> nothing(floats, -7.F);
        return put(nothing);
    }
    template <class T>
    std::vector<T> get(const T* place, std::size_t count) {
        std::vector<T> values(count);
        device_->download(values.data(), place, count * sizeof(T));
        device_->finish();
        return values;
    }
    [[nodiscard]] nn::Device& device() { return *device_; }

private:
    std::shared_ptr<nn::Device> device_;
    std::vector<std::unique_ptr<nn::DeviceMemory>> memory_;
};

/// A block read backwards, with the positions of its edges.
struct Backwards {
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> readers;
    std::vector<std::uint32_t> places;

    explicit Backwards(const sample::Block& block)
        : starts(std::size_t{block.sources} + 1), readers(block.edges()), places(block.edges()) {
        nn::transpose(block, {starts, readers, places});
    }
};

/// The sizes that products are tried in: (rows, columns, depth).
struct ProductShape {
    std::size_t rows;
    std::size_t columns;
    std::size_t depth;
};
inline constexpr ProductShape product_shapes[]{{1, 1, 1},      {3, 5, 7},      {64, 64, 16},
                                               {65, 63, 17},   {130, 47, 100}, {200, 256, 33},
                                               {47, 256, 1500}};

/// All four ways to multiply, added to what is there or not: the results one after the other.
inline std::vector<float> all_products(OnDevice& on, const ProductShape& shape) {
    std::vector<float> results;
    const auto a = random_floats(shape.rows * shape.depth, 1);
    const auto b = random_floats(shape.depth * shape.columns, 2);
    const auto c = random_floats(shape.rows * shape.columns, 3);
    const float* const at = on.put(a);
    const float* const bt = on.put(b);
    for (int way = 0; way < 8; ++way) {
        float* const out = on.put(c);
        on.device().product({at, (way & 1) != 0, bt, (way & 2) != 0, out, shape.rows, shape.columns,
                             shape.depth, (way & 4) != 0});
        const auto values = on.get(out, c.size());
        results.insert(results.end(), values.begin(), values.end());
    }
    return results;
}

/// Work of no size is done without touching anything.
inline void expect_nothing_done(OnDevice& on) {
    nn::Device& device = on.device();
    float* const place = on.put(std::vector<float>{1, 2, 3, 4});
    const float* const values = on.put(std::vector<float>{5, 6, 7, 8});
    device.run(nn::ScaleElements{values, place, 0, 2.F}, 0);
    device.product({values, false, values, true, place, 0, 2, 2, false});
    device.product({values, false, values, true, place, 2, 0, 2, false});
    device.product({values, true, values, false, place, 2, 2, 0, true});
    device.copy(place, values, 0);
    device.clear(place, 0);
    EXPECT_EQ(on.get(place, 4), (std::vector<float>{1, 2, 3, 4}));
    device.product({values, true, values, false, place, 1, 3, 0, false});
    EXPECT_EQ(on.get(place, 4), (std::vector<float>{0, 0, 0, 4}));
}

}  // namespace rudder::testing
