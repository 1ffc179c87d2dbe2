// Random tables as data sets against a slow reading of the same cells, in any number of files,
// packings, threads and amounts of memory.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/parallel.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

using graph::MissingValues;
using Cell = std::optional<std::string>;

/// The cells of a table of vertices and of one of edges.
struct SlowTables {
    struct Vertex {
        std::string id;
        Cell number;
        Cell colour;
        std::optional<std::pair<int, int>> list;
        Cell label;
    };
    struct Pair {
        std::string source;
        std::string target;
        float weight;
        std::int64_t time;
        Cell kind;
    };
    std::vector<Vertex> vertices;
    std::vector<Pair> edges;

    explicit SlowTables(std::uint32_t seed) {
        std::mt19937 random(seed);
        const auto some = [&](unsigned one_in, std::string text) {
            return random() % one_in == 0 ? Cell() : Cell(std::move(text));
        };
        const auto count = 2 + random() % 60;
        for (unsigned v = 0; v < count; ++v) {
            Vertex& vertex = vertices.emplace_back();
            vertex.id = fmt::format("v{}", v * 37 % 101);
            vertex.number = some(4, fmt::format("{}.5", random() % 20));
            vertex.colour = some(5, std::string(1, static_cast<char>('a' + random() % 7)));
            if (random() % 6 != 0 || v == 0) vertex.list = {random() % 9, random() % 9};
            vertex.label = some(3, std::to_string(random() % 12));
        }
        const auto pairs = random() % 200;
        for (unsigned e = 0; e < pairs; ++e) {
            Pair& pair = edges.emplace_back();
            pair.source = fmt::format("v{}", random() % 101);  // some have no row
            pair.target = vertices[random() % count].id;
            pair.weight = static_cast<float>(random() % 64) / 4;
            pair.time = static_cast<std::int64_t>(random() % 9) - 4;
            pair.kind = some(4, std::string(1, static_cast<char>('p' + random() % 3)));
        }
    }

    [[nodiscard]] std::string vertex_rows(std::size_t from, std::size_t to) const {
        std::string text = "id,number,colour,list,label\n";
        for (std::size_t v = from; v < to; ++v) {
            const Vertex& one = vertices[v];
            text += fmt::format(
                "{},{},{},{},{}\n", one.id, one.number.value_or(v % 2 == 0 ? "" : "NA"),
                one.colour.value_or(""),
                one.list ? fmt::format("{};{}", one.list->first, one.list->second) : "NaN",
                one.label.value_or(""));
        }
        return text;
    }
    /// The columns in another order, since files of a table need not agree in that.
    [[nodiscard]] std::string edge_rows(std::size_t from, std::size_t to) const {
        std::string text = from % 2 == 0 ? "source,target,w,t,kind\n" : "kind;t;w;target;source\n";
        for (std::size_t e = from; e < to; ++e) {
            const Pair& one = edges[e];
            const std::string kind = one.kind.value_or("");
            text += from % 2 == 0 ? fmt::format("{},{},{},{},{}\n", one.source, one.target,
                                                one.weight, one.time, kind)
                                  : fmt::format("{};{};{};{};{}\n", kind, one.time, one.weight,
                                                one.target, one.source);
        }
        return text;
    }

    /// Features as the schema below says: a number, one column for each colour, two of the list.
    [[nodiscard]] std::vector<std::vector<float>> features(MissingValues missing) const {
        std::set<std::string> colours;
        double sum = 0;
        double lists[2] = {0, 0};
        int numbers = 0;
        int pairs = 0;
        for (const Vertex& one : vertices) {
            if (one.colour) colours.insert(*one.colour);
            if (one.number) sum += std::stod(*one.number);
            numbers += one.number ? 1 : 0;
            if (!one.list) continue;
            lists[0] += one.list->first;
            lists[1] += one.list->second;
            ++pairs;
        }
        const bool mean = missing == MissingValues::mean;
        std::vector<std::vector<float>> rows;
        for (const Vertex& one : vertices) {
            auto& row = rows.emplace_back();
            const double instead = mean && numbers != 0 ? sum / numbers : 0;
            row.push_back(one.number ? std::stof(*one.number) : static_cast<float>(instead));
            for (const std::string& colour : colours)
                row.push_back(one.colour == colour ? 1.0F : 0.0F);
            for (const int k : {0, 1}) {
                const int value = !one.list ? 0 : k == 0 ? one.list->first : one.list->second;
                row.push_back(one.list ? static_cast<float>(value)
                                       : static_cast<float>(mean ? lists[k] / pairs : 0));
            }
        }
        return rows;
    }

