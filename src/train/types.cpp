#include "types.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::train {

namespace {

constexpr const char* fanout_remedy =
    "give NAME:N,N;NAME:N,N with one number per layer, input side first, such as "
    "writes:5,5;cites:10,-1 (0 = none, -1 = all)";

Error bad_fanout(std::string what, std::string remedy = fanout_remedy) {
    return usage_error(std::move(what), "--type-fanout", std::move(remedy));
}

/// "10,25" as so many numbers.
std::vector<std::int32_t> parse_numbers(std::string_view text, std::size_t layers) {
    std::vector<std::int32_t> numbers;
    for (const std::string_view word : split(text, ',')) {
        const bool all = word == "-1";
        const auto number = all ? std::nullopt : parse_u64(word);
        constexpr std::uint64_t most = 1'000'000'000;
        if (!all && (!number || *number > most))
            throw bad_fanout(fmt::format("invalid type-fanout: '{}'", word));
        numbers.push_back(all ? -1 : static_cast<std::int32_t>(*number));
    }
    if (numbers.size() == layers) return numbers;
    throw bad_fanout(
        fmt::format("{} fan-outs for {} layers in '{}'", numbers.size(), layers, text));
}

}  // namespace

std::optional<nn::TypedInputs> typed_inputs(const graph::DatasetInfo& info) {
    if (!info.types.present()) return std::nullopt;
    nn::TypedInputs inputs;
    for (const graph::VertexType& type : info.types.vertices) {
        inputs.vertices.push_back({type.name, std::max<std::uint64_t>(1, type.features.width)});
    }
    for (const graph::EdgeType& type : info.types.edges)
        inputs.edges.push_back({type.name, type.from, type.to});
    return inputs;
}

bool same_types(const std::optional<nn::TypedInputs>& a, const std::optional<nn::TypedInputs>& b) {
    if (!a || !b) return a.has_value() == b.has_value();
    const auto vertices = [](const nn::TypedInputs::Vertices& x,
                             const nn::TypedInputs::Vertices& y) {
        return x.name == y.name && x.width == y.width;
    };
    const auto edges = [](const nn::TypedInputs::Edges& x, const nn::TypedInputs::Edges& y) {
        return x.name == y.name && x.from == y.from && x.to == y.to;
    };
    return std::ranges::equal(a->vertices, b->vertices, vertices) &&
           std::ranges::equal(a->edges, b->edges, edges);
}

std::unique_ptr<sample::TypedSampling> typed_sampling(const partition::PartitionedDataset& data,
                                                      const TrainOptions& options) {
    const graph::GraphTypes& types = data.info().types;
    if (!types.present()) return nullptr;
    auto sampling = std::make_unique<sample::TypedSampling>();
    sampling->book = data.book();
    sampling->vertices = data.types();
    for (const graph::EdgeType& type : types.edges)
        sampling->edges.push_back({type.from, type.to});
    for (const std::int32_t fanout : options.fanout)
        sampling->fanout.emplace_back(types.edges.size(), fanout);
    if (options.type_fanout.empty()) return sampling;
    for (const std::string_view entry : split(options.type_fanout, ';')) {
        const std::size_t colon = entry.find(':');
        if (colon == std::string_view::npos)
            throw bad_fanout(fmt::format("invalid type-fanout: '{}'", entry));
        const auto type = types.edge_type(entry.substr(0, colon));
        if (!type) {
            std::vector<std::string_view> names;
            for (const graph::EdgeType& known : types.edges)
                names.push_back(known.name);
            throw bad_fanout(fmt::format("unknown type of edges '{}'", entry.substr(0, colon)),
                             fmt::format("known are {}", join(names, ", ")));
        }
        const auto numbers = parse_numbers(entry.substr(colon + 1), options.fanout.size());
        for (std::size_t layer = 0; layer < numbers.size(); ++layer)
            sampling->fanout[layer][*type] = numbers[layer];
    }
    return sampling;
}

std::unique_ptr<sample::TypedSampling> all_neighbours(const sample::TypedSampling* types) {
    if (types == nullptr) return nullptr;
    auto all = std::make_unique<sample::TypedSampling>(*types);
    for (std::vector<std::int32_t>& layer : all->fanout)
        std::ranges::fill(layer, -1);
    return all;
}

std::optional<TypedLinks> typed_links(const graph::DatasetInfo& info, const TrainOptions& options) {
    if (options.task != TaskKind::link || !info.types.present()) return std::nullopt;
    const std::vector<graph::EdgeType>& edges = info.types.edges;
    std::vector<std::string_view> names;
    for (const graph::EdgeType& type : edges) {
        if (!type.reverse_of) names.push_back(type.name);
    }
    const std::string& name = options.links.type;
    const auto bad = [&](std::string what) {
        return usage_error(std::move(what), "--link-type",
                           fmt::format("name one of {}", join(names, ", ")));
    };
    if (name.empty() && names.size() != 1)
        throw bad(fmt::format("the graph has {} types of edges that may be links", names.size()));
    const auto type = info.types.edge_type(name.empty() ? names.front() : name);
    if (!type) throw bad(fmt::format("unknown type of edges '{}'", name));
    if (edges[*type].reverse_of) {
        throw bad(fmt::format("edges of type '{}' are those of '{}', the other way", name,
                              edges[*edges[*type].reverse_of].name));
    }
    TypedLinks links{.edges = {.type = static_cast<std::uint8_t>(*type)},
                     .from = edges[*type].from,
                     .to = edges[*type].to};
    links.symmetric = info.symmetric && links.from == links.to;
    for (std::size_t t = 0; t < edges.size(); ++t) {
        if (edges[t].reverse_of == type) links.edges.reverse = static_cast<std::uint8_t>(t);
    }
    return links;
}

void check_types(const graph::DatasetInfo& info, const TrainOptions& options,
                 const std::string& where) {
    if (!info.types.present()) {
        if (!nn::model_knows_one_type(options.model)) {
            throw input_error(
                fmt::format("model '{}' is for graphs of several types, and this one has one",
                            options.model),
                where, "choose another --model, such as sage");
        }
        if (!options.links.type.empty()) {
            throw usage_error("the graph has one type of edges", "--link-type", "leave it out");
        }
        if (options.type_fanout.empty()) return;
        throw usage_error("the graph has one type of edges", "--type-fanout", "give --fanout");
    }
    if (!nn::model_knows_types(options.model)) {
        throw input_error(
            fmt::format("model '{}' does not know types, and the graph has {} of vertices and {} "
                        "of edges",
                        options.model, info.types.vertices.size(), info.types.edges.size()),
            where, fmt::format("choose --model {}", join(nn::typed_models(), " or ")));
    }
    const auto refuse = [](const char* option) {
        throw usage_error(fmt::format("{} does not go with a graph of several types", option),
                          option, "leave it out, or train on a graph of one type");
    };
    static_cast<void>(typed_links(info, options));
    if (options.task == TaskKind::link && !options.links.negatives_from.empty())
        refuse("--negatives-from");
    if (options.task == TaskKind::edge) refuse("--task edge");
    if (options.sparse == store::SparseChoice::on) refuse("--sparse on");
    if (options.edge_features) refuse("--edge-features");
}

void check_one_type(const graph::DatasetInfo& info, const std::string& where) {
    if (!info.types.present()) return;
    throw input_error("stores do not know types, and the graph has several", where,
                      "give a graph of one type, or take a loader");
}

}  // namespace rudder::train
