// Kernels of sums over blocks.
#include "launch.cuh"

namespace rudder::nn {

template int launch_body(const InverseCounts&, std::size_t, void*);
template int launch_body(const WeighBlock&, std::size_t, void*);
template int launch_body(const GatherSum&, std::size_t, void*);

int probe_kernels() {
    cudaFuncAttributes attributes{};
    return static_cast<int>(cudaFuncGetAttributes(&attributes, run_items<GatherSum>));
}

}  // namespace rudder::nn