    /// Classes in the order of their values.
    [[nodiscard]] std::vector<std::int32_t> classes() const {
        std::set<int> values;
        for (const Vertex& one : vertices) {
            if (one.label) values.insert(std::stoi(*one.label));
        }
        std::vector<std::int32_t> all;
        for (const Vertex& one : vertices) {
            all.push_back(one.label ? static_cast<std::int32_t>(std::distance(
                                          values.begin(), values.find(std::stoi(*one.label))))
                                    : -1);
        }
        return all;
    }
};

const std::string property_schema = R"([[vertices]]
files = "v/*"
features = ["number", {column = "colour", kind = "category"}, {column = "list", kind = "list"}]
label = "label"
[[edges]]
files = ["e/1*", "e/0*"]
weight = "w"
time = "t"
features = [{column = "kind", kind = "category", missing = "zero"}]
)";

class TableProperties : public TablesTest {
protected:
    /// Writes the rows in so many files; the later half of the edges stands in files named 0.
    graph::ImportOptions write_in(const SlowTables& slow, std::size_t files) {
        std::filesystem::remove_all(folder_ / "v");
        std::filesystem::remove_all(folder_ / "e");
        const std::size_t vertices = slow.vertices.size();
        const std::size_t edges = slow.edges.size();
        for (std::size_t i = 0; i < files; ++i) {
            const std::string rows =
                slow.vertex_rows(vertices * i / files, vertices * (i + 1) / files);
            write(fmt::format("v/part-{}.csv", i), i % 2 == 1 ? gzip(rows) : rows);
            write(fmt::format("e/1-{}.csv", i),
                  slow.edge_rows(edges / 2 * i / files, edges / 2 * (i + 1) / files));
        }
        write("e/0.csv.gz", gzip(slow.edge_rows(edges / 2, edges)));
        std::filesystem::create_directories(folder_ / "e" / "1-folder");  // is no file
        graph::ImportOptions options = schema(property_schema);
        options.unknown = graph::UnknownIds::drop;
        options.directed = true;
        options.keep_self_loops = true;
        return options;
    }
};

TEST_F(TableProperties, FeaturesLabelsAndIds) {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const SlowTables slow(seed);
        graph::ImportOptions options = write_in(slow, 1 + seed % 4);
        options.missing = seed % 2 == 0 ? MissingValues::mean : MissingValues::zero;
        const graph::Dataset data = import(options);
        std::vector<std::string> ids;
        for (const auto& vertex : slow.vertices)
            ids.push_back(vertex.id);
        EXPECT_EQ(names_of(data), ids);
        EXPECT_EQ(features_of(data), slow.features(options.missing));
        const auto classes = data.targets().classes;
        EXPECT_EQ(std::vector(classes.begin(), classes.end()), slow.classes());
    }
}

