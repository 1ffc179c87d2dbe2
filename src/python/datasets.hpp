// Data sets from Python: made of files, divided, described.
#pragma once

#include <cstdint>
#include <string>

namespace rudder::python {

struct ImportRequest {
    std::string input;  ///< an archive of NumPy's arrays
    std::string output;
    bool directed = false;
    std::string split;  ///< used where the archive gives none; empty: the default
    std::uint64_t seed = 0;
    bool force = false;
};
void import_arrays(const ImportRequest& request);

struct DivideRequest {
    std::string data;
    std::string output;
    std::uint64_t parts = 1;
    std::string method;  ///< empty: the default
    std::uint64_t seed = 0;
    bool force = false;
};
void divide(const DivideRequest& request);

/// What lies there, a data set or parts, as an object of JSON; an input Error otherwise.
[[nodiscard]] std::string described(const std::string& path);

}  // namespace rudder::python
