// The style and the script of a page, which lie in assets/ and are built in.
#pragma once

#include <string_view>

namespace rudder::report {

extern const std::string_view page_style;
extern const std::string_view page_script;
/// Of the script, as a content security policy wants it; a test computes it again.
extern const std::string_view page_script_hash;

}  // namespace rudder::report
