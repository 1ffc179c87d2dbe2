#include "bench_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "core/amounts.hpp"
#include "core/fields_json.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

/// "12.3 G", of units per second.
std::string per_second(double rate) {
    constexpr double kilo = 1e3;
    constexpr double mega = 1e6;
    constexpr double giga = 1e9;
    if (rate >= giga) return fmt::format("{:.3g} G", rate / giga);
    if (rate >= mega) return fmt::format("{:.3g} M", rate / mega);
    if (rate >= kilo) return fmt::format("{:.3g} k", rate / kilo);
    return fmt::format("{:.3g}", rate);
}

std::string rates_table(const std::vector<ComputeRates>& compute) {
    std::vector<std::string> header{"computing, per second"};
    for (const ComputeRates& rates : compute)
        header.push_back(fmt::format("{} thread{}", rates.threads, rates.threads == 1 ? "" : "s"));
    Table table(header);
    const auto add = [&](std::string name, double ComputeRates::*rate) {
        std::vector<std::string> row{std::move(name)};
        for (const ComputeRates& rates : compute)
            row.push_back(per_second(rates.*rate));
        table.add(std::move(row));
    };
    add("neighbours drawn, sampler shared", &ComputeRates::shared_edges_per_second);
    add("neighbours drawn, sampler plain", &ComputeRates::plain_edges_per_second);
    add("bytes of rows gathered", &ComputeRates::gather_bytes_per_second);
    add("operations of matrix products", &ComputeRates::product_flops_per_second);
    add("bytes of neighbours' rows averaged", &ComputeRates::aggregate_bytes_per_second);
    add("remote rows, policy window", &ComputeRates::policy_rows_per_second);
    add("a step over its products and means", &ComputeRates::step_factor);
    return table.text();
}

std::string links_table(const NetworkRates& network) {
    Table table({"ranks", "latency us", "one pair, bytes/s", "messages/s", "all at once, bytes/s"});
    const auto add = [&](std::string name, const std::optional<LinkRates>& link) {
        if (!link) return;
        table.add({std::move(name), fmt::format("{:.1f}", link->latency_us),
                   per_second(link->bytes_per_second), per_second(link->messages_per_second),
                   per_second(link->all_bytes_per_second)});
    };
    add("of one host", network.within);
    add("of two hosts", network.between);
    return table.text();
}

std::string sizes_table(const NetworkRates& network) {
    const std::vector<MessageTime> none;
    const auto& within = network.within ? network.within->sizes : none;
    const auto& between = network.between ? network.between->sizes : none;
    if (within.empty() && between.empty()) return {};
    Table table({"one message of", "within a host", "between hosts"});
    for (std::size_t i = 0; i < std::max(within.size(), between.size()); ++i) {
        const auto time = [&](const std::vector<MessageTime>& list) {
            return i < list.size() ? format_seconds(list[i].seconds) : std::string("-");
        };
        const std::uint64_t bytes = i < within.size() ? within[i].bytes : between[i].bytes;
        table.add({format_bytes(bytes), time(within), time(between)});
    }
    return "\n" + table.text();
}

std::string together_tables(const NetworkRates& network) {
    std::string text;
    if (!network.all_to_all.empty()) {
        Table table({"all to all, to each", "skew", "time"});
        for (const ExchangeTime& each : network.all_to_all) {
            table.add({format_bytes(each.bytes), fmt::format("{:.3g}", each.skew),
                       format_seconds(each.seconds)});
        }
        text += "\n" + table.text();
    }
    if (!network.reductions.empty()) {
        Table table({"sum over all ranks, of", "time"});
        for (const MessageTime& each : network.reductions)
            table.add({format_bytes(each.bytes), format_seconds(each.seconds)});
        text += "\n" + table.text();
    }
    return text;
}

/// What of a step is the longest, in words.
std::string limit_words(std::string_view limit) {
    if (limit == "network") return "the network's products and means";
    if (limit == "sampling") return "drawing neighbours";
    if (limit == "gathering") return "bringing input rows together";
    if (limit == "policy") return "deciding what the buffer keeps";
    if (limit == "rows") return "rows of other hosts on the wire";
    return "the sum of gradients over all ranks";
}

}  // namespace

