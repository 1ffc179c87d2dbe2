#include "typed_gat.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

#include "scratch.hpp"

namespace rudder::nn {

// ---- parameters --------------------------------------------------------------------------------

TypedGat::TypedGat(const NetworkOptions& network_options)
    : LayeredNetwork(network_options, Activation::exponential), layers_(layers()) {
    for (std::size_t l = 0; l < layers(); ++l) {
        layers_[l].own.resize(types().vertices.size());
        layers_[l].relations.resize(types().edges.size());
        for (std::size_t t = 0; t < types().vertices.size(); ++t) {
            // As a linear layer of PyTorch's beside the attention.
            const double bound = 1 / std::sqrt(static_cast<double>(width(l, t)));
            layers_[l].own[t].weight =
                add_parameter(fmt::format("layers.{}.self.{}.weight", l, types().vertices[t].name),
                              {static_cast<std::int64_t>(layer_outputs(l)),
                               static_cast<std::int64_t>(width(l, t))},
                              bound, true);
        }
        for (std::size_t e = 0; e < types().edges.size(); ++e)
            add_relation(l, e);
        layers_[l].bias = add_constant(fmt::format("layers.{}.bias", l),
                                       {static_cast<std::int64_t>(layer_outputs(l))}, 0);
        end_convolution(layers_[l].bias);
    }
    seal();
}

std::size_t TypedGat::add_glorot(const std::string& name, std::size_t rows, std::size_t columns) {
    return add_parameter(name,
                         {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                         std::sqrt(6.0 / static_cast<double>(rows + columns)), true);
}

/// As PyG's GATConv from one type to another.
void TypedGat::add_relation(std::size_t l, std::size_t e) {
    const TypedInputs::Edges& type = types().edges[e];
    const Heads all = heads(l);
    const std::string name = fmt::format("layers.{}.edges.{}", l, type.name);
    Relation& of = layers_[l].relations[e];
    of.weight = add_glorot(name + ".weight", all.count * all.columns, width(l, type.from));
    of.vector = add_glorot(name + ".att_src", all.count, all.columns);
    of.destination_weight =
        add_glorot(name + ".dst.weight", all.count * all.columns, width(l, type.to));
    of.destination_vector = add_glorot(name + ".att_dst", all.count, all.columns);
}

ScoreMap TypedGat::score_map(std::size_t l, std::size_t e) const noexcept {
    const Relation& of = layers_[l].relations[e];
    return {heads(l), width(l, types().edges[e].to), weights_of(of.destination_weight),
            weights_of(of.destination_vector)};
}

// ---- memory ------------------------------------------------------------------------------------

/// Plans of batches that nobody has drawn yet do not know types: all may be of any.
std::vector<std::size_t> TypedGat::destinations(const sample::Block& block) const {
    if (block.destination_types.size() != block.destinations)
        return std::vector<std::size_t>(types().vertices.size(), block.destinations);
    std::vector<std::size_t> counts(types().vertices.size(), 0);
    for (const std::uint8_t type : block.destination_types)
        ++counts[type];
    return counts;
}

std::vector<TypedGat::Extent> TypedGat::extents(const sample::Block& block) const {
    const std::vector<std::size_t> to = destinations(block);
    const bool drawn = block.types.size() == block.edges();
    std::vector<std::size_t> edges(types().edges.size(), drawn ? 0 : block.edges());
    for (const std::uint8_t type : block.types)
        ++edges[type];
    std::vector<Extent> all;
    for (std::size_t e = 0; e < types().edges.size(); ++e) {
        all.push_back(
            {std::min<std::size_t>(block.sources, edges[e]), to[types().edges[e].to], edges[e]});
    }
    return all;
}

void TypedGat::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                                WorkspacePlan& memory, Offsets& offsets) const {
    const Heads all = heads(l);
    const bool train = pass == Pass::train;
    const auto floats = [&](std::size_t count) { offsets.push_back(memory.add<float>(count)); };
    const std::vector<std::size_t> counts = destinations(block);
    for (std::size_t t = 0; t < counts.size(); ++t) {
        floats(layer_outputs(l) * aligned_columns(width(l, t)));
        floats(train && goes_back(l) ? counts[t] * aligned_columns(width(l, t)) : 0);
    }
    const std::vector<Extent> extent = extents(block);
    for (std::size_t e = 0; e < extent.size(); ++e) {
        const TypedInputs::Edges& type = types().edges[e];
        const Extent& of = extent[e];
        floats(all.width() * aligned_columns(width(l, type.from)));
        floats(all.width());
        floats(all.count * aligned_columns(width(l, type.to)));
        floats(of.sources * all.width());
        floats(of.edges * all.count);
        floats(of.sources * all.count);
        floats(of.destinations * all.count);
        floats(train ? of.edges * all.count : 0);
        floats(train ? of.sources * all.count : 0);
        floats(train ? of.destinations * all.count : 0);
        floats(train ? of.destinations * all.width() : 0);
    }
}

namespace {

constexpr std::size_t relation_pieces = 11;

Matrix aligned(float* memory, std::size_t rows, std::size_t columns) noexcept {
    return {memory, rows, columns, aligned_columns(columns)};
}

}  // namespace

void TypedGat::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    Layer& layer = layers_[l];
    layer.block.set(*view(l).block, types(),
                    pass == Pass::train ? TypedBlock::Ways::both : TypedBlock::Ways::forth,
                    TypedBlock::Sources::read);
    std::vector<float*> memory;
    for (const std::size_t offset : offsets)
        memory.push_back(workspace().at<float>(offset));
    std::size_t next = 0;
    for (std::size_t t = 0; t < layer.own.size(); ++t) {
        Own& own = layer.own[t];
        own.weights = aligned(memory[next++], layer_outputs(l), width(l, t));
        own.back = aligned(memory[next++], layer.block.destinations(t).size(), width(l, t));
        pack(own.weight, own.weights);
    }
    for (std::size_t e = 0; e < layer.relations.size(); ++e, next += relation_pieces)
        begin_relation(l, e, memory.data() + next, pass);
}

