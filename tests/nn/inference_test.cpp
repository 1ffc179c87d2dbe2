// Inference in two steps: what is read of a row is made once, sums may be kept, and neither shows.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "nn/network_case.hpp"
#include "nn/paths.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/flat_network.hpp"

namespace rudder {

using namespace testing;

namespace {

/// One layer of a model over a block, with weights that differ from their beginnings.
struct LayerCase {
    std::unique_ptr<nn::Network> network;
    sample::Block block;
    std::vector<std::uint32_t> degrees;
    std::vector<float> input;  ///< of the sources

    LayerCase(const std::string& model, std::uint64_t inputs, std::uint64_t outputs,
              const BatchShape& shape) {
        nn::NetworkOptions options = small(nn::Objective::regression, inputs, 8, outputs);
        options.model = model;
        options.layers = 1;
        network = nn::make_network(options);
        const auto noise = random_floats(network->weights().size(), 5, 0.3F);
        for (std::size_t i = 0; i < noise.size(); ++i)
            network->weights()[i] += noise[i];
        const sample::Batch batch = random_batch(shape);
        block = batch.blocks.front();
        if (network->wants_degrees()) degrees.assign(batch.degrees.begin(), batch.degrees.end());
        input = random_floats(block.sources * inputs, shape.seed + 9);
    }
    [[nodiscard]] std::vector<float> mapped() const {
        const std::size_t in = network->layer_inputs(0);
        if (network->layer_reads(0) == in) return input;
        std::vector<float> out(input.size() / in * network->layer_reads(0), NAN);
        network->map_rows(0, input, out);
        return out;
    }
    [[nodiscard]] std::span<const float> own() const {
        return std::span(input).first(block.destinations * network->layer_inputs(0));
    }
    [[nodiscard]] std::vector<float> infer(std::span<float> sums = {}) const {
        std::vector<float> out(block.destinations * network->layer_outputs(0));
        const std::vector<float> read = mapped();
        network->infer_rows(0, block,
                            {.sources = read, .own = own(), .degrees = degrees, .sums = sums}, out);
        return out;
    }
};

/// The layer as its formula says it, in double precision.
std::vector<double> naive(const LayerCase& c, const std::string& model) {
    const std::size_t in = c.network->layer_inputs(0);
    const std::size_t out = c.network->layer_outputs(0);
    const bool sage = model == "sage";
    const auto weights = [&](std::size_t p) {
        return c.network->weights().data() + c.network->parameters()[p].offset;
    };
    std::vector<double> result;
    for (std::size_t d = 0; d < c.block.destinations; ++d) {
        const std::uint32_t begin = c.block.offsets[d];
        const std::uint32_t end = c.block.offsets[d + 1];
        const double count = end - begin;
        const auto root = [&](std::size_t s) { return 1 / std::sqrt(c.degrees[s] + 1.0); };
        std::vector<double> sum(in, 0);
        for (std::uint32_t e = begin; e < end; ++e) {
            const LocalId s = c.block.neighbours[e];
            const double share = sage ? 1 / count : root(d) * c.degrees[d] / count * root(s);
            for (std::size_t i = 0; i < in; ++i)
                sum[i] += share * static_cast<double>(c.input[s * in + i]);
        }
        for (std::size_t i = 0; !sage && i < in; ++i)
            sum[i] += root(d) * root(d) * static_cast<double>(c.input[d * in + i]);
        for (std::size_t o = 0; o < out; ++o) {
            double value = static_cast<double>(weights(sage ? 2 : 1)[o]);
            for (std::size_t i = 0; i < in; ++i) {
                value += sum[i] * static_cast<double>(weights(sage ? 1 : 0)[o * in + i]);
                if (sage) {
                    value += static_cast<double>(c.input[d * in + i]) *
                             static_cast<double>(weights(0)[o * in + i]);
                }
            }
            result.push_back(value);
        }
    }
    return result;
}

struct LayerShape {
    std::uint64_t inputs;
    std::uint64_t outputs;
    bool maps;
};
constexpr LayerShape layer_shapes[]{{17, 1, true},   {40, 16, true},  {33, 17, true},
                                    {100, 47, true}, {16, 16, false}, {12, 40, false},
                                    {256, 3, true},  {1, 1, false},   {48, 47, false},
                                    {49, 47, true},  {300, 64, true}, {64, 64, false}};

TEST(InferenceInTwoSteps, AgreesWithTheFormula) {
    std::uint64_t seed = 1;
    for (const char* model : {"sage", "gcn"}) {
        for (const LayerShape& shape : layer_shapes) {
            SCOPED_TRACE(fmt::format("{}, {} to {}", model, shape.inputs, shape.outputs));
            const auto isolated = static_cast<std::uint32_t>(seed % 3 * 20);
            const LayerCase c(model, shape.inputs, shape.outputs, {700, {9}, 50, isolated, seed++});
            EXPECT_EQ(c.network->layer_reads(0) != c.network->layer_inputs(0), shape.maps);
            EXPECT_EQ(c.network->sums_rows(0), !shape.maps);
            expect_close(c.infer(), naive(c, model));
        }
    }
}

/// By hand: a path 0 - 1 - 2, products of 17 columns each before means.
TEST(InferenceInTwoSteps, KnownAnswer) {
    LayerCase c("sage", 17, 1, {3, {1}, 50, 0, 1});
    std::ranges::fill(c.network->weights(), 0.F);
    for (std::size_t i = 0; i < 17; ++i) {
        c.network->weights()[i] = 1;       // own rows: their sum
        c.network->weights()[17 + i] = 2;  // means: twice theirs
    }
    c.network->weights()[34] = 0.5F;
    c.block = {3, 3, {0, 1, 3, 4}, {1, 0, 2, 1}};
    c.input.assign(3 * 17, 0.F);
    c.input[0] = 1;
    c.input[17 + 16] = 2;
    c.input[2 * 17 + 3] = 4;
    EXPECT_EQ(c.infer(), (std::vector<float>{0.5F + 1 + 4, 0.5F + 2 + 5, 0.5F + 4 + 4}));
}

TEST(InferenceInTwoSteps, SameBitsOnAnyThreadsAndPaths) {
    const Restore restore;
    for (const char* model : {"sage", "gcn"}) {
        for (const LayerShape& shape : layer_shapes) {
            const LayerCase c(model, shape.inputs, shape.outputs, {900, {7}, 50, 10, 4});
            set_thread_count(1);
            const std::vector<float> one = on_all_paths([&] { return c.infer(); });
            set_thread_count(3);
            EXPECT_EQ(c.infer(), one) << model << shape.inputs;
        }
    }
}

/// Destinations in stretches of odd lengths, each a block of its own with sources in other places.
TEST(InferenceInTwoSteps, SameBitsInAnyChunks) {
    for (const char* model : {"sage", "gcn"}) {
        for (const LayerShape& shape : layer_shapes) {
            const LayerCase c(model, shape.inputs, shape.outputs, {600, {7}, 50, 10, 6});
            const std::vector<float> whole = c.infer();
            const std::vector<float> read = c.mapped();
            const std::size_t reads = c.network->layer_reads(0);
            std::vector<float> parts;
            for (std::uint32_t first = 0; first < c.block.destinations; first += 97) {
                const std::uint32_t last = std::min(first + 97, c.block.destinations);
                std::vector<LocalId> sources(last - first);
                std::iota(sources.begin(), sources.end(), first);
                sample::Block block;
                block.destinations = last - first;
                block.offsets.push_back(0);
                for (std::uint32_t d = first; d < last; ++d) {
                    for (std::uint32_t e = c.block.offsets[d]; e < c.block.offsets[d + 1]; ++e) {
                        const LocalId s = c.block.neighbours[e];
                        auto found = std::ranges::find(sources, s);
                        if (found == sources.end()) found = sources.insert(found, s);
                        block.neighbours.push_back(static_cast<LocalId>(found - sources.begin()));
                    }
                    block.offsets.push_back(block.edges());
                }
                block.sources = static_cast<std::uint32_t>(sources.size());
                std::vector<float> rows;
                std::vector<std::uint32_t> degrees;
                for (const LocalId s : sources) {
                    rows.insert(rows.end(), read.begin() + static_cast<std::ptrdiff_t>(s * reads),
                                read.begin() + static_cast<std::ptrdiff_t>((s + 1) * reads));
                    if (!c.degrees.empty()) degrees.push_back(c.degrees[s]);
                }
                const std::size_t in = c.network->layer_inputs(0);
                std::vector<float> out(block.destinations * shape.outputs);
                c.network->infer_rows(0, block,
                                      {.sources = rows,
                                       .own = c.own().subspan(first * in, block.destinations * in),
                                       .degrees = degrees},
                                      out);
                parts.insert(parts.end(), out.begin(), out.end());
            }
            EXPECT_EQ(parts, whole) << model << ' ' << shape.inputs;
        }
    }
}

/// Kept sums stand for edges, sources and degrees, which need not be there any more.
TEST(InferenceInTwoSteps, KeptSumsGiveTheSameBits) {
    for (const char* model : {"sage", "gcn"}) {
        const LayerCase c(model, 12, 40, {600, {7}, 50, 10, 6});
        std::vector<float> sums(c.block.destinations * 12, NAN);
        const std::vector<float> first = c.infer(sums);
        EXPECT_EQ(first, c.infer());
        sample::Block none;
        none.destinations = c.block.destinations;
        std::vector<float> again(first.size());
        c.network->infer_rows(0, none, {.own = c.own(), .sums = sums, .summed = true}, again);
        EXPECT_EQ(again, first);
    }
}

/// What a layer without products in between gives is what inference in one step gives.
TEST(InferenceInTwoSteps, LayersThatReadTheirInputAreAsBefore) {
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        const LayerCase c(model, 12, 40, {600, {7}, 50, 10, 6});
        std::vector<float> out(c.block.destinations * 40);
        c.network->infer_layer(0, c.block, c.degrees, c.input, out);
        EXPECT_EQ(c.infer(), out) << model;
    }
}

/// The bytes said suffice for any block, and are not many times what it takes.
TEST(InferenceInTwoSteps, SaysWhatMemoryItTakes) {
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        for (const std::uint64_t outputs : {3U, 40U}) {
            const LayerCase c(model, 30, outputs, {900, {11}, 50, 10, 6});
            static_cast<void>(c.infer());
            const nn::InferenceBytes said = c.network->inference_bytes(0);
            const std::uint64_t sum = said.fixed + said.destination * c.block.destinations +
                                      said.source * c.block.sources + said.edge * c.block.edges();
            const auto taken = dynamic_cast<nn::FlatNetwork&>(*c.network).workspace_bytes();
            EXPECT_GE(sum + 4096, taken) << model;
            EXPECT_LE(sum, taken + taken / 4 + 8192) << model;
        }
    }
}

}  // namespace
}  // namespace rudder
