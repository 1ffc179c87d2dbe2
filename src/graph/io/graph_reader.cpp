#include "rudder/graph/io/graph_reader.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "binary_reader.hpp"
#include "edge_list_reader.hpp"
#include "metis_reader.hpp"
#include "mtx_reader.hpp"
#include "npz_reader.hpp"
#include "ogb_reader.hpp"

namespace rudder {

namespace {

struct Format {
    std::string_view name;
    std::unique_ptr<GraphReader> (*make)();
};

template <class Reader>
std::unique_ptr<GraphReader> make() {
    return std::make_unique<Reader>();
}

constexpr std::array<Format, 7> formats{{
    {"npz", make<NpzReader>},
    {"edges", [] { return std::unique_ptr<GraphReader>(std::make_unique<EdgeListReader>(false)); }},
    {"csv", [] { return std::unique_ptr<GraphReader>(std::make_unique<EdgeListReader>(true)); }},
    {"binary", make<BinaryReader>},
    {"mtx", make<MtxReader>},
    {"metis", make<MetisReader>},
    {"ogb", make<OgbReader>},
}};

constexpr std::array<std::string_view, formats.size()> names = [] {
    std::array<std::string_view, formats.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = formats[i].name;
    return all;
}();

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> by_suffix{{
    {".npz", "npz"},
    {".csv", "csv"},
    {".tsv", "csv"},
    {".mtx", "mtx"},
    {".metis", "metis"},
    {".graph", "metis"},
    {".bin", "binary"},
    {".u32", "binary"},
    {".u64", "binary"},
    {".raw", "binary"},
    {".txt", "edges"},
    {".edges", "edges"},
    {".edgelist", "edges"},
    {".el", "edges"},
    {".tab", "edges"},
}};

}  // namespace

std::span<const std::string_view> graph_formats() noexcept {
    return names;
}

std::unique_ptr<GraphReader> make_graph_reader(std::string_view format) {
    for (const Format& known : formats) {
        if (known.name == format) return known.make();
    }
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
        throw usage_error("this folder is not one of OGB: it has no folder 'raw'", input.string(),
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
    for (const auto& [known, format] : by_suffix) {
        if (known == suffix) return format;
    }
    throw usage_error("the file's name and first bytes do not tell its format", input.string(),
                      fmt::format("choose with --format: {}", join(names, ", ")));
}

}  // namespace rudder