void TypedGat::begin_relation(std::size_t l, std::size_t e, float* const* memory, Pass pass) {
    const TypedInputs::Edges& type = types().edges[e];
    const Heads all = heads(l);
    const sample::Block& rows = layers_[l].block.along(e).rows;
    Relation& of = layers_[l].relations[e];
    of.weights = aligned(memory[0], all.width(), width(l, type.from));
    of.packed = memory[1];
    of.map = aligned(memory[2], all.count, width(l, type.to));
    of.values = aligned(memory[3], rows.sources, all.width());
    of.alphas = memory[4];
    of.source_scores = memory[5];
    of.own_scores = {memory[6], rows.destinations, all.count, all.count};
    pack_heads(all, std::as_const(*this).weights_of(of.weight), of.weights);
    pack_heads(all, std::as_const(*this).weights_of(of.vector), {of.packed, all.width(), 1, 1});
    score_map(l, e).collapse(of.map);
    if (pass == Pass::predict) return;
    of.deltas = memory[7];
    of.source_sums = memory[8];
    of.own_sums = {memory[9], rows.destinations, all.count, all.count};
    of.gradient = aligned(memory[10], rows.destinations, all.width());
}

Attention TypedGat::attention(std::size_t l, std::size_t e) const noexcept {
    const Relation& of = layers_[l].relations[e];
    return {&layers_[l].block.along(e).rows, heads(l), of.values, of.alphas, of.deltas};
}

std::size_t TypedGat::destination_floats(std::size_t l, std::size_t rows) const noexcept {
    const Lanes lanes(rows);
    std::size_t sum = LaneColumns::floats(lanes, layer_outputs(l));
    for (std::size_t t = 0; t < types().vertices.size(); ++t)
        sum += LaneSums::floats(lanes, layer_outputs(l), width(l, t));
    for (const TypedInputs::Edges& type : types().edges)
        sum += LaneSums::floats(lanes, heads(l).count, width(l, type.to));
    return sum;
}

std::size_t TypedGat::sum_floats(std::size_t l, const sample::Block& block) const {
    std::size_t most = 0;
    const std::vector<Extent> extent = extents(block);
    for (std::size_t e = 0; e < extent.size(); ++e) {
        Lanes lanes(extent[e].sources);
        lanes.count = Lanes::most(extent[e].sources);
        most = std::max(most,
                        LaneSums::floats(lanes, heads(l).width(), width(l, types().edges[e].from)) +
                            LaneColumns::floats(lanes, heads(l).width()));
    }
    return destination_floats(l, block.destinations) + most;
}

TypedGat::Sums TypedGat::lane_sums(std::size_t l) noexcept {
    const Lanes lanes(view(l).out.rows);
    float* next = sums();
    Sums all{{}, {}, {next, lanes, layer_outputs(l)}};
    next += LaneColumns::floats(lanes, layer_outputs(l));
    for (std::size_t t = 0; t < types().vertices.size(); ++t) {
        all.own.emplace_back(next, lanes, layer_outputs(l), width(l, t));
        next += LaneSums::floats(lanes, layer_outputs(l), width(l, t));
    }
    for (const TypedInputs::Edges& type : types().edges) {
        all.maps.emplace_back(next, lanes, heads(l).count, width(l, type.to));
        next += LaneSums::floats(lanes, heads(l).count, width(l, type.to));
    }
    return all;
}

