#include "product_network.hpp"

#include <fmt/format.h>

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
    offsets.push_back(memory.add<float>(block.destinations * stride));
    if (pass == Pass::predict || l == 0) return;
    offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
    offsets.push_back(memory.add<LocalId>(block.edges()));
}

void ProductNetwork::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    Layer& own = layers_[l];
    const sample::Block& block = *view(l).block;
    const std::size_t in = layer_inputs(l);
    const std::size_t stride = aligned_columns(columns(l));
    own.weights = {workspace().at<float>(offsets[0]), layer_outputs(l), columns(l), stride};
    own.gathered = {workspace().at<float>(offsets[1]), block.destinations, columns(l), stride};
    for (std::size_t p = 0; p < own.pieces.size(); ++p)
        pack(own.pieces[p], {own.weights.data + p * in, own.weights.rows, in, stride});
    if (pass == Pass::predict || l == 0) return;
    own.readers = {{workspace().at<std::uint32_t>(offsets[2]), std::size_t{block.sources} + 1},
                   {workspace().at<LocalId>(offsets[3]), block.edges()}};
    transpose(block, own.readers);
}

void ProductNetwork::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const Matrix gathered = layers_[l].gathered.part(rows.first, rows.count);
    gather_rows(l, rows, gathered);
    multiply_transposed(gathered, layers_[l].weights, view(l).out.part(rows.first, rows.count));
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
