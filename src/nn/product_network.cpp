#include "product_network.hpp"

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "scratch.hpp"
#include "sparse_input.hpp"

namespace rudder::nn {

void ProductNetwork::add_piece(std::size_t l, const char* name, double bound) {
    const auto in = static_cast<std::int64_t>(layer_inputs(l));
    const auto out = static_cast<std::int64_t>(layer_outputs(l));
    layers_[l].pieces.push_back(
        add_parameter(fmt::format("layers.{}.{}", l, name), {out, in}, bound, true));
}

void ProductNetwork::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                                      WorkspacePlan& memory, Offsets& offsets) const {
    const bool sparse = sparse_input(l);
    const std::size_t outputs = aligned_columns(layer_outputs(l));
    const std::size_t stride = aligned_columns(columns(l));
    offsets.push_back(memory.add<float>(sparse ? columns(l) * outputs : layer_outputs(l) * stride));
    if (pass == Pass::predict) return;
    offsets.push_back(memory.add<float>(block.destinations * (sparse ? outputs : stride)));
    if (!goes_back(l) && !sparse) return;
    offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
    offsets.push_back(memory.add<LocalId>(block.edges()));
    if (sparse) offsets.push_back(memory.add<float>(block.sources * outputs));
}

void ProductNetwork::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    Layer& own = layers_[l];
    const sample::Block& block = *view(l).block;
    const bool sparse = sparse_input(l);
    const std::size_t in = layer_inputs(l);
    const std::size_t rows = sparse ? columns(l) : layer_outputs(l);
    const std::size_t wide = sparse ? layer_outputs(l) : columns(l);
    const std::size_t stride = aligned_columns(wide);
    own.weights = {workspace().at<float>(offsets[0]), rows, wide, stride};
    for (std::size_t p = 0; p < own.pieces.size(); ++p) {
        sparse ? pack_transposed(own.pieces[p], {}, own.weights.part(p * in, in))
               : pack(own.pieces[p], {own.weights.data + p * in, own.weights.rows, in, stride});
    }
    own.products = {};
    if (pass == Pass::predict) return;
    own.gathered = {workspace().at<float>(offsets[1]), block.destinations, wide, stride};
    if (!goes_back(l) && !sparse) return;
    own.readers = {{workspace().at<std::uint32_t>(offsets[2]), std::size_t{block.sources} + 1},
                   {workspace().at<LocalId>(offsets[3]), block.edges()}};
    transpose(block, own.readers);
    if (sparse) own.products = {workspace().at<float>(offsets[4]), block.sources, wide, stride};
}

/// Multiplies a sparse input, unless that was done where its rows lie.
void ProductNetwork::prepare(std::size_t l) {
    if (!sparse_input(l) || view(l).mapped.data != nullptr) return;
    Layer& own = layers_[l];
    const SparseMatrix& input = view(l).sparse;
    const std::size_t stride = own.weights.stride;
    if (own.products.data == nullptr) {
        // A prediction: there is no plan for what its sources take.
        const std::size_t floats = input.rows * stride;
        if (products_.size() < floats) products_ = Array<float>::uninitialised(floats);
        own.products = {products_.data(), input.rows, own.weights.columns, stride};
    }
    const ConstMatrix weights = transposed(l, own.pieces.size() - 1);
    parallel_chunks(input.rows, chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        multiply_sparse(input.part(chunk.begin, count), weights,
                        own.products.part(chunk.begin, count));
    });
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
void ProductNetwork::add_mapped(std::size_t l, Rows rows, const ConstMatrix& table) {
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix sums = scratch_rows(Scratch::gathered, rows.count, table.columns);
    sum_rows(l, rows, table, sums);
    if (layers_[l].pieces.size() == 1) {
        for (std::size_t r = 0; r < rows.count; ++r)
            std::copy_n(sums.row(r), out.columns, out.row(r));
        return;
    }
    if (sparse_input(l)) {
        multiply_sparse(view(l).sparse.part(rows.first, rows.count), transposed(l, 0), out);
    } else {
        const ConstMatrix own = view(l).input.part(rows.first, rows.count);
        multiply_transposed(aligned_rows(own, Scratch::input), piece(l, layers_[l].weights, 0),
                            out);
    }
    add_rows(out, sums);
}

void ProductNetwork::forward_rows(std::size_t l, Rows rows, Pass pass) {
    multiply_rows(l, rows, pass);
    add_more(l, rows);
}

