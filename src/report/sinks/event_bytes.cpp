#include "event_bytes.hpp"

#include <array>
#include <bit>

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

namespace {

// Kinds of fields of protocol buffers.
constexpr std::uint32_t varint_field = 0;
constexpr std::uint32_t fixed64_field = 1;
constexpr std::uint32_t bytes_field = 2;
constexpr std::uint32_t fixed32_field = 5;

template <class T>
void append_fixed(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
        out += static_cast<char>(static_cast<std::uint8_t>(value >> (8U * i)));
}

void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U)
        out += static_cast<char>(static_cast<std::uint8_t>(value | 0x80U));
    out += static_cast<char>(value);
}

void append_key(std::string& out, std::uint32_t number, std::uint32_t kind) {
    append_varint(out, number << 3U | kind);
}

void append_bytes(std::string& out, std::uint32_t number, std::string_view bytes) {
    append_key(out, number, bytes_field);
    append_varint(out, bytes.size());
    out += bytes;
}

std::size_t varint_size(std::uint64_t value) {
    std::size_t size = 1;
    for (; value >= 0x80; value >>= 7U)
        ++size;
    return size;
}

}  // namespace

void EventBytes::begin(double wall_time, std::uint64_t step) {
    event_.clear();
    summary_.clear();
    append_key(event_, 1, fixed64_field);
    append_fixed(event_, std::bit_cast<std::uint64_t>(wall_time));
    append_key(event_, 2, varint_field);
    append_varint(event_, step);
}

void EventBytes::file_version() {
    append_bytes(event_, 3, "brain.Event:2");
}

void EventBytes::session_start() {
    std::string log;
    append_key(log, 1, varint_field);
    append_varint(log, 1);  // START
    append_bytes(event_, 7, log);
}

void EventBytes::value(std::string_view tag, float value) {
    const std::size_t size = 1 + varint_size(tag.size()) + tag.size() + 1 + sizeof(float);
    append_key(summary_, 1, bytes_field);
    append_varint(summary_, size);
    append_bytes(summary_, 1, tag);
    append_key(summary_, 2, fixed32_field);
    append_fixed(summary_, std::bit_cast<std::uint32_t>(value));
}

void EventBytes::end(std::string& out) {
    if (!summary_.empty()) append_bytes(event_, 5, summary_);
    const std::size_t start = out.size();
    append_fixed(out, static_cast<std::uint64_t>(event_.size()));
    append_fixed(out, masked_crc32c(std::string_view(out).substr(start)));
    out += event_;
    append_fixed(out, masked_crc32c(event_));
}

}  // namespace rudder::report
