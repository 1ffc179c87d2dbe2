// Graph convolution: each layer one product of the normalised sum of own row and neighbours.
#include <cmath>

#include <fmt/format.h>

#include "product_network.hpp"

namespace rudder::nn {

namespace {

/// With c = 1 / sqrt(degree + 1) and r = c degree / sampled, row d of the sums is
/// c_d^2 own + r_d sum of c_s row_s: what all neighbours together would give, on average.
struct GcnWeights {
    float* roots = nullptr;   ///< c of the sources
    float* shares = nullptr;  ///< c^2 of the sources
    float* reach = nullptr;   ///< r of the destinations
};

class Gcn final : public ProductNetwork {
public:
    explicit Gcn(const NetworkOptions& network_options);
    [[nodiscard]] bool wants_degrees() const noexcept override { return true; }

protected:
    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const override;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;
    void sum_rows(std::size_t l, Rows rows, const ConstMatrix& table, const Matrix& sums) override;
    void sum_back(std::size_t l, Rows rows, const ConstMatrix& sums, const ConstMatrix& own,
                  const ActiveRows& active, const Matrix& out) override;

private:
    void weigh(std::size_t l);

    std::vector<GcnWeights> own_;
};

Gcn::Gcn(const NetworkOptions& network_options) : ProductNetwork(network_options), own_(layers()) {
    for (std::size_t l = 0; l < layers(); ++l) {
        // As PyG's GCNConv: Glorot-uniform weights, no bias at first.
        add_piece(l, "weight",
                  std::sqrt(6.0 / static_cast<double>(layer_inputs(l) + layer_outputs(l))));
        layer(l).bias = add_constant(fmt::format("layers.{}.bias", l),
                                     {static_cast<std::int64_t>(layer_outputs(l))}, 0);
        end_convolution(layer(l).bias);
    }
    seal();
}

void Gcn::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                           WorkspacePlan& memory, Offsets& offsets) const {
    ProductNetwork::plan_convolution(l, block, pass, memory, offsets);
    offsets.push_back(memory.add<float>(block.sources));
    offsets.push_back(memory.add<float>(block.sources));
    offsets.push_back(memory.add<float>(block.destinations));
}

void Gcn::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    ProductNetwork::begin_convolution(l, offsets, pass);
    const auto own = offsets.end() - 3;
    own_[l] = {workspace().at<float>(own[0]), workspace().at<float>(own[1]),
               workspace().at<float>(own[2])};
    if (!view(l).summed) weigh(l);
}

void Gcn::weigh(std::size_t l) {
    const GcnWeights& own = own_[l];
    const sample::Block& block = *view(l).block;
    const auto degrees = view(l).degrees;
    constexpr std::size_t at_once = 8192;
    parallel_chunks(block.sources, at_once, [&](const Chunk& chunk) {
        for (std::size_t s = chunk.begin; s < chunk.end; ++s) {
            own.roots[s] = 1.F / std::sqrt(static_cast<float>(degrees[s]) + 1.F);
            own.shares[s] = own.roots[s] * own.roots[s];
            if (s >= block.destinations) continue;
            const std::uint32_t sampled = block.offsets[s + 1] - block.offsets[s];
            const float scale =
                sampled == 0 ? 0.F : static_cast<float>(degrees[s]) / static_cast<float>(sampled);
            own.reach[s] = own.roots[s] * scale;
        }
    });
}

void Gcn::sum_rows(std::size_t l, Rows rows, const ConstMatrix& table, const Matrix& sums) {
    const GcnWeights& own = own_[l];
    const sample::Block& block = *view(l).block;
    const RowNumbers of(rows);
    weighted_sum(block.offsets, block.neighbours, {table, own.roots, own.reach, table, own.shares},
                 of.first, of.last, sums);
}

void Gcn::sum_back(std::size_t l, Rows rows, const ConstMatrix& sums, const ConstMatrix& /*own*/,
                   const ActiveRows& active, const Matrix& out) {
    const GcnWeights& own = own_[l];
    // The same sum read backwards: what a reader weighed by its source's c, the source weighs by
    // the reader's r.
    const WeightedRows sum{sums, own.reach, own.roots, sums, own.shares, active};
    const RowNumbers of(rows);
    weighted_sum(layer(l).readers.offsets, layer(l).readers.readers, sum, of.first, of.last, out);
}

}  // namespace

std::unique_ptr<Network> make_gcn(const NetworkOptions& options) {
    return std::make_unique<Gcn>(options);
}

}  // namespace rudder::nn
