// Partitioned data sets the sampling tests share, and slow, obvious samplers to compare with.
#pragma once

#include <filesystem>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/sample/batch.hpp"
#include "sample/neighbour_source.hpp"
#include "sample/sampler.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

struct BedOptions {
    VertexId vertices = 600;
    VertexId degree = 10;  ///< about; some vertices have very many, every 17th none
    PartId parts = 4;
    std::uint64_t seed = 1;
    bool uneven = false;  ///< part p has twice as many vertices as part p + 1
    VertexId train_every =
        3;  ///< every so many vertices are trained on, with uneven ones of part 0
    VertexId cluster_size = 32;
    bool carried = false;          ///< edges have weights (some 0) and times, vertices have times
    std::uint64_t edge_width = 0;  ///< columns of bytes that edges have as features
    bool edge_targets = false;     ///< edges have classes and roles, some neither; pairs repeat
};

/// A partitioned data set in a folder of its own.
class Bed {
public:
    explicit Bed(const BedOptions& options = {});
    [[nodiscard]] const partition::PartitionedDataset& data() const { return *data_; }
    [[nodiscard]] std::filesystem::path folder() const { return folder_ / "parts"; }

private:
    TempDir folder_;
    std::unique_ptr<partition::PartitionedDataset> data_;
};

/// Every row of the whole graph, global ids.
[[nodiscard]] std::vector<std::vector<VertexId>> global_rows(
    const partition::PartitionedDataset& data);

/// What one vertex draws, by the rule's own words.
[[nodiscard]] std::vector<VertexId> plain_draw(const std::vector<VertexId>& row,
                                               const StreamKey& key, VertexId vertex,
                                               std::int32_t fanout, bool with_replacement);

/// What one vertex keeps where numbers are shared, by the rule's own words. `step` is global.
[[nodiscard]] std::vector<VertexId> shared_draw(const std::vector<VertexId>& row,
                                                const StreamKey& key, std::int32_t fanout,
                                                std::uint64_t redraw);

/// The batch, the slow way.
[[nodiscard]] sample::Batch plain_sample(const std::vector<std::vector<VertexId>>& rows,
                                         const sample::SamplerOptions& options,
                                         const sample::BatchKey& key,
                                         const std::vector<VertexId>& seeds);

/// Whether two batches are equal in every number.
[[nodiscard]] bool equal(const sample::Batch& a, const sample::Batch& b);
/// A hash of every number of a batch.
[[nodiscard]] std::uint64_t digest(const sample::Batch& batch);

}  // namespace rudder::test
