// Attention, losses, rows and optimisers one by one on a GPU, against their twins to the bit.
#include <cmath>

#include "nn/network_case.hpp"

#include "gpu/body_case.hpp"
#include "gpu/gpu_case.hpp"

namespace rudder {

using namespace testing;

namespace {

using GpuBodies = OnGpu;

/// What a body left in several places, with the names of these.
class Results {
public:
    explicit Results(OnDevice& on) : on_(on) {}
    template <class T>
    void add(const char* name, const T* place, std::size_t count) {
        add(name, on_.get(place, count));
    }
    template <class T>
    void add(const char* name, const std::vector<T>& found) {
        std::vector<double> values;
        for (const T value : found)
            values.push_back(static_cast<double>(value));
        all.emplace_back(name, std::move(values));
    }
    std::vector<std::pair<std::string, std::vector<double>>> all;

private:
    OnDevice& on_;
};

/// Runs bodies on both devices: all they leave must be equal.
template <class Run>
void expect_results_of_the_twin(const Run& run) {
    OnDevice gpu(nn::open_device(0, nn::DeviceProducts::own));
    OnDevice twin(nn::make_twin_device());
    const Results ours = run(gpu);
    const Results theirs = run(twin);
    ASSERT_EQ(ours.all.size(), theirs.all.size());
    for (std::size_t i = 0; i < ours.all.size(); ++i) {
        const auto& [name, wanted] = theirs.all[i];
        std::size_t different = 0;
        std::size_t first = 0;
        for (std::size_t e = 0; e < wanted.size(); ++e) {
            const bool same = ours.all[i].second[e] == wanted[e];
            if (!same && different++ == 0) first = e;
        }
        EXPECT_EQ(different, 0U) << name << " of " << wanted.size() << ", first " << first << ": "
                                 << ours.all[i].second[first] << " and " << wanted[first];
    }
}

/// A block on a device, with all that attention needs.
struct AttentionCase {
    sample::Batch batch;
    const sample::Block& block;
    std::uint32_t heads;
    std::uint32_t columns;  ///< of a head
    std::size_t wide;
    std::size_t entries;

