// What stands in an exported archive, array by array, for every kind of feature and target.
#include "graph/io/export.hpp"

#include <limits>

#include "graph/io/npz.hpp"

#include "io_support.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using graph::Role;
using graph::TargetKind;

/// A source in memory; what is not set is not exported.
class MemoryExport final : public graph::ExportSource {
public:
    graph::DatasetInfo info_;
    std::vector<std::vector<VertexId>> rows_;
    std::vector<std::byte> features_;
    std::vector<float> scale_;
    std::vector<std::int32_t> classes_;
    std::vector<std::uint8_t> multilabel_;
    std::vector<float> regression_;
    std::vector<Role> roles_;
    std::vector<PartId> parts_;
    VertexId fails_at_ = ~VertexId{0};  ///< the feature row of this one cannot be had

    explicit MemoryExport(std::vector<std::vector<VertexId>> rows, bool symmetric = true)
        : rows_(std::move(rows)), roles_(rows_.size(), Role::none) {
        info_.vertices = rows_.size();
        info_.symmetric = symmetric;
        for (VertexId v = 0; v < rows_.size(); ++v) {
            info_.edges += rows_[v].size();
            info_.self_loops += static_cast<EdgeIndex>(std::ranges::count(rows_[v], v));
        }
    }
    template <class T>
    void set_features(ElementType type, const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        features_.assign(bytes.begin(), bytes.end());
        info_.features = {values.size() / rows_.size(), type, false};
    }
    void set_targets(TargetKind kind, std::uint64_t count) {
        info_.targets.kind = kind;
        info_.targets.count = count;
    }
    void set_roles(std::vector<Role> roles) {
        roles_ = std::move(roles);
        info_.split = graph::count_split(roles_);
    }

    [[nodiscard]] const graph::DatasetInfo& info() const override { return info_; }
    void row(VertexId v, std::vector<graph::ExportedArc>& out) const override {
        out.clear();
        for (const VertexId u : rows_[v])
            out.push_back({.source = u});
    }
    [[nodiscard]] std::int64_t time_of(VertexId /*v*/) const override { return 0; }
    [[nodiscard]] std::span<const std::byte> feature_row(VertexId v) const override {
        if (v == fails_at_) throw input_error("the row is lost", "row", "find it");
        const std::size_t bytes = info_.features.row_bytes();
        return std::span(features_).subspan(v * bytes, bytes);
    }
    [[nodiscard]] std::span<const float> feature_scale() const override { return scale_; }
    [[nodiscard]] std::int32_t class_of(VertexId v) const override { return classes_[v]; }
    [[nodiscard]] std::span<const std::uint8_t> multilabel_of(VertexId v) const override {
        return std::span(multilabel_).subspan(v * info_.targets.count, info_.targets.count);
    }
    [[nodiscard]] std::span<const float> regression_of(VertexId v) const override {
        return std::span(regression_).subspan(v * info_.targets.count, info_.targets.count);
    }
    [[nodiscard]] Role role(VertexId v) const override { return roles_[v]; }
    [[nodiscard]] bool partitioned() const override { return !parts_.empty(); }
    [[nodiscard]] PartId part(VertexId v) const override { return parts_[v]; }
};

/// Rows without entries.
std::vector<std::vector<VertexId>> isolated(std::size_t vertices) {
    return std::vector<std::vector<VertexId>>(vertices);
}

class ExportedArrays : public ImportTest {
protected:
    void export_it(const graph::ExportSource& source) {
        graph::export_npz(source, file_, true);
        archive_.emplace(file_);
    }
    std::vector<std::int64_t> integers(const std::string& array) {
        graph::NpyReader reader = archive_->open(array);
        const auto values = graph::read_integers(reader);
        return {values.begin(), values.end()};
    }
    std::vector<float> floats(const std::string& array) {
        graph::NpyReader reader = archive_->open(array);
        const auto values = graph::read_floats(reader);
        return {values.begin(), values.end()};
    }
    static std::string bytes_of(const std::filesystem::path& file) {
        return read_text(file, 1 << 24);
    }
    /// "int32 (3)"
    std::string type(const std::string& array) { return archive_->open(array).header().describe(); }

