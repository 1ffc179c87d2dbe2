// The few functions of XGBoost that are called, found when it is loaded.
#pragma once

#include <cstdint>
#include <string>

namespace rudder::steer {

/// XGBoost's C interface, loaded at its first use, so that only whoever fits trees needs it.
struct XgboostLibrary {
    using Handle = void*;
    std::string path;
    int (*matrix_create)(const float*, std::uint64_t, std::uint64_t, float, Handle*) = nullptr;
    int (*matrix_set)(Handle, const char*, const float*, std::uint64_t) = nullptr;
    int (*matrix_free)(Handle) = nullptr;
    int (*booster_create)(const Handle*, std::uint64_t, Handle*) = nullptr;
    int (*booster_set)(Handle, const char*, const char*) = nullptr;
    int (*booster_update)(Handle, int, Handle) = nullptr;
    int (*booster_save)(Handle, const char*, std::uint64_t*, const char**) = nullptr;
    int (*booster_free)(Handle) = nullptr;
    const char* (*last_error)() = nullptr;
};

/// Loads it once; a failed Error that says how to get it if it is not there.
const XgboostLibrary& xgboost_library();
/// Whether it is there.
[[nodiscard]] bool have_xgboost() noexcept;

}  // namespace rudder::steer