    AttentionCase(std::uint32_t head_count, std::uint32_t head_columns)
        : batch(random_batch(shape())),
          block(batch.blocks.front()),
          heads(head_count),
          columns(head_columns),
          wide(std::size_t{head_count} * head_columns),
          entries((std::size_t{block.edges()} + block.destinations) * head_count) {}
    static BatchShape shape() {
        BatchShape made;
        made.seeds = 120;
        made.fanouts = {40};  // more than a warp has lanes
        return made;
    }
    [[nodiscard]] nn::LaneAttention put(OnDevice& on) const {
        const Backwards back(block);
        nn::LaneAttention a{};
        a.offsets = on.put(block.offsets);
        a.neighbours = on.put(block.neighbours);
        a.starts = on.put(back.starts);
        a.readers = on.put(back.readers);
        a.places = on.put(back.places);
        a.destinations = block.destinations;
        a.heads = heads;
        a.head_columns = columns;
        a.values = on.put(random_floats(block.sources * wide, 1));
        a.alphas = on.room(entries);
        a.deltas = on.room(entries);
        return a;
    }
};

constexpr std::pair<std::uint32_t, std::uint32_t> head_shapes[]{{1, 1}, {1, 47}, {4, 16}, {3, 40}};

}  // namespace

TEST_F(GpuBodies, AdditiveAttentionAndItsWayBack) {
    for (const auto& [heads, columns] : head_shapes) {
        const AttentionCase c(heads, columns);
        const std::size_t sources = c.block.sources;
        const std::size_t rows = c.block.destinations;
        expect_results_of_the_twin([&](OnDevice& on) {
            const nn::LaneAttention a = c.put(on);
            const float* const to = on.put(random_floats(c.wide, 2));
            const float* const from = on.put(random_floats(c.wide, 3));
            const float* const gradient = on.put(random_floats(rows * c.wide, 4));
            float* const of_source = on.room(sources * a.heads);
            float* const of_destination = on.room(rows * a.heads);
            float* const sums = on.room(rows * c.wide);
            float* const destination_sums = on.room(rows * a.heads);
            float* const source_sums = on.room(sources * a.heads);
            float* const out = on.room(sources * c.wide);
            nn::Device& device = on.device();
            device.run(nn::HeadDots{a.values, from, of_source, a.heads, a.head_columns}, sources);
            device.run(nn::HeadDots{a.values, to, of_destination, a.heads, a.head_columns}, rows);
            device.run(nn::AttendAdditive{a, of_source, of_destination, sums}, rows);
            Results all(on);
            all.add("scores of sources", of_source, sources * a.heads);
            all.add("weights", a.alphas, c.entries);
            all.add("sums", sums, rows * c.wide);
            device.run(
                nn::AttendAdditiveBack{a, of_source, of_destination, gradient, destination_sums},
                rows);
            device.run(
                nn::GatherAdditive{a, gradient, from, to, destination_sums, source_sums, out},
                sources);
            all.add("gradients of scores", a.deltas, c.entries);
            all.add("gradients of destinations", destination_sums, rows * a.heads);
            all.add("gradients of sources", source_sums, sources * a.heads);
            all.add("gradients of values", out, sources * c.wide);
            return all;
        });
    }
}

TEST_F(GpuBodies, DynamicAttentionAndItsWayBack) {
    for (const auto& [heads, columns] : head_shapes) {
        const AttentionCase c(heads, columns);
        const std::size_t sources = c.block.sources;
        const std::size_t rows = c.block.destinations;
        expect_results_of_the_twin([&](OnDevice& on) {
            const nn::LaneDynamic of{c.put(on), on.put(random_floats(rows * c.wide, 2)),
                                     on.put(random_floats(c.wide, 3))};
            const float* const gradient = on.put(random_floats(rows * c.wide, 4));
            float* const sums = on.room(rows * c.wide);
            float* const back = on.room(rows * c.wide);
            float* const vector_rows = on.room(rows * c.wide);
            float* const out = on.room(sources * c.wide);
            on.device().run(nn::AttendDynamic{of, sums}, rows);
            on.device().run(nn::AttendDynamicBack{of, gradient, back, vector_rows}, rows);
            on.device().run(nn::GatherDynamic{of, gradient, out}, sources);
            Results all(on);
            all.add("weights", of.a.alphas, c.entries);
            all.add("sums", sums, rows * c.wide);
            all.add("gradients of scores", of.a.deltas, c.entries);
            all.add("gradients of destinations", back, rows * c.wide);
            all.add("gradients of the vector", vector_rows, rows * c.wide);
            all.add("gradients of values", out, sources * c.wide);
            return all;
        });
    }
}

TEST_F(GpuBodies, HeadsAreJoinedAndParted) {
    for (const auto& [heads, columns] : head_shapes) {
        constexpr std::size_t rows = 77;
        const std::size_t wide = std::size_t{heads} * columns;
        expect_results_of_the_twin([&, h = heads, c = columns](OnDevice& on) {
            float* const out = on.room(rows * c);
            float* const parted = on.room(rows * wide);
            on.device().run(nn::MeanOfHeads{on.put(random_floats(rows * wide, 1)), out, h, c},
                            rows);
            on.device().run(nn::PartHeads{out, parted, h, c}, rows);
            Results all(on);
            all.add("mean", out, rows * c);
            all.add("parted", parted, rows * wide);
            return all;
        });
    }
}

TEST_F(GpuBodies, RowsAreActivatedDroppedAndUndone) {
    constexpr std::size_t rows = 90;
    for (const std::uint32_t columns : {1U, 65U, 130U}) {
        for (const auto activation : {nn::LaneActivation::rectifier,
                                      nn::LaneActivation::exponential, nn::LaneActivation::none}) {
            expect_results_of_the_twin([&](OnDevice& on) {
                std::vector<std::uint64_t> vertices(rows);
                for (std::size_t r = 0; r < rows; ++r)
                    vertices[r] = r * 1000000007;
                nn::FinishRows finish{};
                finish.x = on.put(random_floats(rows * columns, 1));
                finish.out = on.room(rows * columns);
                finish.columns = columns;
                finish.bias = on.put(random_floats(columns, 2));
                finish.residual = on.put(random_floats(rows * columns, 3));
                finish.activation = activation;
                finish.dropout = {{7, 9}, 20000, 1.4F};
                finish.vertices = on.put(vertices);
                on.device().run(finish, rows);
                Results all(on);
                all.add("rows", finish.out, rows * columns);
                nn::UndoRows undo{};
                undo.gradient = on.put(random_floats(rows * columns, 4));
                undo.skip = on.put(random_floats(rows * columns, 5));
                undo.skips = 30;
                undo.active = finish.out;
                undo.out = finish.out;
                undo.columns = columns;
                undo.exponential = activation == nn::LaneActivation::exponential;
                undo.scale = 1.4F;
                on.device().run(undo, rows);
                all.add("gradient", undo.out, rows * columns);
                return all;
            });
        }
    }
}

TEST_F(GpuBodies, SparseRowsBecomeWhole) {
    constexpr std::size_t rows = 50;
    constexpr std::uint32_t stride = 41;
    constexpr std::uint32_t columns = 300;
    expect_results_of_the_twin([&](OnDevice& on) {
        std::vector<std::uint32_t> entries(rows * stride * 2, 0xFFFFFFFFU);
        for (std::uint32_t r = 0; r < rows; ++r) {
            std::uint32_t* const row = entries.data() + std::size_t{r} * stride * 2;
            row[0] = r % stride;
            for (std::uint32_t i = 0; i < row[0]; ++i) {
                row[2 * (i + 1)] = (i * 7 + r) % columns;
                row[2 * (i + 1) + 1] = 0x3F800000U + i;
            }
        }
        float* const out = on.room(rows * columns);
        on.device().run(nn::ExpandRows{on.put(entries), stride, columns, out}, rows);
        Results all(on);
        all.add("rows", out, rows * columns);
        return all;
    });
}

TEST_F(GpuBodies, LossesOfEveryKind) {
    constexpr std::size_t seeds = 70;
    for (const std::uint32_t columns : {1U, 2U, 32U, 47U, 100U}) {
        expect_results_of_the_twin([&](OnDevice& on) {
            std::vector<std::int32_t> classes(seeds);
            std::vector<std::uint8_t> labels(seeds * columns);
            for (std::size_t s = 0; s < seeds; ++s) {
                classes[s] = s % 7 == 3 ? -1 : static_cast<std::int32_t>(s % columns);
                for (std::size_t c = 0; c < columns; ++c)
                    labels[s * columns + c] = s % 9 == 4 ? 255 : (s + c) % 3 == 0;
            }
            const auto scores = random_floats(seeds * columns, 1, 3.F);
            Results all(on);
            const auto run = [&](const char* name, const auto& make) {
                float* const place = on.put(scores);
                auto* const outcomes = on.put(std::vector<nn::SeedOutcome>(seeds));
                on.device().run(make(place, outcomes), seeds);
                all.add(name, place, scores.size());
                std::vector<double> counts;
                for (const nn::SeedOutcome& o : on.get(outcomes, seeds)) {
                    // Logarithms of double precision may differ in their last bits.
                    counts.push_back(std::round(o.loss * 1e9));
                    counts.push_back(o.correct);
                    counts.push_back(o.answers);
                }
                all.add(name, counts);
            };
            run("classes", [&](float* at, nn::SeedOutcome* to) {
                return nn::ClassLoss{
                    at, columns, on.put(classes), on.put(random_floats(columns, 2)), 0.125F, to};
            });
            run("several labels", [&](float* at, nn::SeedOutcome* to) {
                return nn::MultilabelLoss{at, columns, on.put(labels), 0.125F, to};
            });
            run("numbers", [&](float* at, nn::SeedOutcome* to) {
                return nn::SquaredLoss{at, columns, on.put(random_floats(scores.size(), 4)), 0.125F,
                                       to};
            });
            return all;
        });
    }
}

TEST_F(GpuBodies, StepsOfTheOptimisersAndClipping) {
    for (const std::size_t count : {1U, 127U, 9000U}) {
        expect_results_of_the_twin([&](OnDevice& on) {
            const float* const gradient = on.put(random_floats(count, 1));
            const std::size_t stretches = nn::pieces_of(count, 4096);
            auto* const sums = on.put(std::vector<double>(stretches));
            float* const factor = on.room(1);
            on.device().run(nn::SquareSums{gradient, count, 4096, sums}, stretches);
            on.device().run(nn::ClipFactor{sums, stretches, 0.5, factor}, 1);
            Results all(on);
            all.add("squares", sums, stretches);
            all.add("factor", factor, 1);
            const std::size_t items = nn::pieces_of(count, nn::weights_per_warp);
            nn::AdamStep adam{};
            adam.weights = on.put(random_floats(count, 2));
            adam.gradient = gradient;
            adam.mean = on.put(std::vector<float>(count, 0.F));
            adam.square = on.put(std::vector<float>(count, 0.F));
            adam.count = count;
            adam.factor = factor;
            adam.keep = 0.999F;
            adam.pull = 0.01F;
            adam.mix1 = 0.1F;
            adam.beta2 = 0.999F;
            adam.mix2 = 0.001F;
            adam.epsilon = 1e-8F;
            adam.root = 0.03F;
            adam.length = 0.02F;
            for (int step = 0; step < 3; ++step)
                on.device().run(adam, items);
            all.add("weights of adam", adam.weights, count);
            all.add("squares of adam", adam.square, count);
            nn::SgdStep sgd{on.put(random_floats(count, 3)),
                            gradient,
                            on.room(count),
                            count,
                            nullptr,
                            0.9F,
                            0.01F,
                            0.02F};
            for (int step = 0; step < 3; ++step)
                on.device().run(sgd, items);
            all.add("weights of sgd", sgd.weights, count);
            return all;
        });
    }
}

TEST_F(GpuBodies, NothingToDoIsDone) {
    OnDevice on(nn::open_device(0, nn::DeviceProducts::own));
    expect_nothing_done(on);
}

}  // namespace rudder
