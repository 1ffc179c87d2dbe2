// How bodies run on a GPU: a warp per item.
#pragma once

#include <cuda_runtime.h>

#include "launch.hpp"

namespace rudder::nn {

/// 32 lanes at once. Sums go over pairs of lanes, so that all lanes end with the same bits.
struct GpuWarp {
    std::uint32_t lane;

    template <class F>
    __device__ __forceinline__ void each(const F& f) const {
        f(lane);
        __syncwarp();
    }
    template <class F>
    __device__ __forceinline__ auto sum(const F& f) const {
        auto value = f(lane);
        __syncwarp();
        for (int step = 16; step > 0; step /= 2)
            value = value + __shfl_xor_sync(0xFFFFFFFFU, value, step);
        return value;
    }
    template <class F>
    __device__ __forceinline__ auto most(const F& f) const {
        auto value = f(lane);
        __syncwarp();
        for (int step = 16; step > 0; step /= 2) {
            const auto other = __shfl_xor_sync(0xFFFFFFFFU, value, step);
            value = value > other ? value : other;
        }
        return value;
    }
    template <class F>
    __device__ __forceinline__ auto least(const F& f) const {
        auto value = f(lane);
        __syncwarp();
        for (int step = 16; step > 0; step /= 2) {
            const auto other = __shfl_xor_sync(0xFFFFFFFFU, value, step);
            value = value < other ? value : other;
        }
        return value;
    }
};

constexpr unsigned warps_per_block = 8;

template <class Body>
__global__ void __launch_bounds__(warps_per_block * warp_lanes)
    run_items(const Body body, const std::size_t items) {
    const std::size_t item =
        std::size_t{blockIdx.x} * warps_per_block + threadIdx.x / warp_lanes;
    if (item >= items) return;  // whole warps
    body.run(GpuWarp{threadIdx.x % warp_lanes}, item);
}

template <class Body>
int launch_body(const Body& body, std::size_t items, void* stream) {
    if (items == 0) return 0;
    const std::size_t blocks = (items + warps_per_block - 1) / warps_per_block;
    run_items<<<static_cast<unsigned>(blocks), warps_per_block * warp_lanes, 0,
                static_cast<cudaStream_t>(stream)>>>(body, items);
    return static_cast<int>(cudaGetLastError());
}

}  // namespace rudder::nn
