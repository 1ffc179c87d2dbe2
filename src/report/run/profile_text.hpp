// profile.json in memory, event by event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "rudder/core/error.hpp"
#include "rudder/core/function_ref.hpp"

namespace rudder::report {

/// An event of the file, as far as it is needed.
struct TraceEvent {
    char phase = 0;  ///< X a span, M a name
    std::string_view name;
    std::string_view category;
    std::int64_t process = 0;
    std::int64_t thread = 0;
    double start = 0;
    double length = 0;
    std::optional<std::uint64_t> step{};
    std::string_view text{};  ///< the name that a name event gives
    std::int64_t place = 0;   ///< the place that it gives
};

/// The file, gone through as often as need be. An input Error if it is no profile.
class ProfileText {
public:
    explicit ProfileText(const std::filesystem::path& file);

    void for_each(FunctionRef<void(const TraceEvent&)> body);

private:
    [[nodiscard]] Error broken() const;
    std::string where_;
    std::string text_;
    std::size_t size_;
};

}  // namespace rudder::report