std::string profile_text(const MachineProfile& profile) {
    const MachineFacts& machine = profile.machine;
    std::string text =
        key_values({{"machine", machine.name},
                    {"processor", fmt::format("{}, {} cores", machine.processor, machine.cores)},
                    {"measured", machine.measured.empty() ? "no: assumed" : machine.measured}});
    text += "\n" + rates_table(profile.compute);
    if (!profile.network) return text;
    const NetworkRates& network = *profile.network;
    text += fmt::format("\n{} ranks on {} host{}, {}{}, barrier {:.1f} us\n", network.all_ranks(),
                        network.hosts.size(), network.hosts.size() == 1 ? "" : "s", network.carrier,
                        network.link.empty() ? "" : ", link " + network.link, network.barrier_us);
    return text + links_table(network) + sizes_table(network) + together_tables(network);
}

Json profile_json(const MachineProfile& profile) {
    Json json = {{"version", MachineProfile::version}};
    json.update(fields_json(profile));
    return json;
}

std::string bench_plan_text(const BenchPlan& plan) {
    const run::StepWork& work = plan.work;
    const run::StepEstimate& estimate = plan.estimate;
    std::string text = fmt::format(
        "\nA step of {}: {} ranks on {} host{}, {} thread{} each, batch {}, {} steps per epoch\n",
        plan.parts, work.ranks, work.hosts, work.hosts == 1 ? "" : "s", plan.threads,
        plan.threads == 1 ? "" : "s", work.batch, work.steps_per_epoch);
    Table table({"part", "per rank and step", "time"});
    const auto add = [&](std::string name, std::string amount, double seconds) {
        table.add({std::move(name), std::move(amount), format_seconds(seconds)});
    };
    add("network", fmt::format("{} operations", per_second(work.network.flops)), estimate.network);
    add("sampling", fmt::format("{} neighbours", per_second(work.edges)), estimate.sampling);
    add("gathering", fmt::format("{} rows", per_second(work.rows)), estimate.gathering);
    add("policy", fmt::format("{} remote rows", per_second(work.remote)), estimate.policy);
    add("rows", fmt::format("{} rows of {:.0f} bytes", per_second(work.fetched), work.row_bytes),
        estimate.rows);
    add("gradients", format_bytes(static_cast<std::uint64_t>(work.gradient_bytes)),
        estimate.gradients);
    text += table.text();
    const double epoch = estimate.step() * static_cast<double>(work.steps_per_epoch);
    text += fmt::format(
        "\nstep {}, epoch {}: the larger of the first four and rows, and gradients after it\n"
        "what limits it: {}\n",
        format_seconds(estimate.step()), format_seconds(epoch), limit_words(estimate.limit()));
    if (plan.advice.empty()) return text + "no setting that is looked at shortens it by 3 %\n";
    Table advice({"setting", "step", "of it", "why"});
    for (const run::Advice& one : plan.advice) {
        advice.add({one.setting, format_seconds(one.estimate.step()),
                    format_percent(one.estimate.step() / estimate.step()), one.reason});
    }
    return text + "\n" + advice.text();
}

namespace {

Json estimate_json(const run::StepEstimate& estimate) {
    return {{"network", estimate.network},     {"sampling", estimate.sampling},
            {"gathering", estimate.gathering}, {"policy", estimate.policy},
            {"rows", estimate.rows},           {"gradients", estimate.gradients},
            {"step", estimate.step()}};
}

}  // namespace

Json bench_plan_json(const BenchPlan& plan) {
    const run::StepWork& work = plan.work;
    Json advice = Json::array();
    for (const run::Advice& one : plan.advice) {
        advice.push_back({{"setting", one.setting},
                          {"why", one.reason},
                          {"seconds", estimate_json(one.estimate)}});
    }
    return {{"parts", plan.parts},
            {"ranks", work.ranks},
            {"hosts", work.hosts},
            {"threads", plan.threads},
            {"batch", work.batch},
            {"steps_per_epoch", work.steps_per_epoch},
            {"work",
             {{"flops", work.network.flops},
              {"mean_bytes", work.network.mean_bytes},
              {"edges", work.edges},
              {"rows", work.rows},
              {"remote", work.remote},
              {"fetched", work.fetched},
              {"row_bytes", work.row_bytes},
              {"gradient_bytes", work.gradient_bytes}}},
            {"seconds", estimate_json(plan.estimate)},
            {"limit", plan.estimate.limit()},
            {"advice", advice}};
}

}  // namespace rudder::cli
