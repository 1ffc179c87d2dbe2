#include "sample_archive.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "graph/io/npz.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {

namespace {

std::vector<std::string> texts(std::span<const std::string_view> names) {
    return {names.begin(), names.end()};
}

template <class T, class Get>
void add_column(graph::NpzWriter& writer, const steer::SampleTable& table, const std::string& name,
                Get get) {
    std::vector<T> values;
    values.reserve(table.samples.size());
    for (const steer::Sample& sample : table.samples)
        values.push_back(get(sample));
    writer.add<T>(name, values, {values.size()});
}

/// 0, 1, or -1 where there is none.
std::int8_t label_of(const std::optional<bool>& label) {
    return static_cast<std::int8_t>(label ? static_cast<int>(*label) : -1);
}

std::optional<bool> label_from(std::int64_t value) {
    return value < 0 ? std::nullopt : std::optional(value != 0);
}

constexpr const char* again = "collect it again with 'rudder agent collect'";

/// The arrays of a table, as many elements each as there are samples.
class ArchiveReader {
public:
    explicit ArchiveReader(const std::filesystem::path& path) : archive_(path) {}

    [[nodiscard]] std::vector<std::int64_t> wholes(const std::string& name) const {
        graph::NpyReader reader = archive_.open(name);
        const auto values = graph::read_integers(reader);
        return {values.begin(), values.end()};
    }
    [[nodiscard]] std::vector<double> numbers(const std::string& name) const {
        graph::NpyReader reader = archive_.open(name);
        if (reader.header().type != ElementType::f64)
            throw input_error("invalid array type: not float64", reader.where(), again);
        std::vector<double> values(reader.header().count());
        reader.read(std::as_writable_bytes(std::span(values)));
        reader.finish();
        return values;
    }
    [[nodiscard]] std::vector<std::string> names(const std::string& name) const {
        graph::NpyReader reader = archive_.open(name);
        return graph::read_texts(reader);
    }
    /// Of each sample.
    [[nodiscard]] std::vector<std::int64_t> whole_column(const std::string& name) const {
        return expect(wholes(name), name, samples);
    }
    [[nodiscard]] std::vector<double> column(const std::string& name) const {
        return expect(numbers(name), name, samples);
    }
    /// Of each sample, one of `names`.
    [[nodiscard]] std::vector<std::int64_t> index_column(const std::string& name,
                                                         std::size_t names) const {
        std::vector<std::int64_t> values = whole_column(name);
        if (std::ranges::any_of(values, [names](std::int64_t i) {
                return i < 0 || static_cast<std::size_t>(i) >= names;
            })) {
            throw input_error("an index is out of range", archive_.where(name), again);
        }
        return values;
    }
    template <class T>
    [[nodiscard]] std::vector<T> expect(std::vector<T> values, const std::string& name,
                                        std::size_t count) const {
        if (values.size() == count) return values;
        throw input_error(fmt::format("{} elements instead of {}", values.size(), count),
                          archive_.where(name), again);
    }
    [[nodiscard]] const graph::NpzArchive& archive() const noexcept { return archive_; }

