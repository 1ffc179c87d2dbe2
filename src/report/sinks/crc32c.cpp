#include "report/crc32c.hpp"

#include <array>

namespace rudder::report {

namespace {

constexpr std::uint32_t polynomial = 0x82F63B78;  // reflected
constexpr std::size_t slices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, slices>;

/// tables[k][b]: what byte b does to the sum when k further bytes follow.
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t sum = byte;
        for (int bit = 0; bit < 8; ++bit)
            sum = (sum & 1U) != 0 ? (sum >> 1U) ^ polynomial : sum >> 1U;
        tables[0][byte] = sum;
    }
    for (std::size_t k = 1; k < slices; ++k) {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
        }
    }
    return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
    std::uint32_t sum = ~0U;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    std::size_t i = 0;
    for (; i + slices <= bytes.size(); i += slices) {
        std::uint32_t next = 0;
        for (std::size_t k = 0; k < slices; ++k) {
            const std::uint32_t mixed = k < 4 ? (sum >> (8U * k)) & 0xFFU : 0;
            next ^= tables[slices - 1 - k][mixed ^ byte(i + k)];
        }
        sum = next;
    }
    for (; i < bytes.size(); ++i)
        sum = (sum >> 8U) ^ tables[0][(sum ^ byte(i)) & 0xFFU];
    return ~sum;
}

std::uint32_t masked_crc32c(std::string_view bytes) noexcept {
    const std::uint32_t sum = crc32c(bytes);
    return ((sum >> 15U) | (sum << 17U)) + 0xA282EAD8U;
}

}  // namespace rudder::report
