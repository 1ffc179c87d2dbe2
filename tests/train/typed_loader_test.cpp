// Loaders of graphs of several types: what is handed out by type is the batch that was drawn.
#include <map>

#include <gtest/gtest.h>

#include "train/fixture.hpp"
#include "train/loader.hpp"
#include "train/typed_parts.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using Arcs = std::map<std::pair<VertexId, VertexId>, std::uint64_t>;

class TypedLoading : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_typed_parts(folder.path(), 400);
        return parts;
    }
    static train::TrainOptions options() {
        train::TrainOptions options = small_options();
        options.type_fanout = "rejects:2,0;rev_writes:-1,1";
        options.epochs = 1;
        return options;
    }
    /// Vertices of one type, in the order of their numbers.
    static std::vector<std::vector<VertexId>> by_type() {
        const partition::TypeBook& types = data().types();
        std::vector<std::vector<VertexId>> all(types.types());
        for (VertexId v = 0; v < data().info().vertices; ++v)
            all[types.type(data().book().owner(v), v)].push_back(v);
        return all;
    }
};

TEST_F(TypedLoading, NumbersCountEachType) {
    const train::TypeNumbers numbers(data().book(), data().types());
    const auto all = by_type();
    for (std::size_t t = 0; t < all.size(); ++t) {
        EXPECT_EQ(numbers.count(t), all[t].size());
        for (VertexId i = 0; i < all[t].size(); ++i) {
            EXPECT_EQ(numbers.of(all[t][i]).type, t);
            EXPECT_EQ(numbers.of(all[t][i]).number, i);
        }
    }
}

TEST_F(TypedLoading, ByTypeIsWhatWasDrawn) {
    const auto all = by_type();
    const auto& types = data().info().types;
    const std::size_t widest = data().info().rows().width;
    train::Loader loader(comm::Communicator::local(), data(), {.train = options()});
    std::uint64_t steps = 0;
    for (auto step = loader.next(); step != nullptr; step = loader.next(), ++steps) {
        for (std::size_t p = 0; p < step->batches.size(); ++p) {
            const sample::Batch& batch = step->sampled.batches[p];
            const train::LoadedBatch& loaded = step->batches[p];
            ASSERT_EQ(loaded.types.vertices.size(), types.vertices.size());
            std::uint64_t vertices = 0;
            for (std::size_t t = 0; t < all.size(); ++t)
                vertices += loaded.types.vertices[t].ids.size();
            EXPECT_EQ(vertices, batch.vertices.size());
            for (std::size_t v = 0; v < batch.vertices.size(); ++v) {
                const std::size_t t = loaded.types.of[v];
                const auto place = static_cast<std::size_t>(loaded.types.places[v]);
                const train::LoadedVertices& own = loaded.types.vertices[t];
                EXPECT_EQ(all[t][static_cast<std::size_t>(own.ids[place])], batch.vertices[v]);
                const std::size_t width = types.vertices[t].features.width;
                for (std::size_t c = 0; c < widest; ++c) {
                    const float value = loaded.rows[v * widest + c];
                    EXPECT_EQ(c < width ? own.rows[place * width + c] : 0.0F, value);
                }
            }
            std::vector<Arcs> drawn(types.edges.size());
            std::vector<Arcs> handed(types.edges.size());
            for (const sample::Block& block : batch.blocks) {
                for (std::uint32_t d = 0; d < block.destinations; ++d) {
                    for (auto e = block.offsets[d]; e < block.offsets[d + 1U]; ++e)
                        ++drawn[block.types[e]]
                               [{batch.vertices[block.neighbours[e]], batch.vertices[d]}];
                }
            }
            for (std::size_t t = 0; t < types.edges.size(); ++t) {
                const train::LoadedEdges& own = loaded.types.edges[t];
                const auto id = [&](std::size_t type, std::int64_t place) {
                    const auto& ids = loaded.types.vertices[type].ids;
                    return all[type]
                              [static_cast<std::size_t>(ids[static_cast<std::size_t>(place)])];
                };
                for (std::size_t e = 0; e < own.count(); ++e) {
                    ++handed[t][{id(types.edges[t].from, own.ends[e]),
                                 id(types.edges[t].to, own.ends[own.count() + e])}];
                }
            }
            EXPECT_EQ(handed, drawn);
        }
    }
    EXPECT_GT(steps, 1U);
    loader.close();
}

/// Each edge of one type has one number, which is that of its place among all of the type.
TEST_F(TypedLoading, NumbersOfEdgesAreThoseOfTheType) {
    const train::TypeNumbers numbers(data().book(), data().types());
    const auto& types = data().info().types;
    std::vector<std::vector<std::pair<VertexId, VertexId>>> entries(types.edges.size());
    for (PartId p = 0; p < data().parts(); ++p) {
        const partition::Part part = data().part(p);
        for (VertexId v = 0; v < part.own(); ++v) {
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + 1]; ++e) {
                entries[part.edge_data().type[e]].emplace_back(
                    numbers.of(part.global(part.neighbours()[e])).number,
                    numbers.of(part.range().begin + v).number);
            }
        }
    }
    for (const sample::Sampler sampler : {sample::Sampler::plain, sample::Sampler::shared}) {
        train::TrainOptions asked = options();
        asked.sampler = sampler;
        train::Loader loader(comm::Communicator::local(), data(),
                             {.train = asked, .edge_numbers = true});
        std::uint64_t seen = 0;
        for (auto step = loader.next(); step != nullptr; step = loader.next()) {
            for (const train::LoadedBatch& loaded : step->batches) {
                for (std::size_t t = 0; t < types.edges.size(); ++t) {
                    const train::LoadedEdges& own = loaded.types.edges[t];
                    ASSERT_EQ(own.numbers.size(), own.count());
                    const auto& from = loaded.types.vertices[types.edges[t].from].ids;
                    const auto& to = loaded.types.vertices[types.edges[t].to].ids;
                    for (std::size_t e = 0; e < own.count(); ++e, ++seen) {
                        const auto& entry = entries[t].at(static_cast<std::size_t>(own.numbers[e]));
                        EXPECT_EQ(entry.first, static_cast<VertexId>(
                                                   from[static_cast<std::size_t>(own.ends[e])]));
                        EXPECT_EQ(entry.second,
                                  static_cast<VertexId>(
                                      to[static_cast<std::size_t>(own.ends[own.count() + e])]));
                    }
                }
            }
        }
        EXPECT_GT(seen, 100U);
        loader.close();
    }
}

}  // namespace
}  // namespace rudder::test
