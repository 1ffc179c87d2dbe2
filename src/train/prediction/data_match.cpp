#include "data_match.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "train/learned/learned_options.hpp"
#include "train/steps/seed_targets.hpp"
#include "train/types.hpp"

namespace rudder::train {

namespace {

std::string_view name_of(nn::Objective objective) noexcept {
    switch (objective) {
        case nn::Objective::classes:
            return "classes";
        case nn::Objective::multilabel:
            return "several labels";
        case nn::Objective::links:
            return "links";
        case nn::Objective::regression:
            break;
    }
    return "numbers";
}

constexpr const char* other_types =
    "types: their names, their widths or what edges join are not those of the run";

/// What of a data set's shape the network was not made for.
std::vector<std::string> differences(const SavedNetwork& saved,
                                     const partition::PartitionedDataset& data) {
    std::vector<std::string> found;
    const nn::NetworkOptions& network = saved.options;
    // Types of another data set may not be those that rows were learned for.
    const graph::DatasetInfo info =
        data_checksum(data) == saved.data_checksum
            ? store::with_learned(data.info(), learned_widths(saved.train.embeddings, data.info()))
            : data.info();
    const graph::TargetInfo& targets = learned_targets(task_of(saved), info);
    const auto compare = [&](const char* what, std::uint64_t run, std::uint64_t here) {
        if (run != here)
            found.push_back(fmt::format("{}: {} in the run, {} here", what, run, here));
    };
    compare("feature columns", network.inputs, info.rows().width);
    if (network.edge_inputs != 0)
        compare("feature columns of edges", network.edge_inputs, info.edge_features.width);
    if (!same_types(network.types, typed_inputs(info))) found.emplace_back(other_types);
    if (network.objective == nn::Objective::links) return found;
    compare("outputs", network.outputs, targets.count);
    if (targets.kind == graph::TargetKind::none) {
        found.emplace_back("it has no targets");
    } else if (const nn::Objective here = objective_of(task_of(saved), targets, "");
               here != network.objective) {
        found.push_back(fmt::format("targets: {} in the run, {} here", name_of(network.objective),
                                    name_of(here)));
    }
    return found;
}

const char* normalised(bool row_normalise) noexcept {
    return row_normalise ? "normalised" : "not normalised";
}

/// Whether both sides have names for what they count.
bool has_names(const SavedNetwork& saved, const graph::TargetInfo& targets) {
    return saved.trained_on && !targets.names.empty() && saved.options.outputs > 0 &&
           saved.trained_on->class_names.size() == saved.options.outputs;
}

/// What of another data set does not fit.
std::vector<std::string> misfits(const SavedNetwork& saved, const graph::DatasetInfo& info) {
    std::vector<std::string> found;
    const nn::NetworkOptions& network = saved.options;
    const auto differ = [&](const char* what, const auto& run, const auto& here) {
        found.push_back(fmt::format("{}: {} in the run, {} here", what, run, here));
    };
    if (network.inputs != info.rows().width)
        differ("feature columns", network.inputs, info.rows().width);
    if (network.edge_inputs != 0 && network.edge_inputs != info.edge_features.width)
        differ("feature columns of edges", network.edge_inputs, info.edge_features.width);
    if (!same_types(network.types, typed_inputs(info))) found.emplace_back(other_types);
    if (saved.trained_on && saved.trained_on->row_normalise != info.rows().row_normalise) {
        differ("feature rows", normalised(saved.trained_on->row_normalise),
               normalised(info.rows().row_normalise));
    }
    const graph::TargetInfo& targets = learned_targets(task_of(saved), info);
    if (task_of(saved) == TaskKind::edge && saved.options.pairs->input == nn::PairInput::sums &&
        !info.symmetric) {
        differ("edges", "both ways", "one way");
    }
    if (targets.kind == graph::TargetKind::none) return found;
    if (const nn::Objective here = objective_of(task_of(saved), targets, "");
        here != network.objective) {
        differ("targets", name_of(network.objective), name_of(here));
        return found;
    }
    if (has_names(saved, targets)) return found;
    // A class that no vertex happens to have may be missing; a column cannot.
    const bool classes = network.objective == nn::Objective::classes;
    if (classes ? targets.count > network.outputs : targets.count != network.outputs)
        differ(classes ? "classes" : "outputs", network.outputs, targets.count);
    return found;
}

/// Fills the reading by the names of both sides.
void match_names(std::span<const std::string> known, const graph::TargetInfo& targets,
                 DataMatch& match) {
    std::map<std::string_view, std::int32_t> outputs;
    for (std::size_t i = 0; i < known.size(); ++i)
        outputs.emplace(known[i], static_cast<std::int32_t>(i));
    bool equal = known.size() == targets.names.size();
    for (std::size_t c = 0; c < targets.names.size(); ++c) {
        const auto found = outputs.find(targets.names[c]);
        const std::int32_t output = found == outputs.end() ? graph::no_label : found->second;
        if (output == graph::no_label) match.unknown.push_back(targets.names[c]);
        equal = equal && output == static_cast<std::int32_t>(c);
        match.reading.outputs.push_back(output);
    }
    if (equal) match.reading.outputs.clear();
}

}  // namespace

TaskKind task_of(const SavedNetwork& saved) noexcept {
    if (!saved.options.pairs) return TaskKind::vertex;
    return saved.options.objective == nn::Objective::links ? TaskKind::link : TaskKind::edge;
}

std::string data_checksum(const partition::PartitionedDataset& data) {
    const std::string manifest = data.folder().manifest().dump();
    return to_hex(hash_bytes(std::as_bytes(std::span(manifest))));
}

void check_same_data(const SavedNetwork& saved, const partition::PartitionedDataset& data) {
    auto found = differences(saved, data);
    const std::string here = data_checksum(data);
    if (here != saved.data_checksum) {
        found.push_back(fmt::format("checksum: {} in the run, {} here", saved.data_checksum, here));
    }
    if (found.empty()) return;
    throw input_error(fmt::format("the run was trained on another data set ('{}'): {}", saved.data,
                                  fmt::join(found, "; ")),
                      data.folder().path().string(),
                      "give the partitioned data set that the run was trained on (--data PATH)");
}

std::string some_of(std::span<const std::string> names) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
    if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
    return text;
}