Matrix TypedGat::input_at(const ConstMatrix& input, std::span<const std::uint32_t> positions,
                          std::size_t columns) {
    const Matrix rows = scratch_rows(Scratch::input, positions.size(), columns);
    for (std::size_t i = 0; i < positions.size(); ++i)
        std::copy_n(input.row(positions[i]), columns, rows.row(i));
    return rows;
}

// ---- forward -----------------------------------------------------------------------------------

void TypedGat::prepare(std::size_t l) {
    const Heads all = heads(l);
    for (std::size_t e = 0; e < types().edges.size(); ++e) {
        const Relation& of = layers_[l].relations[e];
        parallel_chunks(of.values.rows, chunk_rows, [&](const Chunk& chunk) {
            const Rows rows{chunk.begin, chunk.end - chunk.begin};
            const Matrix values = of.values.part(rows.first, rows.count);
            multiply_transposed(source_rows(l, e, rows), of.weights, values);
            head_products(all, values, of.packed, of.source_scores + rows.first * all.count);
        });
    }
}

void TypedGat::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const Layer& layer = layers_[l];
    const Matrix& out = view(l).out;
    for (std::size_t type = 0; type < types().vertices.size(); ++type) {
        const TypedBlock::Stretch of = layer.block.among(type, rows.first, rows.count);
        if (of.count == 0) continue;
        const Matrix own = own_rows(l, type, of);
        const Matrix sum = scratch_rows(Scratch::gradient, of.count, out.columns);
        multiply_transposed(own, layer.own[type].weights, sum);
        for (std::size_t e = 0; e < types().edges.size(); ++e) {
            if (types().edges[e].to != type) continue;
            const Relation& relation = layer.relations[e];
            multiply_transposed(own, relation.map, relation.own_scores.part(of.first, of.count));
            const Matrix attended = scratch_rows(Scratch::product, of.count, heads(l).width());
            attend(attention(l, e), scores(relation), {of.first, of.count}, attended);
            const Matrix joined = scratch_rows(Scratch::gathered, of.count, out.columns);
            join_heads(heads(l), become(l), attended, joined);
            add_rows(sum, joined);
        }
        const auto positions = layer.block.destinations(type).subspan(of.first, of.count);
        for (std::size_t i = 0; i < of.count; ++i)
            std::copy_n(sum.row(i), out.columns, out.row(positions[i]));
    }
}

// ---- backward ----------------------------------------------------------------------------------

void TypedGat::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const Layer& layer = layers_[l];
    const Matrix& out = view(l).out;
    const Sums sums = lane_sums(l);
    if (turn.first) sums.bias.clear(turn.lane);
    sums.bias.add(turn.lane, out.part(rows.first, rows.count));
    for (std::size_t type = 0; type < types().vertices.size(); ++type) {
        const TypedBlock::Stretch of = layer.block.among(type, rows.first, rows.count);
        if (of.count == 0 && !turn.first) continue;
        const auto positions = layer.block.destinations(type).subspan(of.first, of.count);
        const Matrix gradient = scratch_rows(Scratch::gradient, of.count, out.columns);
        for (std::size_t i = 0; i < of.count; ++i)
            std::copy_n(out.row(positions[i]), out.columns, gradient.row(i));
        const Matrix own = own_rows(l, type, of);
        const Matrix back = layer.own[type].back.part(of.first, of.count);
        sums.own[type].add(turn.lane, turn.first, gradient, own);
        if (goes_back(l)) multiply(gradient, layer.own[type].weights, back);
        for (std::size_t e = 0; e < types().edges.size(); ++e) {
            if (types().edges[e].to != type) continue;
            const Relation& relation = layer.relations[e];
            part_heads(heads(l), become(l), gradient, relation.gradient.part(of.first, of.count));
            attend_backward(attention(l, e), scores(relation), relation.gradient,
                            {of.first, of.count});
            const Matrix own_sums = relation.own_sums.part(of.first, of.count);
            sums.maps[e].add(turn.lane, turn.first, own_sums, own);
            if (!goes_back(l)) continue;
            const Matrix product = scratch_rows(Scratch::product, of.count, back.columns);
            multiply(own_sums, relation.map, product);
            add_rows(back, product);
        }
    }
}

