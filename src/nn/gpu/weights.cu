// Kernels of weights: clipping and optimisers.
#include "launch.cuh"

namespace rudder::nn {

template int launch_body(const SquareSums&, std::size_t, void*);
template int launch_body(const ClipFactor&, std::size_t, void*);
template int launch_body(const AdamStep&, std::size_t, void*);
template int launch_body(const SgdStep&, std::size_t, void*);
template int launch_body(const AddStretches&, std::size_t, void*);

}  // namespace rudder::nn
