// The few functions of libtorch that are called, found when it is loaded.
#pragma once

#include <string>

namespace rudder {

/// libtorch, loaded at its first use: linked, it would cost every start of the program, whichever
/// the verb, about 0.2 s.
struct TorchLibrary {
    using Multiply = void(const char*, const char*, const int*, const int*, const int*,
                          const float*, const float*, const int*, const float*, const int*,
                          const float*, float*, const int*);
    std::string path;
    Multiply* multiply = nullptr;         ///< sgemm of BLAS: Fortran's interface, 32-bit integers
    int (*limit_threads)(int) = nullptr;  ///< of the calling thread, in MKL; may be absent
};

/// Loads it once; an Error that says where it was sought if it is not there.
const TorchLibrary& torch_library();

}  // namespace rudder
