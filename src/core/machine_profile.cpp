#include "machine_profile.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <numeric>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"

#include "toml_table.hpp"

namespace rudder {

namespace {

constexpr std::string_view built_in_prefix = "built-in:";

// ---- reading -----------------------------------------------------------------------------------

template <class M>
struct ListOf : std::false_type {};
template <class M>
struct ListOf<std::vector<M>> : std::true_type {
    using Item = M;
};

template <class M>
inline constexpr bool is_below = false;  ///< a table of its own
template <Listed M>
inline constexpr bool is_below<M> = true;
template <Listed M>
inline constexpr bool is_below<std::vector<M>> = true;
template <Listed M>
inline constexpr bool is_below<std::optional<M>> = true;

/// What a table, a list of tables or an optional table holds.
template <class M>
struct FieldsBelow {
    using Type = M;
};
template <class M>
struct FieldsBelow<std::vector<M>> {
    using Type = M;
};
template <class M>
struct FieldsBelow<std::optional<M>> {
    using Type = M;
};

/// Refuses keys that are no fields, here and in all tables below. Before anything is read: a key
/// that is misspelt is also missing under its right name, and this says where it is.
template <Listed T>
void refuse_unknown(const TomlTable& table) {
    for_each_field<T>([&](const auto& f) { static_cast<void>(table.has(f.name)); });
    table.finish();
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        if constexpr (is_below<M>) {
            if (!table.has(f.name)) return;
            using Below = typename FieldsBelow<M>::Type;
            if constexpr (ListOf<M>::value) {
                for (const TomlTable& each : table.tables(f.name))
                    refuse_unknown<Below>(each);
            } else {
                refuse_unknown<Below>(table.table(f.name));
            }
        }
    });
}

template <Listed T>
T read_fields(const TomlTable& table);

/// One value, by its type. Numbers with a fraction are rates and times, which are above 0.
template <class M>
void read_value(const TomlTable& table, std::string_view key, M& value) {
    if constexpr (Listed<M>) {
        value = read_fields<M>(table.table(key));
    } else if constexpr (std::same_as<M, std::string>) {
        value = table.text(key);
    } else if constexpr (std::same_as<M, double>) {
        value = table.number(key, {.least = 0, .above = true});
    } else if constexpr (std::same_as<M, std::uint64_t>) {
        value = table.whole(key);
    } else if constexpr (std::same_as<M, std::vector<std::string>>) {
        value = table.texts(key);
    } else if constexpr (std::same_as<M, std::vector<std::uint64_t>>) {
        value = table.wholes(key, {.least = 1});
    } else {
        static_assert(ListOf<M>::value);
        for (const TomlTable& each : table.tables(key))
            value.push_back(read_fields<typename ListOf<M>::Item>(each));
    }
}
template <class M>
void read_value(const TomlTable& table, std::string_view key, std::optional<M>& value) {
    if (table.has(key)) read_value(table, key, value.emplace());
}

template <Listed T>
T read_fields(const TomlTable& table) {
    T value{};
    for_each_field<T>([&](const auto& f) { read_value(table, f.name, value.*f.member); });
    return value;
}

/// Bytes of lists are above 0 and ascending, so that a size is found between its neighbours.
template <class T>
void check_sizes(const TomlTable& owner, std::string_view key, const std::vector<T>& list) {
    const auto tables = owner.tables(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].bytes == 0) throw tables[i].fault("bytes", "0", "give a number above 0");
        const bool after = i == 0 || list[i].bytes > list[i - 1].bytes ||
                           (std::same_as<T, ExchangeTime> && list[i].bytes == list[i - 1].bytes);
        if (!after) {
            throw tables[i].fault("bytes",
                                  fmt::format("{} after {}", list[i].bytes, list[i - 1].bytes),
                                  "list sizes in ascending order, each once");
        }
    }
}

