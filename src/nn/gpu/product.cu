// Matrix products without a library: each element is one chain of fused multiply-adds in the order
// of the depth, as on the CPU, so bits are those of the twin.
#include "launch.cuh"

namespace rudder::nn {

namespace {

constexpr int tile = 64;      // of c, in rows and columns
constexpr int slice = 16;     // of the depth
constexpr int per_thread = 4; // rows and columns of c
constexpr int threads = (tile / per_thread) * (tile / per_thread);

/// Elements op(x)[row][k] of a factor, zeroes beyond its ends.
__device__ __forceinline__ float element(const float* x, bool by_depth, std::size_t extent,
                                         std::size_t depth, std::size_t at, std::size_t k,
                                         std::size_t end) {
    if (at >= extent || k >= end) return 0.F;
    return by_depth ? x[k * extent + at] : x[at * depth + k];
}

__global__ void __launch_bounds__(threads)
    multiply_tiles(const DeviceProduct p, const std::size_t stretch, float* parts) {
    __shared__ float a[slice][tile + 1];
    __shared__ float b[slice][tile + 1];
    const std::size_t row = std::size_t{blockIdx.x} * tile;
    const std::size_t column = std::size_t{blockIdx.y} * tile;
    const std::size_t begin = std::size_t{blockIdx.z} * stretch;
    const std::size_t end = begin + stretch < p.depth ? begin + stretch : p.depth;
    const int thread = static_cast<int>(threadIdx.x);
    const int my_row = thread / (tile / per_thread);
    const int my_column = thread % (tile / per_thread);
    const bool whole = gridDim.z == 1;
    float sums[per_thread][per_thread];
    for (int i = 0; i < per_thread; ++i) {
        for (int j = 0; j < per_thread; ++j) {
            const std::size_t r = row + static_cast<std::size_t>(my_row + i * (tile / per_thread));
            const std::size_t c =
                column + static_cast<std::size_t>(my_column + j * (tile / per_thread));
            const bool old = whole && p.add && r < p.rows && c < p.columns;
            sums[i][j] = old ? p.c[r * p.columns + c] : 0.F;
        }
    }
    for (std::size_t k = begin; k < end; k += slice) {
        for (int i = thread; i < slice * tile; i += threads) {
            // Side by side in memory, whichever way a factor lies.
            const int a_at = p.a_transposed ? i % tile : i / slice;
            const int a_k = p.a_transposed ? i / tile : i % slice;
            a[a_k][a_at] = element(p.a, p.a_transposed, p.rows, p.depth,
                                   row + static_cast<std::size_t>(a_at),
                                   k + static_cast<std::size_t>(a_k), end);
            const int b_at = p.b_transposed ? i / slice : i % tile;
            const int b_k = p.b_transposed ? i % slice : i / tile;
            b[b_k][b_at] = element(p.b, !p.b_transposed, p.columns, p.depth,
                                   column + static_cast<std::size_t>(b_at),
                                   k + static_cast<std::size_t>(b_k), end);
        }
        __syncthreads();
        // Not beyond the end: adding a zero could change the sign of one.
        const int steps = end - k < slice ? static_cast<int>(end - k) : slice;
        for (int s = 0; s < steps; ++s) {
            float x[per_thread];
            float y[per_thread];
            for (int i = 0; i < per_thread; ++i) {
                x[i] = a[s][my_row + i * (tile / per_thread)];
                y[i] = b[s][my_column + i * (tile / per_thread)];
            }
            for (int i = 0; i < per_thread; ++i) {
                for (int j = 0; j < per_thread; ++j)
                    sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
            }
        }
        __syncthreads();
    }
    float* const out = whole ? p.c : parts + blockIdx.z * p.rows * p.columns;
    for (int i = 0; i < per_thread; ++i) {
        for (int j = 0; j < per_thread; ++j) {
            const std::size_t r = row + static_cast<std::size_t>(my_row + i * (tile / per_thread));
            const std::size_t c =
                column + static_cast<std::size_t>(my_column + j * (tile / per_thread));
            if (r < p.rows && c < p.columns) out[r * p.columns + c] = sums[i][j];
        }
    }
}

}  // namespace

int launch_product(const DeviceProduct& product, float* parts, void* stream) {
    if (product.rows == 0 || product.columns == 0) return 0;
    const ProductParts cut = product_parts(product);
    const dim3 grid(static_cast<unsigned>((product.rows + tile - 1) / tile),
                    static_cast<unsigned>((product.columns + tile - 1) / tile),
                    static_cast<unsigned>(cut.count));
    multiply_tiles<<<grid, threads, 0, static_cast<cudaStream_t>(stream)>>>(product, cut.stretch,
                                                                            parts);
    return static_cast<int>(cudaGetLastError());
}

}  // namespace rudder::nn