TEST_F(TableProperties, EdgesWithAllTheyCarry) {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const SlowTables slow(seed);
        graph::ImportOptions options = write_in(slow, 1 + seed % 3);
        options.missing = MissingValues::zero;
        const graph::Dataset data = import(options);
        std::map<std::string, VertexId> place;
        for (const auto& vertex : slow.vertices)
            place.emplace(vertex.id, place.size());
        std::set<std::string> kinds;  // of edges that are kept
        struct Entry {
            VertexId target;
            VertexId source;
            std::int64_t time;
            std::size_t number;
            const SlowTables::Pair* pair;
        };
        std::vector<Entry> entries;
        for (const auto& pair : slow.edges) {
            const auto source = place.find(pair.source);
            if (source == place.end()) continue;
            if (pair.kind) kinds.insert(*pair.kind);
            entries.push_back(
                {place.at(pair.target), source->second, pair.time, entries.size(), &pair});
        }
        std::ranges::sort(entries, {}, [](const Entry& one) {
            return std::tuple(one.target, one.source, one.time, one.number);
        });
        const graph::TopologyView graph = data.topology();
        ASSERT_EQ(graph.edges(), entries.size());
        const graph::EdgeData carried = data.edge_data();
        std::size_t at = 0;
        for (VertexId v = 0; v < graph.vertices(); ++v) {
            for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e, ++at) {
                EXPECT_EQ(entries[at].target, v);
                EXPECT_EQ(entries[at].source, graph.neighbours[e]);
                EXPECT_EQ(entries[at].time, carried.time[e]);
                EXPECT_EQ(entries[at].pair->weight, carried.weight[e]);
                if (kinds.empty()) continue;
                std::vector<float> row(carried.features.info.width);
                graph::decode_row(carried.features.info, carried.features.row(e), {}, row);
                std::vector<float> expected;
                for (const std::string& kind : kinds)
                    expected.push_back(entries[at].pair->kind == kind ? 1.0F : 0.0F);
                EXPECT_EQ(row, expected);
            }
        }
    }
}

TEST_F(TableProperties, FilesThreadsAndMemoryChangeNothing) {
    for (std::uint32_t seed = 30; seed < 33; ++seed) {
        SCOPED_TRACE(seed);
        const SlowTables slow(seed);
        std::set<std::string> arrays;
        for (const std::size_t files : {1U, 2U, 5U}) {
            set_thread_count(static_cast<int>(files) - static_cast<int>(files) / 2);
            graph::ImportOptions options = write_in(slow, files);
            options.missing = MissingValues::mean;
            options.memory = files == 2 ? 1 : 0;  // nothing stays in memory
            arrays.insert(import(options).folder().manifest().at("arrays").dump());
        }
        set_thread_count(0);
        EXPECT_EQ(arrays.size(), 1U);
    }
}

TEST_F(TableProperties, FoldersMayBeNamedLikePatterns) {
    write("odd [1] *\\/v-0.csv", "id,x\na,1\n");
    write("odd [1] *\\/v-1.csv", "id,x\nb,2\n");
    write("odd [1] *\\/e[0].csv", "source,target\na,b\n");
    graph::ImportOptions options;
    options.input = write("odd [1] *\\/schema.toml",
                          "[[vertices]]\nfiles = 'v-?.csv'\nfeatures = ['x']\n[[edges]]\nfiles = "
                          "'e[0].csv'\n");
    EXPECT_EQ(features_of(import(options)), (std::vector<std::vector<float>>{{1}, {2}}));
    // The schema that is kept finds the same files.
    std::filesystem::copy(folder_ / "out" / "schema.toml", folder_ / "kept.toml");
    options.input = folder_ / "kept.toml";
    EXPECT_EQ(names_of(import(options)), (std::vector<std::string>{"a", "b"}));
}

TEST_F(TableProperties, PatternsInTheOrderOfNames) {
    for (const char* name : {"b.csv", "a.csv", "a10.csv", "a2.csv", "[x].csv"})
        write(name, "id\n");
    const auto names = [&](const std::vector<std::string>& patterns) {
        std::vector<std::string> all;
        for (const auto& file : graph::matching_files(patterns, folder_.path()))
            all.push_back(file.filename().string());
        return all;
    };
    using List = std::vector<std::string>;
    EXPECT_EQ(names({"a*.csv"}), (List{"a.csv", "a10.csv", "a2.csv"}));
    EXPECT_EQ(names({"?.csv"}), (List{"a.csv", "b.csv"}));
    EXPECT_EQ(names({"b.csv", "a?.csv", "b.csv"}), (List{"b.csv", "a2.csv", "b.csv"}))
        << "in the order of the patterns";
    EXPECT_EQ(names({"[x].csv"}), (List{"[x].csv"})) << "a file of that very name";
    EXPECT_EQ(names({"nobody.csv"}), (List{"nobody.csv"})) << "refused when it is opened";
    expect_error([&] { (void)names({"a.csv", "c*"}); }, ErrorKind::input, {"c*"});
}

}  // namespace
}  // namespace rudder::test