void check_network(const TomlTable& table, const NetworkRates& network) {
    if (network.hosts.empty()) throw table.fault("hosts", "none", "name the hosts");
    if (network.ranks.size() != network.hosts.size()) {
        throw table.fault(
            "ranks",
            fmt::format("{} numbers for {} hosts", network.ranks.size(), network.hosts.size()),
            "give the number of ranks of each host");
    }
    if (!network.within && !network.between) {
        throw table.fault("a network has neither 'within' nor 'between'",
                          "add [network.between] with its rates, or leave [network] out");
    }
    for (const std::string_view key : {"within", "between"}) {
        const auto& link = key == "within" ? network.within : network.between;
        if (link) check_sizes(table.table(key), "sizes", link->sizes);
    }
    check_sizes(table, "all_to_all", network.all_to_all);
    check_sizes(table, "reductions", network.reductions);
    for (const TomlTable& exchange : table.tables("all_to_all"))
        static_cast<void>(exchange.number("skew", {.least = 1}));
}

void check_compute(const TomlTable& top, const std::vector<ComputeRates>& compute) {
    if (compute.empty()) throw top.fault("key 'compute' is missing", "add a table [[compute]]");
    const auto tables = top.tables("compute");
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < compute.size(); ++i) {
        if (compute[i].threads <= before) {
            throw tables[i].fault("threads", fmt::format("{} after {}", compute[i].threads, before),
                                  "list numbers of threads in ascending order, each once");
        }
        before = compute[i].threads;
    }
}

MachineProfile read_profile(const TomlTable& top) {
    // Before everything else: keys of another version may mean other things.
    const std::uint64_t version = top.whole("version");
    if (version != MachineProfile::version) {
        throw top.fault("version",
                        fmt::format("{}, this rudder reads {}", version, MachineProfile::version),
                        "measure again with this rudder's bench");
    }
    refuse_unknown<MachineProfile>(top);
    auto profile = read_fields<MachineProfile>(top);
    if (profile.machine.cores == 0)
        throw top.table("machine").fault("cores", "0", "give a number above 0");
    check_compute(top, profile.compute);
    if (profile.network) check_network(top.table("network"), *profile.network);
    return profile;
}

// ---- writing -----------------------------------------------------------------------------------

std::string value_text(const std::string& text) {
    return toml_quoted(text);
}
std::string value_text(std::uint64_t number) {
    return std::to_string(number);
}
std::string value_text(double number) {
    return toml_number(number);
}
template <class M>
std::string value_text(const std::vector<M>& list) {
    std::string text;
    for (const M& item : list)
        text += (text.empty() ? "" : ", ") + value_text(item);
    return "[" + text + "]";
}

template <Listed T>
void write_fields(const T& value, const std::string& name, std::string& out);

template <class M>
void write_below(const M& value, const std::string& name, std::string_view help, std::string& out) {
    const std::string comment = help.empty() ? "" : fmt::format("  # {}", help);
    if constexpr (ListOf<M>::value) {
        std::string remark = comment;
        for (const auto& item : value) {
            out += fmt::format("\n[[{}]]{}\n", name, std::exchange(remark, ""));
            write_fields(item, name, out);
        }
    } else if constexpr (Listed<M>) {
        out += fmt::format("\n[{}]{}\n", name, comment);
        write_fields(value, name, out);
    } else if (value) {
        write_below(*value, name, help, out);
    }
}

/// Plain values first: behind the head of a table below, they would be that table's.
template <Listed T>
void write_fields(const T& value, const std::string& name, std::string& out) {
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        if constexpr (!is_below<M>) {
            const std::string pair = fmt::format("{} = {}", f.name, value_text(value.*f.member));
            out += f.help.empty() ? pair + "\n" : fmt::format("{:<44}  # {}\n", pair, f.help);
        }
    });
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        if constexpr (is_below<M>) {
            const std::string below =
                name.empty() ? std::string(f.name) : fmt::format("{}.{}", name, f.name);
            write_below(value.*f.member, below, f.help, out);
        }
    });
}

// ---- built-in profiles -------------------------------------------------------------------------

/// One core and 16 cores of the Intel Xeon with AVX-512 of docs/performance.md and
/// docs/benchmarks.md; where those have no figure for all cores, ten times that of one.
constexpr ComputeRates one_core{1, 33e6, 70e6, 4.3e9, 110e9, 4.2e9, 10.9e6, 1.3};
constexpr ComputeRates many_cores{16, 330e6, 700e6, 58.5e9, 1100e9, 58.5e9, 54e6, 1.3};

