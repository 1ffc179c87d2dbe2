#include "rudder/graph/io/graph_reader.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/io/format_registry.hpp"

#include "npz_reader.hpp"
#include "readers.hpp"

namespace rudder::graph {

namespace {

/// A reader that calls a function.
template <ReadGraph read_graph>
class Reader final : public GraphReader {
public:
    [[nodiscard]] RawGraph read(const ReadOptions& options, Progress& progress) const override {
        return read_graph(options, progress);
    }
};

template <ReadGraph read_graph>
std::unique_ptr<GraphReader> make() {
    return std::make_unique<Reader<read_graph>>();
}

RawGraph read_edges(const ReadOptions& options, Progress& progress) {
    return read_edge_list(options, progress, FirstLine::edge);
}
RawGraph read_csv(const ReadOptions& options, Progress& progress) {
    return read_edge_list(options, progress, FirstLine::may_be_names);
}

using Suffixes = std::span<const std::string_view>;
constexpr std::array<std::string_view, 1> npz_names{".npz"};
constexpr std::array<std::string_view, 5> edges_names{".txt", ".edges", ".edgelist", ".el", ".tab"};
constexpr std::array<std::string_view, 2> csv_names{".csv", ".tsv"};
constexpr std::array<std::string_view, 4> binary_names{".bin", ".u32", ".u64", ".raw"};
constexpr std::array<std::string_view, 1> mtx_names{".mtx"};
constexpr std::array<std::string_view, 2> metis_names{".metis", ".graph"};

/// Names are kept a second time, by themselves, since that is how most ask for them.
struct Registry {
    std::vector<GraphFormat> formats{
        {"npz", npz_names, make<read_npz>},  {"edges", edges_names, make<read_edges>},
        {"csv", csv_names, make<read_csv>},  {"binary", binary_names, make<read_binary>},
        {"mtx", mtx_names, make<read_mtx>},  {"metis", metis_names, make<read_metis>},
        {"ogb", Suffixes{}, make<read_ogb>},
    };
    std::vector<std::string_view> names;

    Registry() {
        for (const GraphFormat& format : formats)
            names.push_back(format.name);
    }
};

Registry& registry() {
    static Registry all;
    return all;
}

}  // namespace

std::span<const std::string_view> graph_formats() noexcept {
    return registry().names;
}

void register_graph_format(const GraphFormat& format) {
    RUDDER_CHECK(format.make != nullptr && !format.name.empty());
    RUDDER_CHECK(std::ranges::find(registry().names, format.name) == registry().names.end());
    registry().formats.push_back(format);
    registry().names.push_back(format.name);
}

std::unique_ptr<GraphReader> make_graph_reader(std::string_view format) {
    for (const GraphFormat& known : registry().formats) {
        if (known.name == format) return known.make();
    }
    const auto names = graph_formats();
    const auto meant = nearest(format, names);
    throw usage_error(
        fmt::format("unknown format '{}'", format), "--format",
        fmt::format("{}known are: {}", meant ? fmt::format("did you mean {}? ", *meant) : "",
                    join(names, ", ")));
}

std::string_view detect_graph_format(const std::filesystem::path& input) {
    std::error_code code;
    if (std::filesystem::is_directory(input, code)) {
        if (std::filesystem::is_directory(input / "raw", code)) return "ogb";
        throw usage_error("this is not a folder of OGB: it has no folder 'raw'", input.string(),
                          "give a file, or choose with --format");
    }
    std::array<char, 16> start{};
    const File file = File::open(input);
    const std::size_t got = file.read_at(0, std::as_writable_bytes(std::span(start)));
    const std::string_view magic(start.data(), got);
    if (magic.starts_with("PK\x03\x04") || magic.starts_with("PK\x05\x06")) return "npz";
    if (magic.starts_with("%%MatrixMarket")) return "mtx";
    std::filesystem::path name = input.filename();
    if (name.extension() == ".gz") name = name.stem();
    std::string suffix = name.extension().string();
    std::ranges::transform(suffix, suffix.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // The last one first: formats of one's own come before those of the program.
    const auto& formats = registry().formats;
    for (std::size_t i = formats.size(); i-- > 0;) {
        if (std::ranges::find(formats[i].suffixes, suffix) != formats[i].suffixes.end())
            return formats[i].name;
    }
    throw usage_error("the file's name and first bytes do not tell its format", input.string(),
                      fmt::format("choose with --format: {}", join(graph_formats(), ", ")));
}

}  // namespace rudder::graph
