#include "cublas.hpp"

#include <array>
#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

namespace rudder::nn {

// As cuBLAS 12 and 13 declare them; the numbers are those of their enumerations.
struct CublasProducts::Functions {
    int (*create)(void** handle);
    int (*destroy)(void* handle);
    int (*version)(void* handle, int* version);
    int (*set_stream)(void* handle, void* stream);
    int (*set_workspace)(void* handle, void* workspace, std::size_t bytes);
    int (*set_math_mode)(void* handle, int mode);
    int (*set_atomics_mode)(void* handle, int mode);
    int (*sgemm)(void* handle, int a_op, int b_op, int m, int n, int k, const float* alpha,
                 const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                 int ldc);
};

namespace {

constexpr int default_math = 0;  ///< float32 throughout
constexpr int no_atomics = 0;
constexpr int as_it_is = 0;
constexpr int transposed = 1;

void* open_cublas() {
    const char* given = std::getenv("RUDDER_CUBLAS");
    if (given != nullptr && *given != '\0') return ::dlopen(given, RTLD_NOW | RTLD_LOCAL);
    constexpr std::array names{"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                               "/usr/local/cuda/lib64/libcublas.so"};
    for (const char* name : names) {
        if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    }
    return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

}  // namespace

CublasProducts::CublasProducts() : functions_(std::make_unique<Functions>()) {}

CublasProducts::~CublasProducts() {
    if (handle_ != nullptr) functions_->destroy(handle_);
}

std::unique_ptr<CublasProducts> CublasProducts::load(void* stream, void* workspace,
                                                     std::size_t bytes, std::string& reason) {
    void* const library = open_cublas();
    if (library == nullptr) {
        const char* error = ::dlerror();
        reason = error == nullptr ? "libcublas was not found" : error;
        return nullptr;
    }
    std::unique_ptr<CublasProducts> made(new CublasProducts);
    Functions& f = *made->functions_;
    const bool all = find(library, "cublasCreate_v2", f.create) &&
                     find(library, "cublasDestroy_v2", f.destroy) &&
                     find(library, "cublasGetVersion_v2", f.version) &&
                     find(library, "cublasSetStream_v2", f.set_stream) &&
                     find(library, "cublasSetWorkspace_v2", f.set_workspace) &&
                     find(library, "cublasSetMathMode", f.set_math_mode) &&
                     find(library, "cublasSetAtomicsMode", f.set_atomics_mode) &&
                     find(library, "cublasSgemm_v2", f.sgemm);
    if (!all) {
        reason = "libcublas lacks a function";
        return nullptr;
    }
    int version = 0;
    if (const int error = f.create(&made->handle_); error != 0) {
        made->handle_ = nullptr;
        reason = fmt::format("cuBLAS did not start: error {}", error);
        return nullptr;
    }
    const bool set = f.set_stream(made->handle_, stream) == 0 &&
                     f.set_workspace(made->handle_, workspace, bytes) == 0 &&
                     f.set_math_mode(made->handle_, default_math) == 0 &&
                     f.set_atomics_mode(made->handle_, no_atomics) == 0 &&
                     f.version(made->handle_, &version) == 0;
    if (!set) {
        reason = "cuBLAS could not be set up";
        return nullptr;
    }
    const int major = version / 10000;
    made->version_ = fmt::format("{}.{}", major, version / 100 % 100);
    return made;
}

/// The library's matrices lie by columns: ours are their transposes, so c' = op(b)' op(a)'.
int CublasProducts::multiply(const DeviceProduct& p) const {
    const auto number = [](std::size_t n) { return static_cast<int>(n); };
    const float one = 1;
    const float old = p.add ? 1.F : 0.F;
    return functions_->sgemm(
        handle_, p.b_transposed ? transposed : as_it_is, p.a_transposed ? transposed : as_it_is,
        number(p.columns), number(p.rows), number(p.depth), &one, p.b,
        number(p.b_transposed ? p.depth : p.columns), p.a,
        number(p.a_transposed ? p.rows : p.depth), &old, p.c, number(p.columns));
}

}  // namespace rudder::nn
