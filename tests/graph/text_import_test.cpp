// Edge lists, Matrix Market, METIS and OGB: what is read, and what is refused at which line.
#include <fmt/format.h>

#include "io_support.hpp"

namespace rudder::test {
namespace {

using Rows = std::vector<std::vector<VertexId>>;

class TextImport : public ImportTest {
protected:
    Rows rows(const std::filesystem::path& file) { return rows_of(import(file).topology()); }
};

const Rows path_rows{{1}, {0, 2}, {1}};

TEST_F(TextImport, EveryWayToWriteAnEdgeList) {
    EXPECT_EQ(rows(write("a.txt", "0 1\n1 2\n")), path_rows);
    EXPECT_EQ(rows(write("a.txt", "# comment\n% more\n\n0\t1\r\n  1\t\t2")), path_rows);
    EXPECT_EQ(rows(write("a.csv", "source,target\n0,1\n1,2\n")), path_rows);
    EXPECT_EQ(rows(write("a.csv", "\"from\";\"to\";\"weight\"\n0;1;0.5\n1;2;abc\n")), path_rows);
    EXPECT_EQ(rows(write("a.csv", "0,1\n1,2\n")), path_rows);
    EXPECT_EQ(rows(write("a b ü.txt.gz", gzip("0 1\n1 2\n"))), path_rows);
    EXPECT_EQ(rows(write("two.txt.gz", gzip("0 1\n") + gzip("1 2\n"))), path_rows);
    EXPECT_EQ(rows(write("empty.txt", "")), Rows{});
}

TEST_F(TextImport, IsolatedVerticesByNumber) {
    const auto file = write("a.txt", "0 1\n1 2\n");
    EXPECT_EQ(import({.input = file, .output = {}, .vertices = 5}).info().vertices, 5U);
}

TEST_F(TextImport, FaultsNameLineAndColumn) {
    refuse(write("a.txt", "0 1\n1 x\n"), {"a.txt, line 2, column 3", "invalid integer: 'x'"});
    refuse(write("a.txt", "0 1\n\n1 1.5\n"), {"line 3, column 3", "'1.5'"});
    refuse(write("a.txt", "0 -1\n"), {"line 1, column 3", "negative"});
    refuse(write("a.txt", "0 1\n7\n"), {"line 2", "ends"});
    refuse(write("a.txt", "source target\n0 1\n"), {"line 1, column 1", "'source'"});
    refuse(write("a.csv", "a,b\n0,1\nc,d\n"), {"line 3, column 1"});
    refuse(write("a.txt", "0 99999999999999999999\n"), {"line 1, column 3", "63 bits"});
    refuse(write("a.txt", "0 1099511627776\n"), {"1099511627777 vertices", "--vertices"});
    refuse(graph::ImportOptions{.input = write("a.txt", "0 1\n0 2\n"), .output = {}, .vertices = 2},
           {"line 2, column 3", "0..1"});
    refuse(write("a.zzz", "0 1\n"), {"--format"}, ErrorKind::usage);
}

TEST_F(TextImport, TheFirstFaultOfALongFile) {
    std::string text;
    for (int i = 0; i < 900000; ++i)
        text += fmt::format("{} {}\n", i % 1000, i % 777);
    const std::size_t lines = 900001;
    refuse(write("long.txt", text + "1 b\n1 c\n"), {fmt::format("line {}, column 3", lines)});
}

TEST_F(TextImport, DamagedGzip) {
    std::string bytes = gzip("0 1\n1 2\n");
    refuse(write("a.txt.gz", bytes.substr(0, bytes.size() - 6)), {"a.txt.gz", "too early"});
    bytes[bytes.size() - 6] ^= 1;
    refuse(write("a.txt.gz", bytes), {"a.txt.gz", "damaged"});
}

TEST_F(TextImport, MatrixMarket) {
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    EXPECT_EQ(rows(write("a.mtx", banner + "pattern general\n% c\n3 3 2\n1 2\n2 3\n")), path_rows);
    EXPECT_EQ(rows(write("a.mtx", banner + "real symmetric\n3 3 2\n2 1 0.5\n3 2 -1e3\n")),
              path_rows);
    const graph::Dataset directed =
        import({.input = write("a", banner + "integer symmetric\n3 3 2\n2 1 5\n3 3 1\n"),
                .output = {},
                .directed = true,
                .keep_self_loops = true});
    EXPECT_EQ(rows_of(directed.topology()), (Rows{{1}, {0}, {2}}));
    std::filesystem::remove_all(folder_ / "out");
    refuse(write("a.mtx", "%%MatrixMarket matrix array real general\n3 3\n"),
           {"line 1", "'array'", "coordinate"});
    refuse(write("a.mtx", banner + "complex general\n3 3 0\n"), {"'complex'"});
    refuse(write("a.mtx", banner + "pattern general\n3 4 0\n"), {"line 2", "3 x 4"});
    refuse(write("a.mtx", banner + "pattern general\n3 3 1\n1 4\n"), {"line 3, column 3", "1..3"});
    refuse(write("a.mtx", banner + "pattern general\n3 3 1\n0 1\n"), {"line 3, column 1"});
    refuse(write("a.mtx", banner + "pattern general\n3 3 2\n1 2\n"), {"1 entries", "says 2"});
    refuse(write("a.mtx", banner + "real general\n3 3 1\n1 2 x\n"), {"line 3, column 5"});
    refuse(write("a.mtx", banner + "pattern general\n"), {"ends before"});
    refuse(write("a.mtx", banner + "pattern general\n999999999999 999999999999 0\n"),
           {"999999999999 vertices"});
}

TEST_F(TextImport, Metis) {
    EXPECT_EQ(rows(write("a.graph", "% c\n3 2\n2\n1 3\n2\n")), path_rows);
    EXPECT_EQ(rows(write("a.graph", "3 2 001\n2 9\n1 9 3 8\n2 8\n")), path_rows);
    EXPECT_EQ(rows(write("a.graph", "3 2 011 2\n1 1 2 9\n1 1 1 9 3 8\n1 1 2 8\n")), path_rows);
    EXPECT_EQ(rows(write("a.graph", "3 2 111\n7 1 2 9\n7 1 1 9 3 8\n7 1 2 8\n")), path_rows);
    EXPECT_EQ(rows(write("a.graph", "3 1\n\n3\n2\n")), (Rows{{}, {2}, {1}}));
    std::filesystem::remove_all(folder_ / "out");
    refuse(write("a.graph", "3 2\n2\n1 4\n2\n"), {"line 3, column 3", "1..3"});
    refuse(write("a.graph", "3 2\n2\n1 3\n"), {"2 lines", "3 vertices"});
    refuse(write("a.graph", "3 3\n2\n1 3\n2\n"), {"4 neighbours", "3 edges"});
    refuse(write("a.graph", "3 2 7\n2\n1 3\n2\n"), {"line 1, column 5", "'7'"});
    refuse(write("a.graph", "3 2\n2\n1 z\n2\n"), {"line 3, column 3", "'z'"});
}

class OgbImport : public TextImport {
protected:
    std::filesystem::path ogb(const std::string& labels, const std::string& features) {
        write("ogb/raw/edge.csv.gz", gzip("0,1\n1,2\n"));
        write("ogb/raw/num-node-list.csv.gz", gzip("3\n"));
        write("ogb/raw/num-edge-list.csv", "2\n");
        write("ogb/raw/node-label.csv.gz", gzip(labels));
        write("ogb/raw/node-feat.csv.gz", gzip(features));
        write("ogb/split/time/train.csv.gz", gzip("0\n"));
        write("ogb/split/time/valid.csv.gz", gzip("2\n"));
        write("ogb/split/time/test.csv", "1\n");
        return folder_ / "ogb";
    }
};

TEST_F(OgbImport, ClassesFeaturesAndSplit) {
    const graph::Dataset data = import(ogb("4\n0\nnan\n", "0.5,1\n-2,3e-1\n0,0\n"));
    EXPECT_EQ(rows_of(data.topology()), path_rows);
    EXPECT_EQ(data.info().targets.count, 5U);
    EXPECT_EQ(data.info().targets.labelled, 2U);
    EXPECT_EQ(data.info().features.width, 2U);
    EXPECT_EQ(data.info().split, (graph::SplitCounts{1, 1, 1}));
    float row[2];
    graph::decode_row(data.info().features, data.features().row(1), {}, row);
    EXPECT_EQ(row[0], -2.0F);
    EXPECT_EQ(row[1], 0.3F);
}

TEST_F(OgbImport, OtherTargets) {
    EXPECT_EQ(import(ogb("0,1\n1,1\n0,0\n", "1\n1\n1\n")).info().targets.kind,
              graph::TargetKind::multilabel);
    EXPECT_EQ(import(ogb("0.5\n1\n2\n", "1\n1\n1\n")).info().targets.kind,
              graph::TargetKind::regression);
}

TEST_F(OgbImport, Refused) {
    refuse(ogb("0\n1\n", "1\n1\n1\n"), {"node-label", "2 labels for 3"});
    refuse(ogb("0\n1\n1\n", "1\n1\n"), {"node-feat", "2 rows"});
    refuse(ogb("0\n1\n1\n", "1,1\n1,1\n1\n"), {"node-feat", "line 3"});
    refuse(ogb("0\n1\n1\n", "1,1\n1,nan\n1,1\n"), {"node-feat", "line 2, column 3", "NaN"});
    const auto folder = ogb("0\n1\n1\n", "1\n1\n1\n");
    write("ogb/split/time/test.csv", "2\n");
    refuse(folder, {"test.csv", "two sets"});
    write("ogb/split/time/test.csv", "3\n");
    refuse(folder, {"test.csv", "line 1, column 1", "0..2"});
    write("ogb/raw/edge.csv.gz", gzip("0,1\n1,3\n"));
    refuse(folder, {"edge.csv.gz", "line 2, column 3"});
    std::filesystem::remove(folder / "raw/edge.csv.gz");
    refuse(folder, {"edge.csv.gz is missing"});
}

TEST(BinaryImport, PairsOfBothWidths) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const RandomEdges random = random_edges(seed);
        const TempDir folder;
        std::string narrow;
        std::string wide;
        for (const graph::Edge& edge : random.edges) {
            narrow += raw<std::uint32_t>(
                {static_cast<std::uint32_t>(edge.source), static_cast<std::uint32_t>(edge.target)});
            wide += raw<std::uint64_t>({edge.source, edge.target});
        }
        for (const int bits : {32, 64}) {
            const auto file = folder / "edges.bin";
            write_text(file, bits == 32 ? narrow : wide);
            graph::ImportOptions options{.input = file,
                                         .output = folder / "out",
                                         .vertices = random.vertices,
                                         .id_bits = bits,
                                         .force = true};
            graph::import_dataset(options);
            const graph::Dataset data(options.output);
            data.check();
            EXPECT_EQ(rows_of(data.topology()), naive_rows(random, {}));
        }
    }
}

class BinaryRefused : public ImportTest {};

TEST_F(BinaryRefused, TruncatedOrOutOfRange) {
    const auto file = write("a.bin", raw<std::uint32_t>({0, 1, 2}));
    refuse(file, {"a.bin, byte 8", "--id-bits"});
    const auto big = write("b.bin", raw<std::uint32_t>({0, 1, 5, 2}));
    refuse(graph::ImportOptions{.input = big, .output = {}, .vertices = 3},
           {"b.bin, edge 1", "id 5", "0..2"});
    const auto far = write("c.bin", raw<std::uint32_t>({0, 4000000000}));
    refuse(far, {"c.bin", "4000000001 vertices", "--vertices"});
    const auto negative = write("d.bin", raw<std::int64_t>({0, -1}));
    refuse(graph::ImportOptions{.input = negative, .output = {}, .id_bits = 64}, {"d.bin, edge 0"});
    refuse(graph::ImportOptions{.input = negative, .output = {}, .id_bits = 16}, {"--id-bits"},
           ErrorKind::usage);
}

}  // namespace
}  // namespace rudder::test
