// Bytes received in a step or a run, by what they were about.
#pragma once

#include "rudder/comm/accounts.hpp"
#include "rudder/core/fields.hpp"

namespace rudder::comm {

struct Bytes {
    std::uint64_t features = 0;
    std::uint64_t requests = 0;
    std::uint64_t topology = 0;
    std::uint64_t gradients = 0;
    std::uint64_t evaluation = 0;
    std::uint64_t control = 0;

    static constexpr auto fields = field_list(
        field("features", &Bytes::features, FieldKind::count, "Bytes of feature rows received"),
        field("requests", &Bytes::requests, FieldKind::count, "Bytes of requests received"),
        field("topology", &Bytes::topology, FieldKind::count, "Bytes of neighbour lists received"),
        field("gradients", &Bytes::gradients, FieldKind::count, "Bytes of gradients received"),
        field("evaluation", &Bytes::evaluation, FieldKind::count, "Bytes received for evaluation"),
        field("control", &Bytes::control, FieldKind::count, "All other bytes received"));

    Bytes() = default;
    /// As a transport counts them.
    explicit Bytes(const std::array<std::uint64_t, kind_count>& by_kind) noexcept {
        std::size_t kind = 0;
        for_each_field<Bytes>([&](const auto& f) { this->*f.member = by_kind[kind++]; });
    }
    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for_each_field<Bytes>([&](const auto& f) { sum += this->*f.member; });
        return sum;
    }
    Bytes& operator+=(const Bytes& other) noexcept { return add_fields(*this, other); }
    friend Bytes operator-(const Bytes& a, const Bytes& b) noexcept { return minus_fields(a, b); }
    friend bool operator==(const Bytes&, const Bytes&) = default;
};
static_assert(lists_all_fields<Bytes> && field_count<Bytes> == kind_count);

/// Messages received that may be coded.
struct CodedBytes {
    std::uint64_t messages = 0;
    std::uint64_t coded = 0;      ///< of them; the others travelled plain
    std::uint64_t plain = 0;      ///< bytes they hold
    std::uint64_t travelled = 0;  ///< bytes they came as, which `Bytes` count

    static constexpr auto fields =
        field_list(field("messages", &CodedBytes::messages, FieldKind::count),
                   field("coded", &CodedBytes::coded, FieldKind::count),
                   field("plain", &CodedBytes::plain, FieldKind::count),
                   field("travelled", &CodedBytes::travelled, FieldKind::count));
    CodedBytes& operator+=(const CodedBytes& other) noexcept { return add_fields(*this, other); }
    friend CodedBytes operator-(const CodedBytes& a, const CodedBytes& b) noexcept {
        return minus_fields(a, b);
    }
    friend bool operator==(const CodedBytes&, const CodedBytes&) = default;
};
static_assert(lists_all_fields<CodedBytes>);

/// The same by what they were about, and how long it took to code and decode.
struct CodingTotals {
    CodedBytes features;
    CodedBytes topology;
    CodedBytes gradients;
    CodedBytes evaluation;
    double seconds = 0;

    static constexpr auto fields = field_list(
        field("features", &CodingTotals::features), field("topology", &CodingTotals::topology),
        field("gradients", &CodingTotals::gradients),
        field("evaluation", &CodingTotals::evaluation),
        field("seconds", &CodingTotals::seconds, FieldKind::seconds));
    CodingTotals& operator+=(const CodingTotals& other) noexcept {
        return add_fields(*this, other);
    }
    friend CodingTotals operator-(const CodingTotals& a, const CodingTotals& b) noexcept {
        return minus_fields(a, b);
    }
};
static_assert(lists_all_fields<CodingTotals>);

}  // namespace rudder::comm
