#include "rudder/nn/runtime.hpp"

#include <cstdlib>
#include <mutex>

#include <dlfcn.h>

#include "rudder/core/error.hpp"
#include "rudder/core/system.hpp"
#include "rudder/nn/simd.hpp"

#include "torch_library.hpp"

namespace rudder {

namespace {

/// What was set, or kept, when the environment was prepared.
struct Prepared {
    std::once_flag once;
    std::vector<RuntimeSetting> settings;
};

Prepared& prepared() {
    static Prepared state;
    return state;
}

/// Sets a variable unless the user did, and notes which.
void set_variable(std::vector<RuntimeSetting>& list, const char* name, const char* value,
                  const char* reason) {
    const char* user = std::getenv(name);
    if (user == nullptr) {
        ::setenv(name, value, 0);
        list.push_back({name, value, reason});
    } else {
        list.push_back({name, user, "kept as the environment has it"});
    }
}

void prepare(std::vector<RuntimeSetting>& list) {
    if (cpu_info().amx_broken) {
        constexpr const char* why =
            "AMX is announced but its tile leaf is hidden: oneDNN would run into an illegal "
            "instruction";
        set_variable(list, "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", why);
        set_variable(list, "DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16", why);
    }
    // GNU's OpenMP reads its variables when it is loaded, which is with libtorch, later; where
    // something else has brought it already, they would be a claim without effect.
    if (::dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr) return;
    set_variable(list, "OMP_WAIT_POLICY", "passive",
                 "a thread that waits gives its core away to ranks and tasks that share it");
    set_variable(list, "OMP_NUM_THREADS", "1",
                 "loops over chunks are ours; threads inside the libraries would only contend");
}

}  // namespace

void prepare_torch_environment() {
    std::call_once(prepared().once, [] { prepare(prepared().settings); });
}

void prepare_torch() {
    static_cast<void>(torch_library());
}

std::vector<RuntimeSetting> runtime_settings() {
    prepare_torch_environment();
    std::vector<RuntimeSetting> list = prepared().settings;
    try {
        const TorchLibrary& torch = torch_library();
        list.push_back(
            {"libtorch", torch.path, "loaded at its first use, so that other verbs start at once"});
        list.push_back({"threads of a matrix product",
                        torch.limit_threads != nullptr ? "1" : "the library's own number",
                        torch.limit_threads != nullptr
                            ? "set in each thread that multiplies, so that bits never depend on it"
                            : "this libtorch has no MKL inside that could be told"});
    } catch (const Error& error) {
        list.push_back({"libtorch", "not loaded", error.problem()});
    }
    list.push_back({"vector path", std::string(to_string(vector_path())),
                    "the widest of this processor; all give the same bits"});
    return list;
}

}  // namespace rudder
