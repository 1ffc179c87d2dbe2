// What the store's tests share: data sets with rows of any type, and a program for every rank that
// pulls at random and compares all it gets with a direct read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/graph/feature_source.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "store/feature_store.hpp"

namespace rudder::test {

/// Throws `what` unless it holds: also where no test framework listens.
void require(bool holds, const std::string& what);

/// A random row of finite elements, any bits else; sometimes all zero.
[[nodiscard]] std::vector<std::byte> random_row(std::uint64_t seed, const graph::FeatureInfo& info);
/// Scales for int8, nothing for other types.
[[nodiscard]] std::vector<float> random_scale(std::uint64_t seed, const graph::FeatureInfo& info);

/// Leaves about one element of a row in so many as it is, and makes the others zero.
void thin_out(std::vector<std::byte>& row, const graph::FeatureInfo& info, std::uint64_t one_in,
              std::uint64_t seed);

/// Writes a data set without edges, with rows of any source, divided into uneven parts at random;
/// opens it.
partition::PartitionedDataset store_data(const std::filesystem::path& folder,
                                         const graph::FeatureSource* rows, bool row_normalise,
                                         VertexId vertices, PartId parts = 4,
                                         std::uint64_t seed = 1);
/// The same with random rows.
partition::PartitionedDataset store_data(const std::filesystem::path& folder,
                                         const graph::FeatureInfo& features,
                                         VertexId vertices = 300, PartId parts = 4,
                                         std::uint64_t seed = 1, std::uint64_t one_in = 1);

/// The floats of an assembled row, all of its columns.
[[nodiscard]] std::vector<float> dense_row(const store::RowFormat& format,
                                           std::span<const float> assembled);

/// The slow, obvious way to a row's floats: one element after the other; not quantised.
[[nodiscard]] std::vector<float> plain_row(const graph::FeatureInfo& info,
                                           std::span<const std::byte> row,
                                           std::span<const float> scale,
                                           store::Precision precision);

/// Rows of floats by vertex, and the slow, obvious way to quantise them.
class PlainRows {
public:
    /// `levels` is 255 or 15, `block` how many neighbours by id share ranges.
    PlainRows(unsigned levels, VertexId block) : levels_(levels), block_(block) {}
    /// As int8 and int4 are meant.
    explicit PlainRows(store::Precision precision)
        : PlainRows(precision == store::Precision::int8 ? 255 : 15,
                    precision == store::Precision::int8 ? ~VertexId{0} : 1024) {}

    void add(VertexId v, std::vector<float> row) { rows_[v] = std::move(row); }
    [[nodiscard]] unsigned level(VertexId v, std::size_t column) const;
    /// What everyone sees of a row.
    [[nodiscard]] std::vector<float> seen(VertexId v) const;
    /// The same ranges as the store has them.
    [[nodiscard]] store::ColumnSteps steps() const;

private:
    struct Range {
        float least;
        float step;
    };
    [[nodiscard]] Range range(VertexId v, std::size_t column) const;

    unsigned levels_;
    VertexId block_;
    std::map<VertexId, std::vector<float>> rows_;
    mutable std::map<std::pair<VertexId, std::size_t>, Range> ranges_;
};

/// How a rank's program pulls.
struct PullPlan {
    std::filesystem::path folder;
    store::StoreOptions options;
    std::uint64_t seed = 0;
    int tasks = 3;            ///< that pull at once
    int pulls = 4;            ///< of each
    std::uint64_t ids = 200;  ///< of a batch, at most
    comm::CodingMode coding = comm::CodingMode::off;
};

/// Collective. Pulls and fetches; throws where a row differs from a direct read or an account does
/// not close.
void pull_and_check(const comm::Communicator& comm, const PullPlan& plan);

}  // namespace rudder::test
