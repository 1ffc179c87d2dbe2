#include "rudder/partition/options.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::partition {

std::string_view default_method() {
    return built_in("METIS") ? "metis" : "ldg";
}

BalanceSet parse_balance(std::string_view text) {
    BalanceSet balance{false, false, false};
    for (const std::string_view word : split(text, ',')) {
        if (word == "vertices") {
            balance.vertices = true;
        } else if (word == "train") {
            balance.train = true;
        } else if (word == "edges") {
            balance.edges = true;
        } else {
            throw usage_error(fmt::format("invalid balance: '{}'", word), "--balance",
                              "give some of vertices,train,edges");
        }
    }
    return balance;
}

std::string to_string(const BalanceSet& balance) {
    std::string text;
    const auto add = [&text](bool on, const char* word) {
        if (!on) return;
        if (!text.empty()) text += ',';
        text += word;
    };
    add(balance.vertices, "vertices");
    add(balance.train, "train");
    add(balance.edges, "edges");
    return text;
}

StreamOrder parse_stream_order(std::string_view text) {
    if (text == "random") return StreamOrder::random;
    if (text == "natural") return StreamOrder::natural;
    throw usage_error(fmt::format("invalid order: '{}'", text), "--order", "use random or natural");
}

std::string_view to_string(StreamOrder order) noexcept {
    return order == StreamOrder::random ? "random" : "natural";
}

BalanceSet default_balance(std::string_view method) noexcept {
    return {.vertices = true, .train = true, .edges = method == "metis"};
}

BalanceSet balance_of(const PartitionOptions& options) noexcept {
    return options.balance.value_or(default_balance(options.method));
}

void check_options(const PartitionOptions& options, VertexId vertices) {
    if (options.parts == 0) {
        throw usage_error("invalid number of parts: 0", "--parts", "give 1 or more");
    }
    if (options.parts > vertices) {
        throw usage_error(
            fmt::format("{} parts are more than the {} vertices", options.parts, vertices),
            "--parts", fmt::format("give at most {}", vertices));
    }
    if (options.passes == 0) {
        throw usage_error("invalid number of passes: 0", "--passes", "give 1 or more");
    }
    if (!std::isfinite(options.slack) || options.slack < 0 || options.slack > 10) {
        throw usage_error(fmt::format("invalid slack: {}", options.slack), "--slack",
                          "give a share from 0 to 10, such as 0.05");
    }
    if (options.cluster_size == 0) {
        throw usage_error("invalid cluster size: 0", "--cluster-size", "give 1 or more");
    }
    if (balance_of(options) == BalanceSet{false, false, false}) {
        throw usage_error("nothing to balance on", "--balance",
                          "give some of vertices,train,edges");
    }
}

}  // namespace rudder::partition
