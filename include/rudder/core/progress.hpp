// How far long work has come, told to whoever shows it.
#pragma once

#include <cstdint>
#include <string_view>

namespace rudder {

/// Receives the advance of long work. The default body shows nothing; the command line has one
/// that draws a bar. `advance` may be called from any thread, about once per chunk.
class Progress {
public:
    virtual ~Progress() = default;
    /// A new phase of `total` units begins (0: unknown).
    virtual void phase(std::string_view /*name*/, std::uint64_t /*total*/) {}
    virtual void advance(std::uint64_t /*units*/) {}
    virtual void done() {}

    /// The one that shows nothing.
    [[nodiscard]] static Progress& none() noexcept {
        static Progress silent;
        return silent;
    }
};

}  // namespace rudder
