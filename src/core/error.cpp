#include "rudder/core/error.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/checked.hpp"

namespace rudder {

Error::Error(ErrorKind kind, std::string what, std::string where, std::string remedy,
             std::optional<int> rank)
    : kind_(kind),
      problem_(std::move(what)),
      where_(std::move(where)),
      remedy_(std::move(remedy)),
      rank_(rank),
      text_(problem_) {
    if (!where_.empty()) text_ += "\n  where: " + where_;
    if (!remedy_.empty()) text_ += "\n  to do: " + remedy_;
}

Error input_error(std::string what, std::string where, std::string remedy) {
    return {ErrorKind::input, std::move(what), std::move(where), std::move(remedy)};
}

Error usage_error(std::string what, std::string where, std::string remedy) {
    return {ErrorKind::usage, std::move(what), std::move(where), std::move(remedy)};
}

namespace {

/// What a user can do about the errors a file system gives.
const char* remedy_for(int code) {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return "free some space, or choose another place";
        case EROFS:
        case EACCES:
        case EPERM:
            return "choose a place you may write to, or change its permissions";
        case ENOMEM:
            return "free some memory, or work on a smaller graph";
        case EMFILE:
        case ENFILE:
            return "raise the limit of open files (ulimit -n)";
        default:
            return "check the path and the disk";
    }
}

}  // namespace

Error system_error(std::string what, std::string where, int code) {
    return {ErrorKind::failed, fmt::format("{}: {}", what, std::strerror(code)), std::move(where),
            remedy_for(code)};
}

InternalError::InternalError(std::string_view condition, const char* file, int line)
    : text_(fmt::format("internal error: '{}' does not hold ({}:{}); this is a bug in rudder",
                        condition, file, line)) {}

void fail_check(const char* condition, const char* file, int line) {
    throw InternalError(condition, file, line);
}

void throw_narrowing(std::string_view what) {
    throw input_error(fmt::format("{} does not fit its type", what), "",
                      "use smaller numbers or more parts");
}

void throw_overflow(std::string_view what) {
    throw input_error(fmt::format("{} overflows 64 bits", what), "", "use smaller numbers");
}

}  // namespace rudder
