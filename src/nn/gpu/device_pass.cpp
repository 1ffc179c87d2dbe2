#include "device_pass.hpp"

#include <fmt/format.h>

namespace rudder::nn {

const float* DeviceSteps::weight(std::size_t layer, std::string_view name) const {
    return weights_->values() +
           weights_->parameter(fmt::format("layers.{}.{}", layer, name)).offset;
}

float* DeviceSteps::gradient(std::size_t layer, std::string_view name) const {
    return weights_->gradient() +
           weights_->parameter(fmt::format("layers.{}.{}", layer, name)).offset;
}

bool DeviceSteps::has(std::size_t layer, std::string_view name) const {
    return weights_->has(fmt::format("layers.{}.{}", layer, name));
}

void DeviceSteps::multiply_transposed(const float* rows, const float* weights, float* c,
                                      std::size_t count, std::size_t columns, std::size_t depth,
                                      bool add) const {
    device().product({rows, false, weights, true, c, count, columns, depth, add});
}

void DeviceSteps::multiply(const float* rows, const float* weights, float* c, std::size_t count,
                           std::size_t columns, std::size_t depth, bool add) const {
    device().product({rows, false, weights, false, c, count, columns, depth, add});
}

void DeviceSteps::weight_gradient(const float* gradient, const float* input, float* to,
                                  std::size_t rows, std::size_t outputs, std::size_t inputs) const {
    device().product({gradient, true, input, false, to, outputs, inputs, rows, false});
}

void DeviceSteps::sum_columns(const ColumnSums& sums, float* out, float divisor,
                              float* undivided) const {
    ColumnSums placed = sums;
    placed.partial = partial_;
    const std::size_t strips = pieces_of(sums.columns, warp_lanes);
    const std::size_t stretches = pieces_of(sums.rows, stretch_rows(sums.rows));
    device().run(placed, strips * stretches);
    device().run(ColumnFinish{partial_, stretches, sums.columns, divisor, out, undivided}, strips);
}

void DeviceSteps::sum_columns(const float* x, std::size_t rows, std::size_t columns,
                              float* out) const {
    sum_columns(ColumnSums{ColumnTerm::value, x, nullptr, rows, static_cast<std::uint32_t>(columns),
                           1, nullptr},
                out);
}

void DeviceSteps::scale(const float* from, float* to, std::size_t count, float factor) const {
    device().run(ScaleElements{from, to, count, factor}, pieces_of(count, warp_lanes));
}

}  // namespace rudder::nn
