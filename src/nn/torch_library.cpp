#include "torch_library.hpp"

#include <cstdlib>

#include <dlfcn.h>

#include "rudder/core/error.hpp"
#include "rudder/nn/runtime.hpp"

namespace rudder {

namespace {

/// The folder the user names now, or the one the build was configured with.
std::string library_path() {
    const char* given = std::getenv("RUDDER_TORCH");
    if (given != nullptr && *given != '\0') return std::string(given) + "/lib/libtorch_cpu.so";
    return RUDDER_TORCH_LIBRARY;
}

template <class Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

TorchLibrary load() {
    prepare_torch_environment();
    TorchLibrary torch;
    torch.path = library_path();
    // It stays loaded: its threads and at-exit functions would outlive its code.
    void* library = ::dlopen(torch.path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char* why = ::dlerror();
        throw Error(ErrorKind::failed, std::string("cannot load libtorch: ") + (why ? why : ""),
                    torch.path, "run 'make setup', or set RUDDER_TORCH to the folder of torch");
    }
    torch.multiply = find<TorchLibrary::Multiply>(library, "sgemm_");
    torch.limit_threads = find<int(int)>(library, "MKL_Set_Num_Threads_Local");
    if (torch.multiply == nullptr) {
        throw Error(ErrorKind::failed, "this libtorch has no BLAS (sgemm_) inside", torch.path,
                    "use the torch that 'make setup' installs");
    }
    return torch;
}

}  // namespace

const TorchLibrary& torch_library() {
    static const TorchLibrary library = load();
    return library;
}

}  // namespace rudder