/// Between ranks of one host, of the same pages.
constexpr LinkRates same_host{.latency_us = 1,
                              .bytes_per_second = 5e9,
                              .messages_per_second = 1e6,
                              .all_bytes_per_second = 2e9};

struct BuiltInNetwork {
    std::string_view name;
    double latency_us;
    double gbit_s;
    double messages_per_second;
};
/// What is sold under these names, nine tenths of the wire's rate for what is carried.
constexpr std::array<BuiltInNetwork, 4> networks{{{"ethernet-1g", 100, 1, 2e5},
                                                  {"ethernet-10g", 30, 10, 3e5},
                                                  {"ethernet-25g", 20, 25, 5e5},
                                                  {"infiniband-100g", 2, 100, 2e6}}};
constexpr auto network_names = [] {
    std::array<std::string_view, networks.size()> names{};
    for (std::size_t i = 0; i < networks.size(); ++i)
        names[i] = networks[i].name;
    return names;
}();

MachineProfile assumed(const BuiltInNetwork& network) {
    const double rate = 0.9 * network.gbit_s * 1e9 / 8;
    const LinkRates link{.latency_us = network.latency_us,
                         .bytes_per_second = rate,
                         .messages_per_second = network.messages_per_second,
                         .all_bytes_per_second = rate};
    MachineProfile profile;
    profile.machine = {.name = fmt::format("{}{}", built_in_prefix, network.name),
                       .processor = "16 cores with AVX-512, assumed",
                       .cores = 16,
                       .memory = std::uint64_t{64} << 30,
                       .measured = "",
                       .program = std::string(version())};
    profile.compute = {one_core, many_cores};
    profile.network = {.hosts = {"a", "b"},
                       .ranks = {1, 1},
                       .carrier = "assumed",
                       .link = "",
                       .barrier_us = network.latency_us,
                       .within = same_host,
                       .between = link};
    return profile;
}

}  // namespace

std::uint64_t NetworkRates::all_ranks() const {
    return std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0});
}

ComputeRates MachineProfile::compute_with(std::uint64_t threads) const {
    RUDDER_CHECK(!compute.empty());
    const auto above = std::ranges::find_if(
        compute, [&](const ComputeRates& rates) { return rates.threads >= threads; });
    ComputeRates made = above == compute.end() ? compute.back() : *above;
    if (above != compute.begin() && above != compute.end()) {
        const ComputeRates& low = *(above - 1);
        const double share = static_cast<double>(threads - low.threads) /
                             static_cast<double>(above->threads - low.threads);
        for_each_field<ComputeRates>([&](const auto& f) {
            using M = typename std::decay_t<decltype(f)>::Value;
            if constexpr (std::same_as<M, double>)
                made.*f.member = low.*f.member + share * (made.*f.member - low.*f.member);
        });
    }
    made.threads = threads;
    return made;
}

std::span<const std::string_view> built_in_profiles() {
    return network_names;
}

MachineProfile parse_machine_profile(std::string_view text, const std::string& where) {
    return read_profile(TomlTable::parse(text, where));
}

MachineProfile read_machine_profile(const std::string& file_or_name) {
    if (!file_or_name.starts_with(built_in_prefix))
        return read_profile(TomlTable::read(file_or_name));
    const std::string_view name = std::string_view(file_or_name).substr(built_in_prefix.size());
    const auto* const found = std::ranges::find(networks, name, &BuiltInNetwork::name);
    if (found != networks.end()) return assumed(*found);
    throw usage_error(fmt::format("unknown machine profile '{}'", file_or_name), "",
                      fmt::format("built in are {}; or name a file that 'rudder bench --out' wrote",
                                  join(network_names, ", ")));
}

std::string machine_profile_toml(const MachineProfile& profile) {
    std::string out = fmt::format(
        "# A machine profile of rudder: what the machine and its network can do.\n"
        "version = {}\n",
        MachineProfile::version);
    write_fields(profile, "", out);
    return out;
}

}  // namespace rudder