    std::size_t samples = 0;

private:
    graph::NpzArchive archive_;
};

void check_lists(const ArchiveReader& reader) {
    const std::string where = reader.archive().path().string();
    if (!reader.archive().has("versions") || !reader.archive().has("features"))
        throw input_error("not a table of samples", where, again);
    const auto versions = reader.wholes("versions");
    if (versions.size() != 3 || versions[0] != static_cast<std::int64_t>(steer::sample_version) ||
        versions[1] != static_cast<std::int64_t>(steer::feature_version)) {
        throw input_error("unsupported version of the table", where, again);
    }
    for (const steer::FeatureSet set : {steer::FeatureSet::repaired, steer::FeatureSet::faithful}) {
        const std::string list =
            set == steer::FeatureSet::repaired ? "features_names" : "paper_features_names";
        if (!std::ranges::equal(reader.names(list), steer::feature_names(set))) {
            throw input_error("the table has other features than this version reads",
                              reader.archive().where(list), again);
        }
    }
}

steer::SampleTable read_archive(const std::filesystem::path& path) {
    ArchiveReader reader(path);
    check_lists(reader);
    steer::SampleTable table;
    table.horizon = static_cast<std::uint64_t>(reader.wholes("versions")[2]);
    table.graphs = reader.names("graphs");
    table.policies = reader.names("policies");
    const auto label = reader.wholes("label");
    const std::size_t count = reader.samples = label.size();
    if (count == 0) throw input_error("the table has no samples", path.string(), again);
    const auto paper = reader.whole_column("paper_label");
    const auto graph = reader.index_column("graph", table.graphs.size());
    const auto policy = reader.index_column("policy", table.policies.size());
    const auto host = reader.whole_column("host");
    const auto step = reader.whole_column("step");
    const auto replaced = reader.whole_column("replaced");
    const auto buffer = reader.column("buffer");
    const auto rows_with = reader.column("rows_with");
    const auto rows_without = reader.column("rows_without");
    const auto hit_change = reader.column("hit_change");
    const auto frequency_change = reader.column("frequency_change");
    const auto fetch_change = reader.column("fetch_change");
    for (std::size_t i = 0; i < count; ++i) {
        table.samples.push_back({.graph = static_cast<std::uint32_t>(graph[i]),
                                 .host = static_cast<std::uint32_t>(host[i]),
                                 .policy = static_cast<std::uint32_t>(policy[i]),
                                 .buffer = buffer[i],
                                 .step = static_cast<std::uint64_t>(step[i]),
                                 .replaced = replaced[i] != 0,
                                 .rows_with = rows_with[i],
                                 .rows_without = rows_without[i],
                                 .label = label_from(label[i]),
                                 .paper = label_from(paper[i]),
                                 .hit_change = hit_change[i],
                                 .frequency_change = frequency_change[i],
                                 .fetch_change = fetch_change[i]});
    }
    table.repaired = reader.expect(reader.numbers("features"), "features",
                                   count * feature_names(steer::FeatureSet::repaired).size());
    table.faithful = reader.expect(reader.numbers("paper_features"), "paper_features",
                                   count * feature_names(steer::FeatureSet::faithful).size());
    return table;
}

}  // namespace

steer::SampleTable read_table(const std::filesystem::path& path) {
    return path.extension() == ".npz" ? read_archive(path) : steer::read_samples(path);
}

void write_archive(const steer::SampleTable& table, const std::filesystem::path& path) {
    graph::NpzWriter writer(path);
    const std::uint64_t rows = table.samples.size();
    const std::array<std::uint64_t, 3> versions{steer::sample_version, steer::feature_version,
                                                table.horizon};
    writer.add<std::uint64_t>("versions", versions, {versions.size()});
    writer.add_texts("graphs", table.graphs);
    writer.add_texts("policies", table.policies);
    for (const steer::FeatureSet set : {steer::FeatureSet::repaired, steer::FeatureSet::faithful}) {
        const auto names = steer::feature_names(set);
        const std::string base = set == steer::FeatureSet::repaired ? "features" : "paper_features";
        writer.add<double>(base,
                           set == steer::FeatureSet::repaired ? table.repaired : table.faithful,
                           {rows, names.size()});
        writer.add_texts(base + "_names", texts(names));
    }
    add_column<std::int8_t>(writer, table, "label",
                            [](const steer::Sample& s) { return label_of(s.label); });
    add_column<std::int8_t>(writer, table, "paper_label",
                            [](const steer::Sample& s) { return label_of(s.paper); });
    add_column<std::int32_t>(writer, table, "graph", [](const steer::Sample& s) {
        return static_cast<std::int32_t>(s.graph);
    });
    add_column<std::int32_t>(writer, table, "policy", [](const steer::Sample& s) {
        return static_cast<std::int32_t>(s.policy);
    });
    add_column<std::int32_t>(writer, table, "host", [](const steer::Sample& s) {
        return static_cast<std::int32_t>(s.host);
    });
    add_column<std::uint64_t>(writer, table, "step", [](const steer::Sample& s) { return s.step; });
    add_column<double>(writer, table, "buffer", [](const steer::Sample& s) { return s.buffer; });
    add_column<std::int8_t>(writer, table, "replaced", [](const steer::Sample& s) {
        return static_cast<std::int8_t>(s.replaced ? 1 : 0);
    });
    add_column<double>(writer, table, "rows_with",
                       [](const steer::Sample& s) { return s.rows_with; });
    add_column<double>(writer, table, "rows_without",
                       [](const steer::Sample& s) { return s.rows_without; });
    add_column<double>(writer, table, "hit_change",
                       [](const steer::Sample& s) { return s.hit_change; });
    add_column<double>(writer, table, "frequency_change",
                       [](const steer::Sample& s) { return s.frequency_change; });
    add_column<double>(writer, table, "fetch_change",
                       [](const steer::Sample& s) { return s.fetch_change; });
    writer.finish();
}

}  // namespace rudder::cli
