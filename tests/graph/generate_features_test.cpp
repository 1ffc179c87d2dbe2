// Features of generated graphs, and what generators refuse.
#include <cmath>
#include <limits>

#include "graph/generate/generate.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

class GenerateFeatures : public ImportTest {
protected:
    graph::Dataset generate(const std::string& kind, const std::string& features,
                            double signal = 0.25) {
        graph::GenerateOptions options;
        options.kind = kind;
        options.output = folder_ / "out";
        options.existing = Existing::replace;
        options.generator.vertices = 4000;
        options.generator.classes = 4;
        options.features = features;
        options.signal = signal;
        graph::generate_dataset(options, Progress::none());
        graph::Dataset data(options.output);
        data.check();
        return data;
    }

    void fails(const std::string& kind, const std::string& features) {
        expect_error([&] { static_cast<void>(generate(kind, features)); }, ErrorKind::usage,
                     {"--features"});
        EXPECT_TRUE(folder_.empty()) << features;
    }

    /// How far apart the means of classes lie, in the mean over columns: about twice the square of
    /// the signal.
    static double class_distance(const graph::Dataset& data) {
        const std::uint64_t width = data.info().features.width;
        std::vector<double> sums(4 * width);
        std::vector<double> counts(4);
        std::vector<float> row(width);
        for (VertexId v = 0; v < data.info().vertices; ++v) {
            const auto c = static_cast<std::size_t>(data.targets().classes[v]);
            graph::decode_row(data.info().features, data.features().row(v), {}, row);
            ++counts[c];
            for (std::size_t i = 0; i < width; ++i)
                sums[c * width + i] += static_cast<double>(row[i]);
        }
        double distance = 0;
        for (std::size_t i = 0; i < width; ++i) {
            const double d = sums[i] / counts[0] - sums[width + i] / counts[1];
            distance += d * d / static_cast<double>(width);
        }
        return distance;
    }
};

TEST_F(GenerateFeatures, DefaultsArePlantedWhereThereAreClasses) {
    EXPECT_EQ(generate("sbm", "").info().features.width, 64U);
    for (const char* kind : {"rmat", "ba", "grid"})
        EXPECT_FALSE(generate(kind, "").info().features.present()) << kind;
}

TEST_F(GenerateFeatures, EveryChoice) {
    EXPECT_EQ(generate("sbm", "planted:7").info().features.width, 7U);
    EXPECT_EQ(generate("sbm", "random:5").info().features.width, 5U);
    EXPECT_EQ(generate("rmat", "structure:9").info().features.width, 9U);
    EXPECT_EQ(generate("grid", "structure:1").info().features.width, 1U);
    EXPECT_FALSE(generate("sbm", "none").info().features.present());
}

TEST_F(GenerateFeatures, PlantedOnesTellTheClassAsMuchAsTheSignalSays) {
    EXPECT_LT(class_distance(generate("sbm", "planted:128", 0)), 0.01);
    EXPECT_NEAR(class_distance(generate("sbm", "planted:128", 1)), 2, 0.8);
    EXPECT_LT(class_distance(generate("sbm", "random:128")), 0.01);
}

TEST_F(GenerateFeatures, StructureTellsTheDegree) {
    const graph::Dataset data = generate("ba", "structure:4");
    std::vector<float> row(4);
    for (VertexId v = 0; v < data.info().vertices; v += 97) {
        graph::decode_row(data.info().features, data.features().row(v), {}, row);
        EXPECT_FLOAT_EQ(row[0], static_cast<float>(std::log1p(double(data.topology().degree(v)))));
    }
}

TEST_F(GenerateFeatures, Refusals) {
    for (const char* text : {"words", "random", "random:", "random:0", "random:-1", "random:x",
                             "structure:0", "planted:0", "planted:99999999999", "Random:5"}) {
        fails("sbm", text);
    }
    fails("rmat", "planted:5");
}

TEST(GeneratorRefusals, WrongOptions) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto refused = [](const char* kind, auto change, const std::string& option) {
        graph::GeneratorOptions options;
        options.vertices = 10;
        change(options);
        expect_error([&] { static_cast<void>(graph::make_generator(kind, options)); },
                     ErrorKind::usage, {option});
    };
    using O = graph::GeneratorOptions;
    refused(
        "rmat", [](O& o) { o.vertices = 0; }, "--vertices");
    for (const char* kind : {"rmat", "sbm", "ba", "grid", "typed"})
        refused(
            kind, [](O& o) { o.vertices = graph::max_generated_vertices + 1; }, "--vertices");
    refused(
        "ba", [](O& o) { o.degree = -1; }, "--degree");
    refused(
        "ba", [&](O& o) { o.degree = nan; }, "--degree");
    refused(
        "rmat", [](O& o) { o.a = 0.9; }, "--rmat-shares");
    refused(
        "rmat", [](O& o) { o.b = -0.1; }, "--rmat-shares");
    refused(
        "rmat", [&](O& o) { o.c = nan; }, "--rmat-shares");
    refused(
        "sbm", [](O& o) { o.classes = 0; }, "--classes");
    refused(
        "sbm", [](O& o) { o.inside = 1.5; }, "--inside");
    refused(
        "sbm", [](O& o) { o.skew = 0; }, "--skew");
    refused(
        "grid", [](O& o) { o.rows = o.columns = VertexId{1} << 32; }, "--rows");
    refused(
        "sbn", [](O&) {}, "generate");
}

}  // namespace
}  // namespace rudder::test
