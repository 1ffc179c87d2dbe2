// Files damaged at random: every reader refuses or reads them, and never does anything else.
#include "graph/generate/generate.hpp"
#include "rudder/core/random.hpp"

#include "io_support.hpp"
#include "support/random_archive.hpp"

namespace rudder::test {
namespace {

/// Changes, removes, inserts or repeats a few bytes, as the draws say.
std::string damaged(std::string bytes, Draws& draws) {
    const std::uint64_t changes = 1 + draws.below(4);
    for (std::uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
        const std::size_t at = draws.below(bytes.size());
        switch (draws.below(6)) {
            case 0:
                bytes[at] = static_cast<char>(draws.below(256));
                break;
            case 1:
                bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1U << draws.below(8)));
                break;
            case 2:
                bytes.resize(at);
                break;
            case 3:
                bytes.insert(at, 1 + draws.below(8), static_cast<char>(draws.below(256)));
                break;
            case 4:
                bytes.erase(at, 1 + draws.below(8));
                break;
            default:  // a number that is far too large, little-endian or as text
                bytes.replace(at, std::min<std::size_t>(8, bytes.size() - at),
                              draws.below(2) == 0 ? std::string(8, '\xff') : "99999999");
        }
    }
    return bytes;
}

struct Format {
    const char* name;
    const char* file;
    std::string (*valid)(std::uint64_t seed);
};

std::string edge_text(std::uint64_t seed) {
    std::string text = "# edges\n";
    for (const graph::Edge& edge : random_edges(seed, 30).edges) {
        text += std::to_string(edge.source) + " " + std::to_string(edge.target) + "\n";
    }
    return text;
}

const Format formats[] = {
    {"npz", "graph.npz",
     [](std::uint64_t seed) { return random_archive(seed, random_edges(seed, 30)); }},
    {"edges", "graph.txt", edge_text},
    {"edges", "graph.txt.gz", [](std::uint64_t seed) { return gzip(edge_text(seed)); }},
    {"csv", "graph.csv",
     [](std::uint64_t seed) {
         std::string text = edge_text(seed);
         std::ranges::replace(text, ' ', ',');
         return "source,target\n" + text.substr(text.find('\n') + 1);
     }},
    {"binary", "graph.bin",
     [](std::uint64_t seed) {
         std::vector<std::uint32_t> ids;
         for (const graph::Edge& edge : random_edges(seed, 30).edges) {
             ids.push_back(static_cast<std::uint32_t>(edge.source));
             ids.push_back(static_cast<std::uint32_t>(edge.target));
         }
         return raw(ids);
     }},
    {"mtx", "graph.mtx",
     [](std::uint64_t seed) {
         const RandomEdges random = random_edges(seed, 30);
         std::string text = "%%MatrixMarket matrix coordinate pattern general\n% made\n";
         const std::string size = std::to_string(random.vertices);
         text += size + " " + size + " " + std::to_string(random.edges.size()) + "\n";
         for (const graph::Edge& edge : random.edges) {
             text += std::to_string(edge.source + 1) + " " + std::to_string(edge.target + 1) + "\n";
         }
         return text;
     }},
    {"metis", "graph.graph", [](std::uint64_t) { return std::string("4 3\n2 3\n1\n1 4\n3\n"); }},
};

class Mutation : public ImportTest {
protected:
    /// Damages a valid file of each format in `count` ways.
    void run(std::uint64_t count) {
        std::uint64_t read = 0;
        std::uint64_t refused = 0;
        for (const Format& format : formats) {
            for (std::uint64_t seed = 0; seed < count; ++seed) {
                const RandomStream stream({.purpose = Purpose::test, .seed = seed, .epoch = 11});
                Draws draws(stream, 0);
                graph::ImportOptions options;
                options.input = write(format.file, damaged(format.valid(seed), draws));
                options.format = format.name;
                try {
                    import(options);
                    ++read;
                } catch (const Error& error) {
                    ++refused;
                    // Absurd sizes may also be more than this machine's memory or disk has.
                    EXPECT_NE(error.kind(), ErrorKind::rank) << error.what();
                    EXPECT_FALSE(error.remedy().empty()) << error.what();
                } catch (const std::exception& error) {
                    ADD_FAILURE() << format.name << ", seed " << seed << ": " << error.what();
                }
                expect_nothing_partial(format.name, seed);
            }
        }
        std::cout << "damaged files: " << refused << " refused, " << read << " still valid\n";
        EXPECT_GT(refused, 0U);
    }

    void expect_nothing_partial(const char* name, std::uint64_t seed) {
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
            EXPECT_FALSE(entry.path().filename().string().starts_with("."))
                << name << ", seed " << seed << ": " << entry.path();
        }
    }
};

TEST_F(Mutation, ThreeHundredDamagedFilesOfEachFormat) {
    run(300);
    std::cout << "ran 300 of 5000 files of each format (make test-long runs all)\n";
}

class LongMutation : public Mutation {};

TEST_F(LongMutation, ThousandsOfDamagedFiles) {
    run(5000);
}

/// A data set whose files are damaged afterwards: opening or checking finds it, or nothing has
/// changed that matters.
TEST_F(ImportTest, DamagedDataSetsAreFound) {
    graph::GenerateOptions options;
    options.kind = "sbm";
    options.generator.vertices = 200;
    options.features = "planted:3";
    options.output = folder_ / "data";
    options.existing = Existing::replace;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        graph::generate_dataset(options, Progress::none());
        const RandomStream stream({.purpose = Purpose::test, .seed = seed, .epoch = 12});
        Draws draws(stream, 0);
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(options.output)) {
            files.push_back(entry.path());
        }
        std::ranges::sort(files);
        const auto victim = files[draws.below(files.size())];
        const std::string before = read_text(victim, 1 << 20);
        const std::string after = damaged(before, draws);
        std::ofstream(victim, std::ios::binary) << after;
        if (after == before) continue;
        const auto error = error_of([&] { graph::Dataset(options.output).check(); });
        // Within the manifest, spaces and words that nobody reads may change unnoticed.
        if (victim.filename() == "manifest.json" && !error) continue;
        ASSERT_TRUE(error) << "seed " << seed << ": " << victim;
        EXPECT_EQ(error->kind(), ErrorKind::input) << error->what();
    }
}

}  // namespace
}  // namespace rudder::test
