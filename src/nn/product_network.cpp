#include "product_network.hpp"

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "scratch.hpp"

namespace rudder::nn {

void ProductNetwork::add_piece(std::size_t l, const char* name, double bound) {
    const auto in = static_cast<std::int64_t>(layer_inputs(l));
    const auto out = static_cast<std::int64_t>(layer_outputs(l));
    layers_[l].pieces.push_back(
        add_parameter(fmt::format("layers.{}.{}", l, name), {out, in}, bound, true));
}

void ProductNetwork::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                                      WorkspacePlan& memory, Offsets& offsets) const {
    const std::size_t stride = aligned_columns(columns(l));
    offsets.push_back(memory.add<float>(layer_outputs(l) * stride));
    if (pass == Pass::predict) return;
    offsets.push_back(memory.add<float>(block.destinations * stride));
    if (l == 0) return;
    offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
    offsets.push_back(memory.add<LocalId>(block.edges()));
}

void ProductNetwork::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    Layer& own = layers_[l];
    const sample::Block& block = *view(l).block;
    const std::size_t in = layer_inputs(l);
    const std::size_t stride = aligned_columns(columns(l));
    own.weights = {workspace().at<float>(offsets[0]), layer_outputs(l), columns(l), stride};
    for (std::size_t p = 0; p < own.pieces.size(); ++p)
        pack(own.pieces[p], {own.weights.data + p * in, own.weights.rows, in, stride});
    if (pass == Pass::predict) return;
    own.gathered = {workspace().at<float>(offsets[1]), block.destinations, columns(l), stride};
    if (l == 0) return;
    own.readers = {{workspace().at<std::uint32_t>(offsets[2]), std::size_t{block.sources} + 1},
                   {workspace().at<LocalId>(offsets[3]), block.edges()}};
    transpose(block, own.readers);
}

/// Own rows, where they are a piece, and sums.
void ProductNetwork::gather_rows(std::size_t l, Rows rows, const Matrix& gathered) {
    const ConstMatrix& input = view(l).input;
    const std::size_t last_piece = layers_[l].pieces.size() - 1;
    for (std::size_t r = 0; last_piece > 0 && r < rows.count; ++r)
        std::copy_n(input.row(rows.first + r), input.columns, gathered.row(r));
    const Matrix sums = piece(l, gathered, last_piece);
    const Matrix& kept = view(l).sums;
    if (!view(l).summed) sum_rows(l, rows, input, sums);
    for (std::size_t r = 0; kept.data != nullptr && r < rows.count; ++r) {
        float* const row = kept.row(rows.first + r);
        if (view(l).summed) {
            std::copy_n(row, sums.columns, sums.row(r));
        } else {
            std::copy_n(sums.row(r), sums.columns, row);
        }
    }
}

/// Sums of rows that were multiplied before, and own rows multiplied now.
void ProductNetwork::add_mapped(std::size_t l, Rows rows) {
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix sums = scratch_rows(Scratch::gathered, rows.count, layer_reads(l));
    sum_rows(l, rows, view(l).mapped, sums);
    if (layers_[l].pieces.size() == 1) {
        for (std::size_t r = 0; r < rows.count; ++r)
            std::copy_n(sums.row(r), out.columns, out.row(r));
        return;
    }
    const ConstMatrix own = view(l).input.part(rows.first, rows.count);
    multiply_transposed(aligned_rows(own, Scratch::input), piece(l, layers_[l].weights, 0), out);
    add_rows(out, sums);
}

void ProductNetwork::forward_rows(std::size_t l, Rows rows, Pass pass) {
    if (view(l).mapped.data != nullptr) return add_mapped(l, rows);
    const Matrix gathered = pass == Pass::train
                                ? layers_[l].gathered.part(rows.first, rows.count)
                                : scratch_rows(Scratch::gathered, rows.count, columns(l));
    gather_rows(l, rows, gathered);
    multiply_transposed(gathered, layers_[l].weights, view(l).out.part(rows.first, rows.count));
}

void ProductNetwork::map_rows(std::size_t l, std::span<const float> input, std::span<float> out) {
    const std::size_t in = layer_inputs(l);
    const std::size_t columns_out = layer_outputs(l);
    const std::size_t reads = layer_reads(l);
    RUDDER_CHECK(reads != in && input.size() / in * reads == out.size());
    const auto weights = std::as_const(*this).weights_of(layers_[l].pieces.back());
    const ConstMatrix from{input.data(), input.size() / in, in, in};
    const Matrix to{out.data(), from.rows, columns_out, reads};
    parallel_chunks(from.rows, chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const Matrix rows = to.part(chunk.begin, count);
        multiply_transposed(aligned_rows(from.part(chunk.begin, count), Scratch::input),
                            {weights.data(), columns_out, in, in}, rows);
        for (std::size_t r = 0; r < count; ++r)
            std::fill(rows.row(r) + columns_out, rows.row(r) + reads, 0.F);
    });
}

void ProductNetwork::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix gathered = layers_[l].gathered.part(rows.first, rows.count);
    lane_sums(l).add(turn.lane, turn.first, out, gathered);
    if (l == 0) return;
    // The gathered rows are not needed any more: their gradient takes their place.
    multiply(out, layers_[l].weights, gathered);
    gather_back(l, rows, gathered);
}

void ProductNetwork::finish_backward(std::size_t l, std::span<float> gradient) {
    const Layer& own = layers_[l];
    const std::size_t in = layer_inputs(l);
    std::vector<LaneSums::Stretch> stretches;
    for (std::size_t p = 0; p < own.pieces.size(); ++p)
        stretches.push_back({p * in, in, place(gradient, own.pieces[p])});
    lane_sums(l).finish(stretches, place(gradient, own.bias));
}

}  // namespace rudder::nn
