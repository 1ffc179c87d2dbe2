// Kernels of attention.
#include "launch.cuh"

namespace rudder::nn {

template int launch_body(const HeadDots&, std::size_t, void*);
template int launch_body(const AttendAdditive&, std::size_t, void*);
template int launch_body(const AttendAdditiveBack&, std::size_t, void*);
template int launch_body(const GatherAdditive&, std::size_t, void*);
template int launch_body(const AttendDynamic&, std::size_t, void*);
template int launch_body(const AttendDynamicBack&, std::size_t, void*);
template int launch_body(const GatherDynamic&, std::size_t, void*);
template int launch_body(const MeanOfHeads&, std::size_t, void*);
template int launch_body(const PartHeads&, std::size_t, void*);

}  // namespace rudder::nn
