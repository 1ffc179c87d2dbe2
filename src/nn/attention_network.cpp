#include "attention_network.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "scratch.hpp"
#include "sparse_input.hpp"

namespace rudder::nn {

std::size_t AttentionNetwork::add_glorot(std::size_t l, const char* name, std::size_t rows,
                                         std::size_t columns) {
    return add_parameter(fmt::format("layers.{}.{}", l, name),
                         {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                         std::sqrt(6.0 / static_cast<double>(rows + columns)), true);
}

std::size_t AttentionNetwork::add_zeroes(std::size_t l, const char* name, std::size_t count) {
    return add_constant(fmt::format("layers.{}.{}", l, name), {static_cast<std::int64_t>(count)},
                        0);
}

ConstMatrix AttentionNetwork::input_rows(std::size_t l, Rows rows) const {
    if (sparse_input(l)) return {nullptr, rows.count, 0, 0};
    return aligned_rows(view(l).input.part(rows.first, rows.count), Scratch::input);
}

Matrix AttentionNetwork::pack_weights(std::size_t l, std::size_t parameter, float* memory) const {
    const Heads all = heads(l);
    if (sparse_input(l)) {
        const Matrix packed = matrix(memory, layer_inputs(l), all.width());
        pack_transposed(parameter, {all.columns, all.padded()}, packed);
        return packed;
    }
    const Matrix packed = matrix(memory, all.width(), layer_inputs(l));
    pack_heads(parameter, all, packed);
    return packed;
}

void AttentionNetwork::multiply_input(std::size_t l, Rows rows, const Matrix& weights,
                                      const Matrix& out) const {
    if (sparse_input(l)) {
        multiply_sparse(view(l).sparse.part(rows.first, rows.count), weights, out);
    } else {
        multiply_transposed(input_rows(l, rows), weights, out);
    }
}

void AttentionNetwork::finish_weights(std::size_t l, const LaneSums& lanes,
                                      const ConstMatrix& products, float* weights, float* bias) {
    const LaneSums::Groups groups{heads(l).columns, heads(l).padded()};
    const LaneSums::Stretch whole{0, layer_inputs(l), weights};
    if (!sparse_input(l)) return lanes.finish(std::span(&whole, 1), bias, groups);
    sparse_gradient(products, groups, weights);
    lanes.finish({}, bias, groups);
}

void AttentionNetwork::finish_vector(const Heads& heads, const LaneColumns& sums, float* out) {
    std::vector<float> vector(heads.width());
    sums.finish(vector.data());
    unpack_heads(heads, vector.data(), out);
}

void AttentionNetwork::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                                        WorkspacePlan& memory, Offsets& offsets) const {
    const Heads all = heads(l);
    const auto floats = [&](std::size_t count) { offsets.push_back(memory.add<float>(count)); };
    floats(weight_floats(l));
    floats(block.sources * all.width());
    floats(entry_count(block) * all.count);
    if (pass == Pass::train) {
        floats(entry_count(block) * all.count);
        floats(block.destinations * all.width());
        offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
        offsets.push_back(memory.add<LocalId>(block.edges()));
        offsets.push_back(memory.add<std::uint32_t>(block.edges()));
    }
    for (const std::size_t count : own_floats(l, block, pass))
        floats(count);
}

void AttentionNetwork::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    Layer& own = layers_[l];
    const sample::Block& block = *view(l).block;
    const Heads all = heads(l);
    std::size_t next = 0;
    const auto floats = [&] { return workspace().at<float>(offsets[next++]); };
    own.weights = pack_weights(l, own.weight, floats());
    own.values = matrix(floats(), block.sources, all.width());
    own.alphas = floats();
    if (pass == Pass::train) {
        own.deltas = floats();
        own.gradient = matrix(floats(), block.destinations, all.width());
        own.readers = {
            {workspace().at<std::uint32_t>(offsets[next]), std::size_t{block.sources} + 1},
            {workspace().at<LocalId>(offsets[next + 1]), block.edges()},
            {workspace().at<std::uint32_t>(offsets[next + 2]), block.edges()}};
        next += 3;
        transpose(block, own.readers);
    }
    std::vector<float*> rest;
    while (next < offsets.size())
        rest.push_back(floats());
    begin_own(l, rest, pass);
}

std::size_t AttentionNetwork::sum_floats(std::size_t l, const sample::Block& block) const {
    return LaneColumns::floats(Lanes(block.destinations), layer_outputs(l)) +
           LaneSums::floats(Lanes(block.sources), heads(l).width(), lane_inputs(l)) +
           own_sum_floats(l, block);
}
LaneColumns AttentionNetwork::bias_sums(std::size_t l) noexcept {
    return {sums(), Lanes(view(l).out.rows), layer_outputs(l)};
}
LaneSums AttentionNetwork::weight_sums(std::size_t l) noexcept {
    return {sums() + LaneColumns::floats(Lanes(view(l).out.rows), layer_outputs(l)),
            Lanes(view(l).block->sources), heads(l).width(), lane_inputs(l)};
}
float* AttentionNetwork::own_sums(std::size_t l) noexcept {
    return sums() + LaneColumns::floats(Lanes(view(l).out.rows), layer_outputs(l)) +
           LaneSums::floats(Lanes(view(l).block->sources), heads(l).width(), lane_inputs(l));
}

void AttentionNetwork::prepare(std::size_t l) {
    const Layer& own = layers_[l];
    parallel_chunks(own.values.rows, chunk_rows, [&](const Chunk& chunk) {
        const Rows rows{chunk.begin, chunk.end - chunk.begin};
        multiply_input(l, rows, own.weights, own.values.part(rows.first, rows.count));
        values_made(l, rows);
    });
}

void AttentionNetwork::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const Matrix sums = scratch_rows(Scratch::product, rows.count, heads(l).width());
    attend_rows(l, rows, sums);
    join_heads(heads(l), become(l), sums, view(l).out.part(rows.first, rows.count));
}

void AttentionNetwork::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const LaneColumns bias = bias_sums(l);
    if (turn.first) bias.clear(turn.lane);
    bias.add(turn.lane, out);
    part_heads(heads(l), become(l), out, layers_[l].gradient.part(rows.first, rows.count));
    attend_back(l, rows, turn);
}

void AttentionNetwork::finish_backward(std::size_t l, std::span<float> gradient) {
    const Layer& own = layers_[l];
    const Lanes lanes(view(l).block->sources);
    const LaneSums weights = weight_sums(l);
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
            const Rows rows{first, std::min(chunk_rows, lane.end - first)};
            const LaneTurn turn{lane.index, first == lane.begin};
            values_back(l, rows, turn);
            weights.add(turn.lane, turn.first, own.values.part(rows.first, rows.count),
                        input_rows(l, rows));
        }
    });
    finish_weights(l, weights, own.values, place(gradient, own.weight), value_bias(l, gradient));
    finish_own(l, gradient);
    bias_sums(l).finish(place(gradient, own.bias));
}

void AttentionNetwork::source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                                       const Matrix& out) {
    RUDDER_CHECK_NORMAL(active.data == nullptr);  // there is no rectifier
    multiply(layers_[l].values.part(rows.first, rows.count), layers_[l].weights, out);
}

}  // namespace rudder::nn
