#include "typed_network.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "scratch.hpp"

namespace rudder::nn {

namespace {

/// Numbers among the destinations of a type, as kernels take them.
struct RowRange {
    std::uint32_t first;
    std::uint32_t last;
    explicit RowRange(TypedBlock::Stretch of)
        : first(static_cast<std::uint32_t>(of.first)),
          last(static_cast<std::uint32_t>(of.first + of.count)) {}
};

}  // namespace

TypedNetwork::TypedNetwork(const NetworkOptions& network_options)
    : LayeredNetwork(network_options, Activation::rectifier), layers_(layers()) {
    const std::size_t of_vertices = types().vertices.size();
    for (std::size_t l = 0; l < layers(); ++l) {
        layers_[l].pieces.resize(pieces());
        for (std::size_t p = 0; p < pieces(); ++p) {
            const std::size_t type = p < of_vertices ? p : types().edges[p - of_vertices].from;
            layers_[l].pieces[p].width = l == 0 ? types().vertices[type].width : layer_inputs(l);
        }
    }
}

void TypedNetwork::end_typed_layer(double bound) {
    const std::size_t l = ended_++;
    layers_[l].bias = add_parameter(fmt::format("layers.{}.bias", l),
                                    {static_cast<std::int64_t>(layer_outputs(l))}, bound, false);
    end_convolution(layers_[l].bias);
}

// ---- memory ------------------------------------------------------------------------------------

void TypedNetwork::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                                    WorkspacePlan& memory, Offsets& offsets) const {
    const std::size_t of_vertices = types().vertices.size();
    for (std::size_t p = 0; p < pieces(); ++p)
        offsets.push_back(memory.add<float>(layer_outputs(l) * aligned_columns(piece(l, p).width)));
    if (pass == Pass::predict) return;
    // Plans of batches that nobody has drawn yet do not know types: all may be of any.
    std::vector<std::size_t> counts(of_vertices, block.destinations);
    if (block.destination_types.size() == block.destinations) {
        std::ranges::fill(counts, 0);
        for (const std::uint8_t type : block.destination_types)
            ++counts[type];
    }
    for (std::size_t p = 0; p < pieces(); ++p) {
        const std::size_t to = p < of_vertices ? p : types().edges[p - of_vertices].to;
        offsets.push_back(memory.add<float>(counts[to] * aligned_columns(piece(l, p).width)));
    }
}

std::size_t TypedNetwork::sum_floats(std::size_t l, const sample::Block& block) const {
    std::size_t sum = 0;
    for (std::size_t p = 0; p < pieces(); ++p) {
        sum += aligned_columns(
            LaneSums::floats(Lanes(block.destinations), layer_outputs(l), piece(l, p).width));
    }
    return sum;
}

LaneSums TypedNetwork::lane_sums(std::size_t l, std::size_t p) {
    const Lanes lanes(view(l).out.rows);
    std::size_t before = 0;
    for (std::size_t i = 0; i < p; ++i)
        before += aligned_columns(LaneSums::floats(lanes, layer_outputs(l), piece(l, i).width));
    return {sums() + before, lanes, layer_outputs(l), piece(l, p).width};
}

void TypedNetwork::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    Layer& own = layers_[l];
    const bool back = pass == Pass::train && goes_back(l);
    own.block.set(*view(l).block, types(), back ? TypedBlock::Ways::both : TypedBlock::Ways::forth);
    const std::size_t of_vertices = types().vertices.size();
    for (std::size_t p = 0; p < pieces(); ++p) {
        Piece& at = own.pieces[p];
        const std::size_t stride = aligned_columns(at.width);
        at.weights = {workspace().at<float>(offsets[p]), layer_outputs(l), at.width, stride};
        write_weights(l, p, at.weights);
        const std::size_t to = p < of_vertices ? p : types().edges[p - of_vertices].to;
        at.gathered = {};
        if (pass == Pass::predict) continue;
        at.gathered = {workspace().at<float>(offsets[pieces() + p]),
                       own.block.destinations(to).size(), at.width, stride};
    }
}

// ---- forward -----------------------------------------------------------------------------------

/// The input rows of some destinations of a type, side by side.
Matrix TypedNetwork::own_rows(std::size_t l, std::size_t type, TypedBlock::Stretch of) const {
    const std::size_t width = piece(l, type).width;
    const Matrix rows = scratch_rows(Scratch::input, of.count, width);
    const auto positions = layers_[l].block.destinations(type).subspan(of.first, of.count);
    for (std::size_t i = 0; i < of.count; ++i)
        std::copy_n(view(l).input.row(positions[i]), width, rows.row(i));
    return rows;
}

void TypedNetwork::forward_rows(std::size_t l, Rows rows, Pass pass) {
    const TypedBlock& block = layers_[l].block;
    const Matrix& out = view(l).out;
    const ConstMatrix& input = view(l).input;
    const std::size_t of_vertices = types().vertices.size();
    for (std::size_t type = 0; type < of_vertices; ++type) {
        const TypedBlock::Stretch of = block.among(type, rows.first, rows.count);
        if (of.count == 0) continue;
        const Matrix sum = scratch_rows(Scratch::gradient, of.count, out.columns);
        multiply_transposed(own_rows(l, type, of), piece(l, type).weights, sum);
        for (std::size_t e = 0; e < types().edges.size(); ++e) {
            if (types().edges[e].to != type) continue;
            const Piece& at = piece(l, of_vertices + e);
            const Matrix gathered = pass == Pass::train
                                        ? at.gathered.part(of.first, of.count)
                                        : scratch_rows(Scratch::gathered, of.count, at.width);
            const ConstMatrix table{input.data, input.rows, at.width, input.stride};
            const RowRange numbers(of);
            const sample::Block& neighbours = block.along(e).rows;
            block.shares()
                ? share_of_neighbours(neighbours, table, numbers.first, numbers.last, gathered)
                : mean_of_neighbours(neighbours, table, numbers.first, numbers.last, gathered);
            const Matrix product = scratch_rows(Scratch::product, of.count, out.columns);
            multiply_transposed(gathered, at.weights, product);
            add_rows(sum, product);
        }
        const auto positions = block.destinations(type).subspan(of.first, of.count);
        for (std::size_t i = 0; i < of.count; ++i)
            std::copy_n(sum.row(i), out.columns, out.row(positions[i]));
    }
}