    std::filesystem::path file_ = folder_ / "exported.npz";
    std::optional<graph::NpzArchive> archive_;
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ExportedArrays, ASymmetricGraphGivesEachEdgeOnce) {
    export_it(MemoryExport({{2, 1}, {0, 1}, {0}, {}}));  // rows in any order; a loop at 1
    EXPECT_THAT(integers("num_nodes"), ElementsAre(4));
    EXPECT_EQ(type("num_nodes"), "int64 ()");
    EXPECT_THAT(integers("src"), ElementsAre(0, 1, 0));
    EXPECT_THAT(integers("dst"), ElementsAre(1, 1, 2));
    EXPECT_EQ(type("src"), "int32 (3)");
    EXPECT_THAT(archive_->names(), ElementsAre("dst", "num_nodes", "src", "test", "train", "val"));
    for (const char* set : {"train", "val", "test"})
        EXPECT_THAT(integers(set), IsEmpty()) << set;
}

TEST_F(ExportedArrays, ADirectedGraphGivesEveryArc) {
    export_it(MemoryExport({{2, 1}, {0}, {2, 2}}, false));
    EXPECT_THAT(integers("src"), ElementsAre(1, 2, 0, 2, 2)) << "sources are what a row reads from";
    EXPECT_THAT(integers("dst"), ElementsAre(0, 0, 1, 2, 2));
}

TEST_F(ExportedArrays, NoVerticesAtAll) {
    export_it(MemoryExport(isolated(0)));
    EXPECT_THAT(integers("num_nodes"), ElementsAre(0));
    EXPECT_THAT(integers("src"), IsEmpty());
}

TEST_F(ExportedArrays, RolesAndParts) {
    MemoryExport source(isolated(5));
    source.set_roles({Role::test, Role::train, Role::none, Role::valid, Role::train});
    source.parts_ = {1, 0, 0, 2, 1};
    export_it(source);
    EXPECT_THAT(integers("train"), ElementsAre(1, 4));
    EXPECT_THAT(integers("val"), ElementsAre(3));
    EXPECT_THAT(integers("test"), ElementsAre(0));
    EXPECT_THAT(integers("part"), ElementsAre(1, 0, 0, 2, 1));
    EXPECT_EQ(type("part"), "int32 (5)");
}

TEST_F(ExportedArrays, FeaturesKeepTheirTypeIfNumpyHasIt) {
    MemoryExport source(isolated(2));
    source.set_features<float>(ElementType::f32, {1, -2, 0.5F, 4});
    export_it(source);
    EXPECT_EQ(type("x"), "float32 (2, 2)");
    EXPECT_THAT(floats("x"), ElementsAre(1, -2, 0.5F, 4));
    source.set_features<std::uint8_t>(ElementType::u8, {7, 255});
    export_it(source);
    EXPECT_EQ(type("x"), "uint8 (2, 1)");
    EXPECT_THAT(floats("x"), ElementsAre(7, 255));
    source.set_features<std::uint16_t>(ElementType::f16, {float_to_f16(1.5F), float_to_f16(-3)});
    export_it(source);
    EXPECT_EQ(type("x"), "float16 (2, 1)");
    EXPECT_THAT(floats("x"), ElementsAre(1.5F, -3));
    source.set_features<std::uint16_t>(ElementType::bf16, {float_to_bf16(2.5F), float_to_bf16(8)});
    source.info_.features.row_normalise = true;
    export_it(source);
    EXPECT_EQ(type("x"), "float32 (2, 1)") << "NumPy has no bfloat16";
    EXPECT_THAT(floats("x"), ElementsAre(2.5F, 8)) << "as stored, not normalised";
}

