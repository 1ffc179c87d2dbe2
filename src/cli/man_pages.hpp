// The manual pages, made from what --help prints: rudder.1 and rudder-VERB.1.
#pragma once

#include <string>
#include <vector>

namespace rudder::cli {

/// A file that the program makes of itself.
struct MadeFile {
    std::string name;
    std::string text;
};

/// rudder.1 first, then a page for each verb in the order of the help.
[[nodiscard]] std::vector<MadeFile> man_pages();

}  // namespace rudder::cli