void ProductNetwork::multiply_rows(std::size_t l, Rows rows, Pass pass) {
    if (view(l).mapped.data != nullptr) return add_mapped(l, rows, view(l).mapped);
    if (sparse_input(l)) return add_mapped(l, rows, layers_[l].products);
    const Matrix gathered = pass == Pass::train
                                ? layers_[l].gathered.part(rows.first, rows.count)
                                : scratch_rows(Scratch::gathered, rows.count, columns(l));
    gather_rows(l, rows, gathered);
    multiply_transposed(gathered, layers_[l].weights, view(l).out.part(rows.first, rows.count));
}

void ProductNetwork::map_rows(std::size_t l, const InputRows& input, std::span<float> out) {
    const std::size_t in = layer_inputs(l);
    const std::size_t columns_out = layer_outputs(l);
    const std::size_t reads = layer_reads(l);
    const std::size_t rows = input.count(in);
    const bool sparse = sparse_input(l);
    RUDDER_CHECK(maps_rows(l) && input.is_sparse() == sparse && rows * reads == out.size());
    const std::size_t parameter = layers_[l].pieces.back();
    const auto weights = std::as_const(*this).weights_of(parameter);
    Matrix packed;
    if (sparse) {
        WorkspacePlan memory;
        const std::size_t place = memory.add<float>(in * aligned_columns(columns_out));
        workspace().fit(memory);
        packed = {workspace().at<float>(place), in, columns_out, aligned_columns(columns_out)};
        pack_transposed(parameter, {}, packed);
    }
    const Matrix to{out.data(), rows, columns_out, reads};
    parallel_chunks(rows, chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const Matrix some = to.part(chunk.begin, count);
        if (sparse) {
            multiply_sparse(input.sparse(in).part(chunk.begin, count), packed, some);
        } else {
            multiply_transposed(
                aligned_rows(input.dense(in).part(chunk.begin, count), Scratch::input),
                {weights.data(), columns_out, in, in}, some);
        }
        for (std::size_t r = 0; r < count; ++r)
            std::fill(some.row(r) + columns_out, some.row(r) + reads, 0.F);
    });
}

void ProductNetwork::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix gathered = layers_[l].gathered.part(rows.first, rows.count);
    const LaneSums lanes = lane_sums(l);
    more_back(l, rows, turn);
    if (sparse_input(l)) {
        lanes.add(turn.lane, turn.first, out, {nullptr, rows.count, 0, 0});
        for (std::size_t r = 0; r < rows.count; ++r)
            std::copy_n(out.row(r), out.columns, gathered.row(r));
        return gather_back(l, rows, gathered);
    }
    lanes.add(turn.lane, turn.first, out, gathered);
    if (!goes_back(l)) return;
    // The gathered rows are not needed any more: their gradient takes their place.
    multiply(out, layers_[l].weights, gathered);
    gather_back(l, rows, piece(l, gathered, layers_[l].pieces.size() - 1));
}

void ProductNetwork::source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                                     const Matrix& out) {
    const ConstMatrix gathered = layers_[l].gathered;
    const std::size_t last_piece = layers_[l].pieces.size() - 1;
    sum_back(l, rows, piece(l, gathered, last_piece),
             last_piece > 0 ? piece(l, gathered, 0) : ConstMatrix{}, active, out);
}

void ProductNetwork::finish_backward(std::size_t l, std::span<float> gradient) {
    finish_more(l, gradient);
    if (sparse_input(l)) return finish_sparse(l, gradient);
    const Layer& own = layers_[l];
    const std::size_t in = layer_inputs(l);
    std::vector<LaneSums::Stretch> stretches;
    for (std::size_t p = 0; p < own.pieces.size(); ++p)
        stretches.push_back({p * in, in, place(gradient, own.pieces[p])});
    lane_sums(l).finish(stretches, place(gradient, own.bias));
}

/// The gradient of the products, in their place, and from it and that of the outputs those of the
/// weights.
void ProductNetwork::finish_sparse(std::size_t l, std::span<float> gradient) {
    const Layer& own = layers_[l];
    parallel_chunks(own.products.rows, chunk_rows, [&](const Chunk& chunk) {
        const Rows rows{chunk.begin, chunk.end - chunk.begin};
        sum_back(l, rows, own.gathered, {}, {}, own.products.part(rows.first, rows.count));
    });
    sparse_gradient(own.products, {}, place(gradient, own.pieces.back()));
    if (own.pieces.size() > 1) sparse_gradient(view(l).out, {}, place(gradient, own.pieces[0]));
    lane_sums(l).finish({}, place(gradient, own.bias));
}

}  // namespace rudder::nn