TEST_F(ExportedArrays, Int8GoesWithItsScales) {
    MemoryExport source(isolated(2));
    source.set_features<std::int8_t>(ElementType::i8, {1, -128, 127, 0});
    source.scale_ = {0.5F, 3};
    export_it(source);
    EXPECT_EQ(type("x_int8"), "int8 (2, 2)");
    EXPECT_THAT(integers("x_int8"), ElementsAre(1, -128, 127, 0)) << "not scaled";
    EXPECT_THAT(floats("x_scale"), ElementsAre(0.5F, 3));
    EXPECT_FALSE(archive_->has("x"));
}

TEST_F(ExportedArrays, TargetsOfEveryKind) {
    MemoryExport source(isolated(2));
    source.classes_ = {2, graph::no_label};
    source.set_targets(TargetKind::classes, 4);
    source.info_.targets.names = {"a", "é", "中文", "\U0001F600x"};
    export_it(source);
    EXPECT_THAT(integers("y"), ElementsAre(2, -1));
    EXPECT_THAT(integers("num_classes"), ElementsAre(4));
    graph::NpyReader names = archive_->open("classes");
    EXPECT_EQ(graph::read_texts(names), source.info_.targets.names);
    source.info_.targets.names.clear();
    source.multilabel_ = {0, 1, 1, 255, 255, 255};
    source.set_targets(TargetKind::multilabel, 3);
    export_it(source);
    EXPECT_EQ(type("y"), "uint8 (2, 3)");
    EXPECT_THAT(integers("y"), ElementsAre(0, 1, 1, 255, 255, 255));
    EXPECT_FALSE(archive_->has("classes"));
    EXPECT_FALSE(archive_->has("num_classes"));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    source.regression_ = {0.25F, nan};
    source.set_targets(TargetKind::regression, 1);
    export_it(source);
    EXPECT_EQ(type("y"), "float32 (2, 1)");
    EXPECT_THAT(floats("y"), ElementsAre(0.25F, testing::NanSensitiveFloatEq(nan)));
}

TEST_F(ExportedArrays, ALargeRingComesInManyBlocksAndAlwaysTheSame) {
    const VertexId vertices = 100000;
    std::vector<std::vector<VertexId>> rows(vertices);
    for (VertexId v = 0; v < vertices; ++v)
        rows[v] = {(v + 1) % vertices, (v + vertices - 1) % vertices};
    const MemoryExport source(std::move(rows));
    export_it(source);
    const auto sources = integers("src");
    const auto targets = integers("dst");
    ASSERT_EQ(sources.size(), vertices);
    ASSERT_EQ(targets.size(), vertices);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto v = static_cast<std::int64_t>(i) + 1;
        const bool last = i + 2 >= vertices;  // the last one reads from 0 and from the one before
        if (!last && (sources[i] != v - 1 || targets[i] != v)) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(sources[vertices - 2], 0);
    EXPECT_EQ(targets[vertices - 2], std::int64_t{vertices} - 1);
    EXPECT_EQ(sources[vertices - 1], std::int64_t{vertices} - 2);
    graph::export_npz(source, folder_ / "again.npz", false);
    EXPECT_TRUE(bytes_of(file_) == bytes_of(folder_ / "again.npz")) << "the same bytes";
}

TEST_F(ExportedArrays, WhatASourceThrowsLeavesTheOldFile) {
    MemoryExport source(isolated(3));
    source.set_features<float>(ElementType::f32, {1, 2, 3});
    export_it(source);
    archive_.reset();
    const std::string before = bytes_of(file_);
    source.fails_at_ = 1;
    const Refusal refusal = refusal_of([&] { graph::export_npz(source, file_, true); });
    EXPECT_EQ(refusal.problem, "the row is lost");
    EXPECT_EQ(bytes_of(file_), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1)
        << "nothing half written";
}

}  // namespace
}  // namespace rudder::test
