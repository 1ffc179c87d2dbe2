// What a machine and its network can do: measured by `rudder bench`, read by whoever plans runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/fields.hpp"

namespace rudder {

/// The machine that was measured.
struct MachineFacts {
    std::string name;       ///< of the host, or of the built-in profile
    std::string processor;  ///< as the machine names it
    std::uint64_t cores = 1;
    std::uint64_t memory = 0;  ///< bytes; 0: not known
    std::string measured;      ///< date and time in UTC; empty: assumed, not measured
    std::string program;       ///< version of Rudder

    static constexpr auto fields = field_list(
        field("name", &MachineFacts::name, FieldKind::plain, "the host that was measured"),
        field("processor", &MachineFacts::processor, FieldKind::plain, "its processor"),
        field("cores", &MachineFacts::cores, FieldKind::plain, "that the measuring process had"),
        field("memory", &MachineFacts::memory, FieldKind::plain, "bytes; 0: not known"),
        field("measured", &MachineFacts::measured, FieldKind::plain,
              "when, in UTC; empty: assumed, not measured"),
        field("program", &MachineFacts::program, FieldKind::plain, "version of rudder"));
};

/// What one rank computes with so many threads.
struct ComputeRates {
    std::uint64_t threads = 1;
    double shared_edges_per_second = 0;
    double plain_edges_per_second = 0;
    double gather_bytes_per_second = 0;
    double product_flops_per_second = 0;
    double aggregate_bytes_per_second = 0;
    double policy_rows_per_second = 0;
    double step_factor = 1;

    static constexpr auto fields = field_list(
        field("threads", &ComputeRates::threads, FieldKind::plain, "of one rank"),
        field("shared_edges_per_second", &ComputeRates::shared_edges_per_second, FieldKind::plain,
              "neighbours that sampler shared draws"),
        field("plain_edges_per_second", &ComputeRates::plain_edges_per_second, FieldKind::plain,
              "neighbours that sampler plain draws"),
        field("gather_bytes_per_second", &ComputeRates::gather_bytes_per_second, FieldKind::plain,
              "rows copied from where they lie, at random, into the input of a batch"),
        field("product_flops_per_second", &ComputeRates::product_flops_per_second, FieldKind::plain,
              "multiplications and additions of matrix products, forward and backward"),
        field("aggregate_bytes_per_second", &ComputeRates::aggregate_bytes_per_second,
              FieldKind::plain, "rows of neighbours read for their means"),
        field("policy_rows_per_second", &ComputeRates::policy_rows_per_second, FieldKind::plain,
              "remote rows of steps that policy window decides on"),
        field("step_factor", &ComputeRates::step_factor, FieldKind::plain,
              "a step's compute over what its products and means take by these rates"));
};
static_assert(lists_all_fields<ComputeRates>);

/// How long one message of a size takes between two ranks, one way.
struct MessageTime {
    std::uint64_t bytes = 0;
    double seconds = 0;

    static constexpr auto fields =
        field_list(field("bytes", &MessageTime::bytes, FieldKind::plain, "of a message"),
                   field("seconds", &MessageTime::seconds, FieldKind::plain, "one way"));
};

/// What the way between two ranks does: of one host, or of different ones.
struct LinkRates {
    double latency_us = 0;
    double bytes_per_second = 0;
    double messages_per_second = 0;
    double all_bytes_per_second = 0;
    std::vector<MessageTime> sizes{};

    static constexpr auto fields = field_list(
        field("latency_us", &LinkRates::latency_us, FieldKind::plain,
              "half a round trip of 8 bytes, microseconds"),
        field("bytes_per_second", &LinkRates::bytes_per_second, FieldKind::plain,
              "of one pair, one way, in messages of 1 MiB"),
        field("messages_per_second", &LinkRates::messages_per_second, FieldKind::plain,
              "of 8 bytes, one pair, one way, many under way"),
        field("all_bytes_per_second", &LinkRates::all_bytes_per_second, FieldKind::plain,
              "that each rank sends while all do; of the slowest rank"),
        field("sizes", &LinkRates::sizes, FieldKind::plain, "messages by size, one pair"));
};

/// An exchange of all ranks with all: how much each sends to each other on average, and how long it
/// takes.
struct ExchangeTime {
    std::uint64_t bytes = 0;
    double skew = 1;
    double seconds = 0;

