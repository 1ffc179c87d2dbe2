// Events of TensorBoard as bytes: the few protocol buffers that we write, and CRC-32C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rudder::report {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;
/// As it stands in a record: a sum of bytes that hold sums would say little otherwise.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes) noexcept;

/// Puts one event together and seals it as a record.
class EventBytes {
public:
    /// Begins an event; `wall_time` is in seconds since 1970.
    void begin(double wall_time, std::uint64_t step);
    /// What the file is; its first event.
    void file_version();
    /// A run goes on here: what was written of this step and later ones before does not count.
    void session_start();
    /// A value of the event; all of them belong to one summary.
    void value(std::string_view tag, float value);
    /// Appends the record to `out`.
    void end(std::string& out);

private:
    std::string event_;
    std::string summary_;
};

}  // namespace rudder::report