// ---- backward ----------------------------------------------------------------------------------

void TypedNetwork::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const TypedBlock& block = layers_[l].block;
    const Matrix& out = view(l).out;
    const std::size_t of_vertices = types().vertices.size();
    for (std::size_t type = 0; type < of_vertices; ++type) {
        const TypedBlock::Stretch of = block.among(type, rows.first, rows.count);
        if (of.count == 0 && !turn.first) continue;
        const auto positions = block.destinations(type).subspan(of.first, of.count);
        const Matrix gradient = scratch_rows(Scratch::product, of.count, out.columns);
        for (std::size_t i = 0; i < of.count; ++i)
            std::copy_n(out.row(positions[i]), out.columns, gradient.row(i));
        lane_sums(l, type).add(turn.lane, turn.first, gradient, own_rows(l, type, of));
        if (goes_back(l)) {
            multiply(gradient, piece(l, type).weights,
                     piece(l, type).gathered.part(of.first, of.count));
        }
        for (std::size_t e = 0; e < types().edges.size(); ++e) {
            if (types().edges[e].to != type) continue;
            const Piece& at = piece(l, of_vertices + e);
            const Matrix gathered = at.gathered.part(of.first, of.count);
            lane_sums(l, of_vertices + e).add(turn.lane, turn.first, gradient, gathered);
            if (!goes_back(l) || of.count == 0) continue;
            // The gathered rows are not needed any more: their gradient takes their place.
            multiply(gradient, at.weights, gathered);
            const RowRange numbers(of);
            if (!block.shares())
                divide_by_neighbours(block.along(e).rows, numbers.first, numbers.last, gathered);
        }
    }
}

void TypedNetwork::source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                                   const Matrix& out) {
    TypedBlock& block = layers_[l].block;
    const std::size_t of_vertices = types().vertices.size();
    const Matrix sum = scratch_rows(Scratch::gathered, rows.count, out.columns);
    for (std::size_t r = 0; r < rows.count; ++r)
        std::fill_n(sum.row(r), out.columns, 0.F);
    for (std::size_t type = 0; type < of_vertices; ++type) {
        const TypedBlock::Stretch of = block.among(type, rows.first, rows.count);
        for (std::size_t i = of.first; i < of.first + of.count; ++i) {
            const std::size_t r = block.destinations(type)[i] - rows.first;
            std::copy_n(piece(l, type).gathered.row(i), piece(l, type).width, sum.row(r));
        }
    }
    for (std::size_t e = 0; e < types().edges.size(); ++e) {
        const Matrix& gathered = piece(l, of_vertices + e).gathered;
        const TypedBlock::OfEdges& of = block.along(e);
        for (std::size_t r = 0; r < rows.count; ++r) {
            const std::size_t s = rows.first + r;
            float* const to = sum.row(r);
            for (std::uint32_t i = of.reader_offsets[s]; i < of.reader_offsets[s + 1]; ++i) {
                const float* const from = gathered.row(of.readers[i]);
                const float share = block.shares() ? of.rows.shares[of.reader_edges[i]] : 1.F;
                for (std::size_t c = 0; c < gathered.columns; ++c)
                    to[c] += share * from[c];
            }
        }
    }
    for (std::size_t r = 0; r < rows.count; ++r) {
        const float* const value =
            active.data == nullptr ? nullptr : active.data + (rows.first + r) * active.stride;
        for (std::size_t c = 0; c < out.columns; ++c) {
            const float flows = sum.row(r)[c];
            out.row(r)[c] =
                value == nullptr ? flows : (value[c] > 0.F ? flows * active.scale : 0.F);
        }
    }
}

void TypedNetwork::finish_backward(std::size_t l, std::span<float> gradient) {
    const std::size_t outputs = layer_outputs(l);
    gradients_.resize(pieces() + 1);
    std::vector<ConstMatrix> made(pieces());
    float* const bias = place(gradient, layers_[l].bias);
    std::fill_n(bias, outputs, 0.F);
    Array<float>& part = gradients_.back();
    if (part.size() < outputs) part = Array<float>::uninitialised(outputs);
    for (std::size_t p = 0; p < pieces(); ++p) {
        const std::size_t width = piece(l, p).width;
        Array<float>& memory = gradients_[p];
        if (memory.size() < outputs * width) memory = Array<float>::uninitialised(outputs * width);
        const LaneSums::Stretch whole{0, width, memory.data()};
        // Every row is of one type of vertices, whose pieces together have them all.
        const bool own = p < types().vertices.size();
        lane_sums(l, p).finish(std::span(&whole, 1), own ? part.data() : nullptr);
        for (std::size_t c = 0; own && c < outputs; ++c)
            bias[c] += part[c];
        made[p] = {memory.data(), outputs, width, width};
    }
    take_gradients(l, made, gradient);
}

}  // namespace rudder::nn