void TypedGat::finish_backward(std::size_t l, std::span<float> gradient) {
    const Layer& layer = layers_[l];
    const Sums sums = lane_sums(l);
    sums.bias.finish(place(gradient, layer.bias));
    for (std::size_t t = 0; t < layer.own.size(); ++t) {
        const LaneSums::Stretch whole{0, width(l, t), place(gradient, layer.own[t].weight)};
        sums.own[t].finish(std::span(&whole, 1), nullptr);
    }
    for (std::size_t e = 0; e < layer.relations.size(); ++e) {
        const std::size_t inputs = width(l, types().edges[e].to);
        const std::size_t floats = heads(l).count * inputs;
        if (of_map_.size() < floats) of_map_ = Array<float>::uninitialised(floats);
        const LaneSums::Stretch whole{0, inputs, of_map_.data()};
        sums.maps[e].finish(std::span(&whole, 1), nullptr);
        score_map(l, e).expand(of_map_.data(),
                               place(gradient, layer.relations[e].destination_weight),
                               place(gradient, layer.relations[e].destination_vector));
        finish_relation(l, e, gradient);
    }
}

/// Values become their gradients, from which those of the weights and the vector follow.
void TypedGat::finish_relation(std::size_t l, std::size_t e, std::span<float> gradient) {
    const Relation& of = layers_[l].relations[e];
    const Heads all = heads(l);
    const std::size_t inputs = width(l, types().edges[e].from);
    float* const weights = place(gradient, of.weight);
    float* const vector = place(gradient, of.vector);
    if (of.values.rows == 0) {
        std::fill_n(weights, all.count * all.columns * inputs, 0.F);
        std::fill_n(vector, all.count * all.columns, 0.F);
        return;
    }
    const Lanes lanes(of.values.rows);
    float* const memory = sums() + destination_floats(l, view(l).out.rows);
    const LaneSums of_weights(memory, lanes, all.width(), inputs);
    const LaneColumns of_vector(memory + LaneSums::floats(lanes, all.width(), inputs), lanes,
                                all.width());
    const TransposedBlock readers = layers_[l].block.along(e).transposed();
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        of_vector.clear(lane.index);
        for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
            const Rows rows{first, std::min(chunk_rows, lane.end - first)};
            const Matrix values = of.values.part(rows.first, rows.count);
            const Matrix through = scratch_rows(Scratch::product, rows.count, all.width());
            gather_attention(attention(l, e), scores(of), readers, of.gradient, rows, through);
            finish_additive(all, {of.packed, nullptr, of_vector.lane(lane.index), nullptr}, through,
                            scores(of), 0, rows.first, values);
            of_weights.add(lane.index, first == lane.begin, values, source_rows(l, e, rows));
        }
    });
    const LaneSums::Stretch whole{0, inputs, weights};
    of_weights.finish(std::span(&whole, 1), nullptr, {all.columns, all.padded()});
    std::vector<float> padded(all.width());
    of_vector.finish(padded.data());
    unpack_heads(all, padded.data(), vector);
}

void TypedGat::source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                               const Matrix& out) {
    RUDDER_CHECK_NORMAL(active.data == nullptr);  // there is no rectifier
    const Layer& layer = layers_[l];
    for (std::size_t r = 0; r < rows.count; ++r)
        std::fill_n(out.row(r), out.columns, 0.F);
    for (std::size_t type = 0; type < layer.own.size(); ++type) {
        const auto positions = layer.block.destinations(type);
        const TypedBlock::Stretch of = layer.block.among(type, rows.first, rows.count);
        for (std::size_t i = of.first; i < of.first + of.count; ++i) {
            std::copy_n(layer.own[type].back.row(i), width(l, type),
                        out.row(positions[i] - rows.first));
        }
    }
    for (std::size_t e = 0; e < layer.relations.size(); ++e) {
        const auto positions = std::span(layer.block.along(e).sources);
        const auto of = TypedBlock::stretch(positions, rows.first, rows.count);
        if (of.count == 0) continue;
        const std::size_t columns = width(l, types().edges[e].from);
        const Matrix product = scratch_rows(Scratch::product, of.count, columns);
        multiply(layer.relations[e].values.part(of.first, of.count), layer.relations[e].weights,
                 product);
        for (std::size_t i = 0; i < of.count; ++i) {
            float* const to = out.row(positions[of.first + i] - rows.first);
            for (std::size_t c = 0; c < columns; ++c)
                to[c] += product.row(i)[c];
        }
    }
}

std::unique_ptr<Network> make_typed_gat(const NetworkOptions& options) {
    return std::make_unique<TypedGat>(options);
}

}  // namespace rudder::nn
