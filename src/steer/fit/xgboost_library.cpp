#include "xgboost_library.hpp"

#include <cstdlib>

#include <dlfcn.h>

#include "core/build_parts.hpp"
#include "rudder/core/error.hpp"

namespace rudder::steer {

namespace {

constexpr const char* remedy =
    "install libxgboost0 (Debian, Ubuntu), or set RUDDER_XGBOOST to a libxgboost.so";

void* open(std::string& path) {
    const char* given = std::getenv("RUDDER_XGBOOST");
    if (given != nullptr && *given != '\0') {
        path = given;
        return ::dlopen(given, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    }
    for (const char* name : {"libxgboost.so.0", "libxgboost.so"}) {
        path = name;
        if (void* library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) return library;
    }
    return nullptr;
}

template <class Function>
void find(void* library, const char* name, const std::string& path, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) {
        throw Error(ErrorKind::failed, std::string("this XGBoost has no function ") + name, path,
                    std::string("1.6 or newer is needed: ") + remedy);
    }
}

XgboostLibrary load() {
    if (!built_in("XGBoost")) throw missing_part("XGBoost", "agent train", "fit another kind");
    XgboostLibrary xgboost;
    void* library = open(xgboost.path);
    if (library == nullptr) {
        const char* why = ::dlerror();
        throw Error(ErrorKind::failed,
                    std::string("fitting trees needs XGBoost, which cannot be loaded: ") +
                        (why != nullptr ? why : ""),
                    xgboost.path, remedy);
    }
    const std::string& path = xgboost.path;
    find(library, "XGDMatrixCreateFromMat", path, xgboost.matrix_create);
    find(library, "XGDMatrixSetFloatInfo", path, xgboost.matrix_set);
    find(library, "XGDMatrixFree", path, xgboost.matrix_free);
    find(library, "XGBoosterCreate", path, xgboost.booster_create);
    find(library, "XGBoosterSetParam", path, xgboost.booster_set);
    find(library, "XGBoosterUpdateOneIter", path, xgboost.booster_update);
    find(library, "XGBoosterSaveModelToBuffer", path, xgboost.booster_save);
    find(library, "XGBoosterFree", path, xgboost.booster_free);
    find(library, "XGBGetLastError", path, xgboost.last_error);
    return xgboost;
}

}  // namespace

const XgboostLibrary& xgboost_library() {
    static const XgboostLibrary library = load();
    return library;
}

bool have_xgboost() noexcept {
    try {
        static_cast<void>(xgboost_library());
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace rudder::steer
