#include "sample_archive.hpp"

#include <limits>

#include "rudder/graph/io/npz.hpp"

namespace rudder::cli {

namespace {

std::vector<std::string> texts(std::span<const std::string_view> names) {
    return {names.begin(), names.end()};
}

template <class T, class Get>
void add_column(NpzWriter& writer, const SampleTable& table, const std::string& name, Get get) {
    std::vector<T> values;
    values.reserve(table.samples.size());
    for (const Sample& sample : table.samples)
        values.push_back(get(sample));
    writer.add<T>(name, values, {values.size()});
}

/// 0, 1, or -1 where there is none.
std::int8_t label_of(const std::optional<bool>& label) {
    return static_cast<std::int8_t>(label ? static_cast<int>(*label) : -1);
}

}  // namespace

void write_archive(const SampleTable& table, const std::filesystem::path& path) {
    NpzWriter writer(path);
    const std::uint64_t rows = table.samples.size();
    const std::array<std::uint64_t, 3> versions{sample_version, feature_version, table.horizon};
    writer.add<std::uint64_t>("versions", versions, {versions.size()});
    writer.add_texts("graphs", table.graphs);
    writer.add_texts("policies", table.policies);
    for (const FeatureSet set : {FeatureSet::repaired, FeatureSet::faithful}) {
        const auto names = feature_names(set);
        const std::string base = set == FeatureSet::repaired ? "features" : "paper_features";
        writer.add<double>(base, set == FeatureSet::repaired ? table.repaired : table.faithful,
                           {rows, names.size()});
        writer.add_texts(base + "_names", texts(names));
    }
    add_column<std::int8_t>(writer, table, "label",
                            [](const Sample& s) { return label_of(s.label); });
    add_column<std::int8_t>(writer, table, "paper_label",
                            [](const Sample& s) { return label_of(s.paper); });
    add_column<std::int32_t>(writer, table, "graph",
                             [](const Sample& s) { return static_cast<std::int32_t>(s.graph); });
    add_column<std::int32_t>(writer, table, "policy",
                             [](const Sample& s) { return static_cast<std::int32_t>(s.policy); });
    add_column<std::int32_t>(writer, table, "host",
                             [](const Sample& s) { return static_cast<std::int32_t>(s.host); });
    add_column<std::uint64_t>(writer, table, "step", [](const Sample& s) { return s.step; });
    add_column<double>(writer, table, "buffer", [](const Sample& s) { return s.buffer; });
    add_column<std::int8_t>(writer, table, "replaced", [](const Sample& s) {
        return static_cast<std::int8_t>(s.replaced ? 1 : 0);
    });
    add_column<double>(writer, table, "rows_with", [](const Sample& s) { return s.rows_with; });
    add_column<double>(writer, table, "rows_without",
                       [](const Sample& s) { return s.rows_without; });
    writer.finish();
}

}  // namespace rudder::cli