DataMatch match_other(const SavedNetwork& saved, const graph::DatasetInfo& info,
                      const std::string& where) {
    if (!saved.train.embeddings.empty()) {
        throw input_error(
            "the network of the run reads rows that it learned for the vertices of "
            "its own data set, and those of another have none",
            where, fmt::format("use it on its own ('{}')", saved.data));
    }
    const auto found = misfits(saved, info);
    if (!found.empty()) {
        throw input_error(
            fmt::format("the network of the run cannot be used on this data set: {}",
                        fmt::join(found, "; ")),
            where, fmt::format("make it as the data set of the run was made ('{}')", saved.data));
    }
    DataMatch match;
    match.same = false;
    const graph::TargetInfo& targets = learned_targets(task_of(saved), info);
    if (targets.kind == graph::TargetKind::none) {
        match.classes = ClassMatch::none;
        return match;
    }
    if (has_names(saved, targets)) {
        match.classes = ClassMatch::by_name;
        match_names(saved.trained_on->class_names, targets, match);
    }
    const bool edges = task_of(saved) == TaskKind::edge;
    const graph::SplitCounts split =
        edges ? info.edge_split.value_or(graph::SplitCounts{}) : info.split;
    match.reading.all_test = split.train + split.valid + split.test == 0;
    return match;
}

DataMatch match_data(const SavedNetwork& saved, const partition::PartitionedDataset& data) {
    if (data_checksum(data) != saved.data_checksum)
        return match_other(saved, data.info(), data.folder().path().string());
    check_same_data(saved, data);
    return {};
}

void check_labels(const SavedNetwork& saved, const DataMatch& match, const std::string& where) {
    if (saved.options.objective == nn::Objective::links) return;
    if (match.classes == ClassMatch::none) {
        throw input_error("the data set has no labels, so there is nothing to score", where,
                          "import it with labels (--labels); 'rudder predict' needs none");
    }
    const auto& outputs = match.reading.outputs;
    const bool known = outputs.empty() || std::ranges::any_of(outputs, [](std::int32_t output) {
                           return output != graph::no_label;
                       });
    if (known) return;
    throw input_error(fmt::format("the network knows none of the classes: {} in the run, {} here",
                                  some_of(saved.trained_on->class_names), some_of(match.unknown)),
                      where, "give its classes the names they have in the run");
}

store::Precision precision_elsewhere(store::Precision trained) noexcept {
    const bool by_range = trained == store::Precision::int8 || trained == store::Precision::int4;
    return by_range ? store::Precision::native : trained;
}

}  // namespace rudder::train
