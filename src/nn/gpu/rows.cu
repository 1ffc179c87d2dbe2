// Kernels of rows by themselves and of columns over all rows.
#include "launch.cuh"

namespace rudder::nn {

template int launch_body(const FinishRows&, std::size_t, void*);
template int launch_body(const UndoRows&, std::size_t, void*);
template int launch_body(const NormRows&, std::size_t, void*);
template int launch_body(const UndoNormRows&, std::size_t, void*);
template int launch_body(const NormColumns&, std::size_t, void*);
template int launch_body(const UndoNormColumns&, std::size_t, void*);
template int launch_body(const ExpandRows&, std::size_t, void*);
template int launch_body(const ColumnSums&, std::size_t, void*);
template int launch_body(const ColumnFinish&, std::size_t, void*);
template int launch_body(const SpreadColumns&, std::size_t, void*);
template int launch_body(const ScaleElements&, std::size_t, void*);

}  // namespace rudder::nn
