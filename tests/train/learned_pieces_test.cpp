// The pieces that learned rows are made of, each against a slow version or what is known of it.
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "rudder/nn/optimiser.hpp"
#include "train/learned/learned_options.hpp"
#include "train/learned/row_learner.hpp"
#include "train/learned_bed.hpp"

namespace rudder::test {
namespace {

class LearnedPieces : public LearnedBed {};

/// Gradients of vertices that repeat, packed for three owners and read back, against a map.
TEST_F(LearnedPieces, GradientsTravelToTheirOwners) {
    const store::LearnedSet learned(bare(), std::vector<std::uint64_t>{5});
    std::mt19937_64 random(3);
    std::vector<train::RowGradients> parts(2);
    std::vector<std::map<VertexId, std::vector<float>>> slow(2);
    train::RowGradientReader reader;
    for (std::size_t p = 0; p < 2; ++p) {
        sample::Batch batch;
        for (int i = 0; i < 200; ++i)
            batch.vertices.push_back(random() % 300);
        std::vector<float> gradients(200 * 5);
        for (float& g : gradients)
            g = static_cast<float>(random() % 1000) / 100 - 5;
        for (std::size_t i = 0; i < 200; ++i) {
            auto [row, fresh] = slow[p].try_emplace(batch.vertices[i], 5, 0.F);
            for (std::size_t c = 0; c < 5; ++c) {
                const float g = gradients[i * 5 + c];
                row->second[c] = fresh ? g : row->second[c] + g;
            }
        }
        reader.read(batch, gradients, 5, learned, parts[p]);
        ASSERT_EQ(parts[p].vertices.size(), slow[p].size());
    }
    const std::vector<VertexId> starts{0, 90, 90, 300};
    for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
        const auto message = train::pack_gradients(parts, starts[r], starts[r + 1]);
        std::vector<train::ReceivedGradients> lists;
        ASSERT_TRUE(train::unpack_gradients(message, 2, starts[r], starts[r + 1], learned, lists));
        for (std::size_t p = 0; p < lists.size(); ++p) {
            for (std::size_t i = 0; i < lists[p].vertices.size(); ++i) {
                const std::vector<float>& row = slow[p].at(lists[p].vertices[i]);
                EXPECT_TRUE(std::equal(row.begin(), row.end(), lists[p].values + i * 5));
                slow[p].erase(lists[p].vertices[i]);
            }
        }
        if (message.empty()) continue;
        // Nothing that is cut short, too long or of other vertices is taken for a message.
        std::vector<train::ReceivedGradients> none;
        auto longer = message;
        longer.resize(longer.size() + 8);
        EXPECT_FALSE(train::unpack_gradients(longer, 2, starts[r], starts[r + 1], learned, none));
        for (std::size_t size = 1; size < message.size(); size += 7) {
            none.clear();
            EXPECT_FALSE(train::unpack_gradients(std::span(message).first(size), 2, starts[r],
                                                 starts[r + 1], learned, none));
        }
        none.clear();
        EXPECT_FALSE(train::unpack_gradients(message, 2, starts[r], starts[r] + 1, learned, none));
    }
    EXPECT_TRUE(slow[0].empty() && slow[1].empty());
}

/// A row that is changed in every step is what Adam makes of it.
TEST(RowAdam, IsAdamOfTheStepsThatChangeTheRow) {
    const train::RowAdam adam{.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    std::vector<float> row{0.5F, -0.25F};
    std::vector<float> mean(2);
    std::vector<float> square(2);
    std::vector<float> weights = row;
    const std::vector<nn::Parameter> parameters{{.name = "row", .shape = {2}, .size = 2}};
    const auto optimiser = nn::make_optimiser({}, parameters);
    std::mt19937_64 random(1);
    for (std::uint64_t taken = 1; taken <= 50; ++taken) {
        std::vector<float> gradient(2);
        for (float& g : gradient)
            g = static_cast<float>(random() % 200) / 100 - 1;
        adam.change(row, gradient.data(), mean.data(), square.data(), taken, 0.01);
        optimiser->step(weights, gradient, 0.01);
        for (std::size_t c = 0; c < 2; ++c)
            ASSERT_FLOAT_EQ(row[c], weights[c]) << taken;
    }
}

TEST_F(LearnedPieces, KnowTheirVertices) {
    const graph::GraphTypes& types = typed().info().types;
    const store::LearnedWidths widths = train::learned_widths("venue=3,author=9", typed().info());
    const store::LearnedSet learned(typed(), widths);
    for (PartId p = 0; p < typed().parts(); ++p) {
        const auto range = typed().book().range(p);
        for (VertexId v = range.begin; v < range.end; ++v) {
            const std::string& name = types.vertices[typed().types().type(p, v)].name;
            EXPECT_EQ(learned.contains(v), name == "author" || name == "venue") << v;
            EXPECT_FALSE(learned.leaves_out(store::RowChoice::all, v));
            EXPECT_NE(learned.leaves_out(store::RowChoice::given, v),
                      learned.leaves_out(store::RowChoice::learned, v));
        }
    }
    EXPECT_FALSE(learned.contains(typed().info().vertices));
    EXPECT_EQ(store::with_learned(typed().info(), widths).rows().width, 9U);
    EXPECT_TRUE(store::LearnedSet().empty());
}

/// Rows are pulled by choice, from wherever they lie, and only those of the choice are counted.
TEST_F(LearnedPieces, StoresTellThemFromGivenRows) {
    const store::LearnedWidths widths = train::learned_widths("author=4", typed().info());
    for (const int ranks : {1, 2, 4}) {
        comm::SimulatedCluster machines({.ranks = ranks});
        machines.run([&](const comm::Communicator& comm) {
            store::FeatureStore store(comm, typed(), {.learned = widths});
            const std::size_t columns = store.format().row_floats();
            ASSERT_EQ(columns, 5U);
            const train::LearnedTable table(comm, typed(), store);
            std::vector<float> all;
            const std::size_t floats = table.all(train::LearnedTable::Counted::by_float);
            for (std::size_t i = 0; comm.rank() == 0 && i < floats; ++i)
                all.push_back(static_cast<float>(i + 1));
            table.place(all, "here");
            EXPECT_EQ(table.gather(table.values()), all) << "placed and gathered";
            std::vector<VertexId> vertices(typed().info().vertices);
            std::iota(vertices.begin(), vertices.end(), VertexId{0});
            float next = 1;
            const auto learned_row = [&](VertexId v, std::span<const float> row) {
                if (!store.learned().contains(v)) return false;
                for (std::size_t c = 0; c < 4; ++c)
                    EXPECT_EQ(row[c], next++) << v;
                EXPECT_EQ(row[4], 0.F);
                return true;
            };
            std::uint64_t counted = 0;
            for (const auto choice :
                 {store::RowChoice::learned, store::RowChoice::given, store::RowChoice::all}) {
                std::vector<float> rows(vertices.size() * columns, -1.F);
                const store::RowsWanted wanted{vertices, rows, true};
                store::Pull pull = store.pull(std::span(&wanted, 1), comm::Kind::requests, choice);
                const Rows counts = pull.wait().rows;
                EXPECT_EQ(counts.needed, counts.local + counts.demand);
                EXPECT_EQ(counts.demand > 0, ranks > 1);
                counted += choice == store::RowChoice::all ? 0 : counts.needed;
                next = 1;
                for (const VertexId v : vertices) {
                    const auto row = std::span(rows).subspan(v * columns, columns);
                    if (store.learned().leaves_out(choice, v)) {
                        EXPECT_EQ(row[0], -1.F) << v;
                    } else if (!learned_row(v, row)) {
                        EXPECT_NE(row[0], -1.F) << v;
                    }
                }
            }
            EXPECT_EQ(counted, vertices.size());
            store.stop();
        });
    }
}

}  // namespace
}  // namespace rudder::test
