#include "describe.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/text.hpp"

#include "table.hpp"
#include "verb.hpp"

namespace rudder::cli {

namespace {

std::string feature_text(const graph::FeatureInfo& features) {
    if (!features.present()) return "none";
    return fmt::format("{} x {}{}", format_count(features.width), to_string(features.type),
                       features.row_normalise ? ", rows normalised when used" : "");
}

std::string target_text(const graph::TargetInfo& targets, std::string_view things) {
    if (targets.kind == graph::TargetKind::none) return "none";
    return fmt::format("{} {} on {} {}", targets.count,
                       targets.kind == graph::TargetKind::regression   ? "numbers"
                       : targets.kind == graph::TargetKind::multilabel ? "labels"
                                                                       : "classes",
                       format_count(targets.labelled), things);
}

std::string split_text(const graph::SplitCounts& split) {
    return fmt::format("{} train, {} valid, {} test", format_count(split.train),
                       format_count(split.valid), format_count(split.test));
}

}  // namespace

namespace {

/// What edges carry, such as "weight, time, 4 x float32".
std::string carried_text(const graph::DatasetInfo& info) {
    std::vector<std::string> words;
    if (info.edge_weight) words.emplace_back("weight");
    if (info.edge_time) words.emplace_back("time");
    if (info.edge_features.present()) words.push_back(feature_text(info.edge_features));
    if (info.edge_targets.kind != graph::TargetKind::none)
        words.push_back(target_text(info.edge_targets, "entries"));
    if (info.edge_split) words.push_back("split: " + split_text(*info.edge_split));
    const std::vector<std::string_view> views(words.begin(), words.end());
    return join(views, ", ");
}

/// A line for each type of a graph of several.
void add_types(KeyValues& lines, const graph::GraphTypes& types) {
    for (const graph::VertexType& type : types.vertices) {
        lines.emplace_back("type " + type.name,
                           fmt::format("{} vertices, features: {}", format_count(type.vertices),
                                       feature_text(type.features)));
    }
    for (const graph::EdgeType& type : types.edges) {
        lines.emplace_back(
            "type " + type.name,
            fmt::format(
                "{} edges, {} -> {}{}", format_count(type.edges), types.vertices[type.from].name,
                types.vertices[type.to].name,
                type.reverse_of ? ", the other way of " + types.edges[*type.reverse_of].name : ""));
    }
}

}  // namespace

KeyValues dataset_lines(const graph::DatasetInfo& info) {
    KeyValues lines = {
        {"vertices", format_count(info.vertices)},
        {"edges", fmt::format("{} stored{}", format_count(info.edges),
                              info.symmetric ? ", each way" : ", directed")},
        {"self loops", format_count(info.self_loops)},
        {"duplicates", format_count(info.duplicates)},
        {"features", info.types.present() ? "by type" : feature_text(info.features)},
        {"targets", target_text(info.targets, "vertices")},
        {"split", split_text(info.split)},
    };
    if (info.edges_carry()) lines.emplace_back("edges carry", carried_text(info));
    if (info.vertex_time) lines.emplace_back("vertices have", "times");
    add_types(lines, info.types);
    return lines;
}

KeyValues partition_lines(const graph::DatasetInfo& info,
                          const partition::PartitionSummary& summary) {
    KeyValues lines = dataset_lines(info);
    std::vector<std::string> halo;
    for (const VertexId rows : summary.halo)
        halo.push_back(format_count(rows));
    const std::vector<std::string_view> views(halo.begin(), halo.end());
    lines.insert(
        lines.end(),
        {{"parts", fmt::format("{} by {}", summary.parts, summary.method)},
         {"cut", fmt::format("{:.2f} % of the edges", 100 * summary.cut)},
         {"balance", fmt::format("{:.3f} vertices, {:.3f} training vertices, {:.3f} edges "
                                 "(largest over mean)",
                                 summary.balance, summary.train_balance, summary.edge_balance)},
         {"halo", join(views, ", ") + " rows"}});
    if (!summary.type_balance.empty()) {
        std::string text;
        for (std::size_t t = 0; t < summary.type_balance.size(); ++t) {
            text += fmt::format("{}{:.3f} {}", t == 0 ? "" : ", ", summary.type_balance[t],
                                info.types.vertices[t].name);
        }
        lines.emplace_back("balance of types", text);
    }
    for (const std::string& warning : summary.warnings)
        lines.emplace_back("warning", warning);
    return lines;
}

void add_parameters(KeyValues& lines, std::span<const SpecParameter> parameters) {
    for (const SpecParameter& p : parameters) {
        const std::string fallback = p.fallback_text();
        lines.emplace_back(
            fmt::format("  {}", p.name),
            fmt::format("{}{}", p.help, fallback.empty() ? "" : fmt::format(" ({})", fallback)));
    }
}

std::string wrapped_entry(std::string_view name, const std::string& sentence, std::size_t indent) {
    constexpr std::size_t columns = 98;
    std::string text;
    std::string line = fmt::format("  {:<{}}", name, indent - 2);
    for (const std::string_view word : split(sentence, ' ')) {
        if (display_width(line) + 1 + word.size() > columns) {
            text += line + "\n";
            line = std::string(indent, ' ');
        }
        line += (line.back() == ' ' ? "" : " ") + std::string(word);
    }
    return text + line + "\n";
}

std::string policy_notes() {
    std::string text = "Policies:\n";
    for (const buffer::PolicyInfo* info : buffer::all_policies())
        text += wrapped_entry(info->name, fmt::format("{} [{}]", info->sentence, info->paper), 19);
    return text;
}

void Context::answer(const Json& value) const {
    if (result == nullptr) return print_json(value);
    *result = value;
}

void print_json(const Json& value) {
    print_text(value.dump(2) + "\n");
}

void print_text(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        // Who has closed the pipe, as head does, wants no more.
        if (errno == EPIPE) return;
        throw system_error("cannot write the result", "standard output", errno);
    }
}

}  // namespace rudder::cli
