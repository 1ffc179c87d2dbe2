#include "learned_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::train {

namespace {

constexpr const char* embeddings_option = "--embeddings";
constexpr std::uint64_t widest = 65536;

std::uint64_t parse_width(std::string_view word) {
    const auto width = parse_u64(word);
    if (width && *width > 0 && *width <= widest) return *width;
    throw usage_error(
        fmt::format("invalid embeddings: '{}'", word), embeddings_option,
        fmt::format("give columns from 1 to {}, such as 64, or by type of vertices: author=64",
                    widest));
}

std::string names_without_features(const graph::DatasetInfo& info) {
    std::vector<std::string_view> names;
    for (const graph::VertexType& type : info.types.vertices) {
        if (!type.features.present()) names.push_back(type.name);
    }
    if (names.empty()) return "no type is without features: leave the option out";
    return fmt::format("types without features are {}", join(names, ", "));
}

store::LearnedWidths by_type(const std::vector<EmbeddingWidth>& given,
                             const graph::DatasetInfo& info) {
    store::LearnedWidths widths(info.types.vertices.size(), 0);
    for (const EmbeddingWidth& one : given) {
        if (one.type.empty()) {
            for (std::size_t t = 0; t < widths.size(); ++t) {
                if (!info.types.vertices[t].features.present()) widths[t] = one.width;
            }
            continue;
        }
        const auto type = info.types.vertex_type(one.type);
        if (!type || info.types.vertices[*type].features.present()) {
            throw usage_error(type ? fmt::format("vertices of type '{}' have features", one.type)
                                   : fmt::format("unknown type of vertices '{}'", one.type),
                              embeddings_option, names_without_features(info));
        }
        widths[*type] = one.width;
    }
    if (std::ranges::all_of(widths, [](std::uint64_t width) { return width == 0; })) {
        throw usage_error("all vertices have features", embeddings_option,
                          names_without_features(info));
    }
    return widths;
}

}  // namespace

std::vector<EmbeddingWidth> parse_embeddings(const std::string& text) {
    std::vector<EmbeddingWidth> given;
    if (text.empty()) return given;
    for (const std::string_view entry : split(text, ',')) {
        const std::size_t sign = entry.find('=');
        if (sign == std::string_view::npos) {
            given.push_back({{}, parse_width(entry)});
        } else {
            given.push_back(
                {std::string(entry.substr(0, sign)), parse_width(entry.substr(sign + 1))});
        }
        const EmbeddingWidth& last = given.back();
        const bool bare = sign == std::string_view::npos;
        const bool wrong = std::ranges::count(given, last.type, &EmbeddingWidth::type) > 1 ||
                           (bare ? given.size() > 1 : given.front().type.empty());
        if (wrong) {
            throw usage_error(fmt::format("invalid embeddings: '{}'", text), embeddings_option,
                              "give one number, or one for each type: author=64,venue=16");
        }
    }
    return given;
}

void check_learned(const TrainOptions& options) {
    if (parse_embeddings(options.embeddings).empty()) return;
    if (store::rounds(options.precision)) {
        throw usage_error(fmt::format("learned rows are not rounded to {}: their changes are "
                                      "smaller than that",
                                      to_string(options.precision)),
                          "--precision", "leave it out, or train without --embeddings");
    }
    if (options.sparse == store::SparseChoice::on) {
        throw usage_error("learned rows are not sparse", "--sparse",
                          "leave it out, or train without --embeddings");
    }
    if (!nn::model_teaches_rows(options.model)) {
        throw usage_error(
            fmt::format("model '{}' does not say how its loss changes with its input rows",
                        options.model),
            embeddings_option, "choose another --model, such as sage");
    }
}

store::LearnedWidths learned_widths(const std::string& text, const graph::DatasetInfo& info) {
    const std::vector<EmbeddingWidth> given = parse_embeddings(text);
    if (given.empty()) return {};
    if (info.rows().row_normalise) {
        throw usage_error("rows of this data set are normalised, and learned ones are not",
                          embeddings_option,
                          "import it without --row-normalise, or leave the option out");
    }
    if (info.types.present()) return by_type(given, info);
    if (!given.front().type.empty()) {
        throw usage_error(fmt::format("the graph has one type of vertices, which has no name: '{}'",
                                      given.front().type),
                          embeddings_option, "give one number, such as 64");
    }
    if (info.features.present()) {
        throw usage_error("the vertices have features", embeddings_option,
                          "leave it out: rows are learned for vertices without features");
    }
    return {given.front().width};
}

}  // namespace rudder::train