    static constexpr auto fields = field_list(
        field("bytes", &ExchangeTime::bytes, FieldKind::plain, "to each other rank, on average"),
        field("skew", &ExchangeTime::skew, FieldKind::plain,
              "what the rank receives that receives most, over the mean"),
        field("seconds", &ExchangeTime::seconds, FieldKind::plain, "of the slowest rank"));
};

/// What the ranks of a cluster can do together.
struct NetworkRates {
    std::vector<std::string> hosts{};        ///< their names, in the order of their ranks
    std::vector<std::uint64_t> ranks{};      ///< of each host
    std::string carrier;                     ///< what carried the messages: MPI or sockets
    std::string link;                        ///< the modelled link (--link), or nothing
    double barrier_us = 0;                   ///< over all ranks
    std::optional<LinkRates> within{};       ///< between ranks of one host
    std::optional<LinkRates> between{};      ///< between ranks of different hosts
    std::vector<ExchangeTime> all_to_all{};  ///< by bytes, then by skew
    std::vector<MessageTime> reductions{};   ///< ordered sums: bytes of the vector

    [[nodiscard]] std::uint64_t all_ranks() const;
    /// The rates between hosts, else within one; one of them is there.
    [[nodiscard]] const LinkRates& widest() const { return between ? *between : *within; }

    static constexpr auto fields = field_list(
        field("hosts", &NetworkRates::hosts, FieldKind::plain, "in the order of their ranks"),
        field("ranks", &NetworkRates::ranks, FieldKind::plain, "of each host"),
        field("carrier", &NetworkRates::carrier, FieldKind::plain, "of messages"),
        field("link", &NetworkRates::link, FieldKind::plain, "modelled by --link; empty: none"),
        field("barrier_us", &NetworkRates::barrier_us, FieldKind::plain,
              "over all ranks, microseconds"),
        field("within", &NetworkRates::within, FieldKind::plain, "between ranks of one host"),
        field("between", &NetworkRates::between, FieldKind::plain,
              "between ranks of different hosts"),
        field("all_to_all", &NetworkRates::all_to_all, FieldKind::plain, "all ranks with all"),
        field("reductions", &NetworkRates::reductions, FieldKind::plain,
              "sums of a vector of so many bytes over all ranks"));
};

/// A machine profile: a TOML file.
struct MachineProfile {
    static constexpr std::uint64_t version = 1;  ///< of the format

    MachineFacts machine;
    std::vector<ComputeRates> compute{};    ///< by threads, ascending; at least one
    std::optional<NetworkRates> network{};  ///< nothing where one rank alone was measured

    /// The rates with so many threads: between two that were measured in proportion, beyond them
    /// those of the nearest.
    [[nodiscard]] ComputeRates compute_with(std::uint64_t threads) const;

    static constexpr auto fields =
        field_list(field("machine", &MachineProfile::machine, FieldKind::plain, ""),
                   field("compute", &MachineProfile::compute, FieldKind::plain, "by threads"),
                   field("network", &MachineProfile::network, FieldKind::plain, "of the cluster"));
};

/// Profiles that are built in, for whoever has measured none: `built-in:NAME`.
[[nodiscard]] std::span<const std::string_view> built_in_profiles();

/// The profile in a file, or a built-in one by `built-in:NAME`. An input Error names file, line and
/// key of what is unknown, missing, negative or of another version.
[[nodiscard]] MachineProfile read_machine_profile(const std::string& file_or_name);
/// The same of a text; `where` stands for the file in messages.
[[nodiscard]] MachineProfile parse_machine_profile(std::string_view text, const std::string& where);
/// As TOML, with a comment at each key; read back, it is the same to the bit.
[[nodiscard]] std::string machine_profile_toml(const MachineProfile& profile);

}  // namespace rudder
