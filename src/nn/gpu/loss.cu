// Kernels of losses.
#include "launch.cuh"

namespace rudder::nn {

template int launch_body(const ClassLoss&, std::size_t, void*);
template int launch_body(const MultilabelLoss&, std::size_t, void*);
template int launch_body(const SquaredLoss&, std::size_t, void*);

}  // namespace rudder::nn
