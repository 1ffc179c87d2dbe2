#include "build_parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

namespace rudder {

namespace {

constexpr std::array<BuildPart, 9> parts{{
    {"MPI", "ranks over MPI", "libopenmpi-dev", RUDDER_HAS_MPI != 0},
    {"METIS", "partition --method metis", "libmetis-dev", RUDDER_HAS_METIS != 0},
    {"libcurl", "agent llm with a server", "libcurl4-openssl-dev", RUDDER_HAS_CURL != 0},
    {"libmicrohttpd", "--metrics-port", "libmicrohttpd-dev", RUDDER_HAS_MICROHTTPD != 0},
    {"LIBLINEAR", "agent train lr and svm", "liblinear-dev", RUDDER_HAS_LIBLINEAR != 0},
    {"XGBoost", "agent train xgb", "libxgboost0", RUDDER_HAS_XGBOOST != 0},
    {"Zstandard", "--coding auto, packed tables", "libzstd-dev", RUDDER_HAS_ZSTD != 0},
    {"Arrow", "Parquet tables", "pyarrow (scripts/setup --parquet)", RUDDER_HAS_PARQUET != 0},
    {"CUDA", "--device cuda", "-DRUDDER_CUDA=ON, with nvcc", RUDDER_HAS_CUDA != 0},
}};

const BuildPart& find_part(std::string_view name) {
    const auto* const part = std::ranges::find(parts, name, &BuildPart::name);
    RUDDER_CHECK(part != parts.end());
    return *part;
}

}  // namespace

std::span<const BuildPart> build_parts() noexcept {
    return parts;
}

bool built_in(std::string_view name) {
    return find_part(name).built_in;
}

Error missing_part(std::string_view name, std::string where, std::string_view instead) {
    return usage_error(fmt::format("this build has no {}", name), std::move(where),
                       fmt::format("{}{}rebuild with {}", instead, instead.empty() ? "" : ", or ",
                                   find_part(name).package));
}

void require_part(std::string_view name, const std::string& where) {
    if (!built_in(name)) throw missing_part(name, where);
}

}  // namespace rudder
