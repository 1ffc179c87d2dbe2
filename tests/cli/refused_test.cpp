// What is refused, with its exit code, a message that names place and remedy, and nothing left.
#include <cmath>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

using Int = std::int32_t;

class BadInput : public CliTest {};

TEST_F(BadInput, TruncatedNpz) {
    const std::string whole = zip(path_graph());
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{40}}) {
        write("cut.npz", whole.substr(0, size));
        refuse({"import", "cut.npz", "out"}, 3, {"cut.npz"});
    }
    write("cut.npz", "");
    refuse({"import", "cut.npz", "out"}, 3, {"cut.npz"});
}

TEST_F(BadInput, CorruptNpz) {
    std::string whole = zip(path_graph());
    const std::size_t data = whole.find(raw<Int>({1, 2}));
    ASSERT_NE(data, std::string::npos);
    whole[data] = '\0';  // id 1 becomes 0: only the checksum can tell
    write("flipped.npz", whole);
    refuse({"import", "flipped.npz", "out"}, 3, {"flipped.npz", "array 'dst'", "damaged"});
}

TEST_F(BadInput, AbsurdSizesInAHeader) {
    refuse_npz(path_graph_with({{"src", NpyBytes{"<i4", "(4000000000000,)", "12345678"}.str()}}),
               {"bad.npz", "array 'src'", "4000000000000"});
    refuse_npz(
        path_graph_with({{"x", NpyBytes{"<f4", "(8589934592, 8589934592)", "12345678"}.str()}}),
        {"bad.npz", "array 'x'", "overflows"});
    refuse_npz(path_graph_with(
                   {{"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({1LL << 45})}.str()}}),
               {"bad.npz", "35184372088832"});
}

TEST_F(BadInput, PickledArrays) {
    refuse_npz(path_graph_with({{"src", NpyBytes{"|O", "(2,)", "\x80\x04K\x01."}.str()}}),
               {"bad.npz", "array 'src'", "pickled"});
}

TEST_F(BadInput, WrongDtype) {
    refuse_npz(path_graph_with({{"src", npy<float>({0, 1})}}),
               {"bad.npz", "array 'src'", "float32"});
    refuse_npz(path_graph_with({{"src", NpyBytes{"<c8", "(2,)", std::string(16, '\0')}.str()}}),
               {"bad.npz", "array 'src'", "'<c8'"});
}

TEST_F(BadInput, WrongShape) {
    refuse_npz(path_graph_with({{"src", npy<Int>({0, 1}, 2)}}),
               {"bad.npz", "array 'src'", "(1, 2)"});
    refuse_npz(path_graph_with({{"x", NpyBytes{"<f4", "(3, 1, 1)", std::string(12, '\0')}.str()}}),
               {"bad.npz", "array 'x'"});
}

TEST_F(BadInput, ArraysThatDisagreeInLength) {
    refuse_npz(path_graph_with({{"dst", npy<Int>({1})}}), {"bad.npz", "array 'dst'", "1 ids"});
    refuse_npz(path_graph_with({{"x", npy<float>({1, 2}, 1)}}), {"bad.npz", "array 'x'", "2 rows"});
    refuse_npz(path_graph_with({{"y", npy<Int>({1, 0})}}), {"bad.npz", "array 'y'", "2 labels"});
}

TEST_F(BadInput, NegativeId) {
    refuse_npz(path_graph_with({{"src", npy<Int>({0, -1})}}),
               {"bad.npz", "array 'src'", "id -1", "position 1"});
    write("a.txt", "0 1\n1 -2\n");
    refuse({"import", "a.txt", "out"}, 3, {"a.txt", "line 2", "column 3"});
}

TEST_F(BadInput, IdOutOfRange) {
    refuse_npz(path_graph_with({{"dst", npy<Int>({1, 3})}}),
               {"bad.npz", "array 'dst'", "id 3", "0..2", "position 1"});
    write("a.txt", "0 1\n1 7\n");
    refuse({"import", "a.txt", "out", "--vertices", "5"}, 3, {"a.txt", "line 2", "column 3", "7"});
}

TEST_F(BadInput, NanAndInfiniteFeatures) {
    const float inf = std::numeric_limits<float>::infinity();
    refuse_npz(path_graph_with({{"x", npy<float>({0, 1, 2, std::nanf(""), 4, 5}, 2)}}),
               {"bad.npz", "array 'x'", "row 1, column 1"});
    refuse_npz(path_graph_with({{"x", npy<float>({0, 1, 2, 3, -inf, 5}, 2)}}),
               {"bad.npz", "array 'x'", "row 2, column 0"});
}

TEST_F(BadInput, LabelOutsideItsRange) {
    refuse_npz(path_graph_with({{"y", npy<Int>({0, 5, 1})}, {"num_classes", npy<Int>({3})}}),
               {"bad.npz", "array 'y', position 1", "label 5", "0..2"});
    refuse_npz(path_graph_with({{"y", npy<Int>({0, 2000000000, 1})}}),
               {"bad.npz", "array 'y', position 1", "label 2000000000"});
}

TEST_F(BadInput, TextThatIsNoNumber) {
    write("edges.txt", "# good\n0 1\n1 two\n");
    refuse({"import", "edges.txt", "out"}, 3, {"edges.txt", "line 3", "column 3", "two"});
    write("table.csv", "src,dst\n0,1\n1,x9\n");
    refuse({"import", "table.csv", "out"}, 3, {"table.csv", "line 3", "column 3"});
    write("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 ?\n");
    refuse({"import", "m.mtx", "out"}, 3, {"m.mtx", "line 4", "column 3"});
    write("g.graph", "3 2\n2\n1 3\nz\n");
    refuse({"import", "g.graph", "out"}, 3, {"g.graph", "line 4", "column 1"});
    write("zipped.txt.gz", gzip("0 1\n1 1.5\n"));
    refuse({"import", "zipped.txt.gz", "out"}, 3, {"zipped.txt.gz", "line 2", "column"});
}

TEST_F(BadInput, NoSuchFile) {
    refuse({"import", "absent.npz", "out"}, 3, {"absent.npz"});
    refuse({"info", "absent"}, 3, {"absent", "not a Rudder dataset (manifest.json missing)"});
    refuse({"partition", "absent", "out", "--parts", "2"}, 3, {"absent"});
    refuse({"export", "absent", "out.npz"}, 3, {"absent"});
}

TEST_F(BadInput, DamagedDataSet) {
    ok({"generate", "sbm", "data", "--vertices", "100"});
    ok({"partition", "data", "parts", "--parts", "2"});
    std::string bytes = bytes_of(folder_ / "data/features.bin");
    bytes[17] = static_cast<char>(bytes[17] ^ 1);
    write("data/features.bin", bytes);
    ok({"info", "data"});
    refuse({"info", "data", "--check"}, 3, {"features.bin", "array 'features'", "checksum"});
    write("data/features.bin", bytes.substr(1));
    refuse({"info", "data"}, 3, {"features.bin", "bytes", "manifest"});
    write("data/manifest.json", "{\n  \"format\": }");
    refuse({"info", "data"}, 3, {"manifest.json", "line 2"});
    std::string part = bytes_of(folder_ / "parts/part-00001/neighbours.bin");
    part[0] = static_cast<char>(part[0] ^ 1);
    write("parts/part-00001/neighbours.bin", part);
    refuse({"info", "parts", "--check"}, 3, {"part-00001/neighbours.bin", "array 'neighbours'"});
}

TEST_F(BadInput, DamagedAssignment) {
    ok({"generate", "grid", "data", "--rows", "2", "--columns", "2"});
    write("parts.txt", "0\n1\nx\n1\n");
    refuse({"partition", "data", "out", "--parts", "2", "--assignment", "parts.txt"}, 3,
           {"parts.txt", "line 3", "column 1"});
    write("parts.txt", "0\n1\n2\n1\n");
    refuse({"partition", "data", "out", "--parts", "2", "--assignment", "parts.txt"}, 3,
           {"parts.txt", "line 3", "2"});
    write("parts.txt", "0\n1\n");
    refuse({"partition", "data", "out", "--parts", "2", "--assignment", "parts.txt"}, 3,
           {"parts.txt", "4"});
}

class WrongUse : public CliTest {};

TEST_F(WrongUse, StandIns) {
    refuse({"generate", "like:arxive", "out"}, 2, {"like:arxive", "like:arxiv, like:reddit"});
    refuse({"generate", "like:arxiv", "out", "--vertices", "50"}, 2, {"--vertices", "--scale"});
    refuse({"generate", "sbm", "out", "--scale", "0.5"}, 2, {"--scale", "like:NAME"});
    refuse({"generate", "like:arxiv", "out", "--scale", "2"}, 2, {"scale"});
    refuse({"generate", "like:reddit", "out", "--scale", "0.0001"}, 2, {"no room", "--scale"});
}

TEST_F(WrongUse, MorePartsThanVertices) {
    ok({"generate", "grid", "data", "--rows", "2", "--columns", "2"});
    refuse({"partition", "data", "out", "--parts", "5"}, 2, {"5", "4"});
    refuse({"partition", "data", "out", "--parts", "0"}, 2, {"--parts"});
    refuse({"partition", "data", "out", "--parts", "-1"}, 2, {"--parts"});
    refuse({"partition", "data", "out", "--parts", "two"}, 2, {"--parts"});
    refuse({"partition", "data", "out"}, 2, {"--parts"});
}

TEST_F(WrongUse, UnknownMethod) {
    ok({"generate", "grid", "data", "--rows", "2", "--columns", "2"});
    refuse({"partition", "data", "out", "--parts", "2", "--method", "metsi"}, 2,
           {"'metsi'", "metis", "ldg", "fennel", "random", "hash"});
    refuse({"partition", "data", "out", "--parts", "2", "--balance", "verts"}, 2,
           {"verts", "vertices"});
    refuse({"partition", "data", "out", "--parts", "2", "--order", "up"}, 2, {"up", "natural"});
    refuse({"partition", "data", "out", "--parts", "2", "--slack", "-1"}, 2, {"--slack"});
}

TEST_F(WrongUse, UnknownVerbOptionAndKind) {
    refuse({"partitoin"}, 2, {"unknown verb 'partitoin'", "did you mean 'partition'?"});
    refuse({"xyzzy"}, 2, {"unknown verb 'xyzzy'", "rudder --help"});
    refuse({"generate", "sbm", "out", "--vertixes", "10"}, 2,
           {"unknown option '--vertixes'", "did you mean '--vertices'?"});
    refuse({"info", "x", "--chekc"}, 2, {"'--chekc'", "'--check'"});
    refuse({"agnet", "list"}, 2, {"unknown verb 'agnet list'", "did you mean 'agent list'?"});
    // By what it means, and with one dash.
    refuse({"train", "--lerning-rate", "1"}, 2,
           {"unknown option '--lerning-rate'", "where: rudder train", "did you mean '--lr'?"});
    refuse({"train", "x", "--lerning-rate=1"}, 2, {"option '--lerning-rate'", "'--lr'?"});
    refuse({"train", "x", "--number-of-epochs", "3"}, 2, {"did you mean '--epochs'?"});
    refuse({"train", "x", "-epochs", "3"}, 2, {"option '-epochs'", "did you mean '--epochs'?"});
    refuse({"train", "x", "--xyzzy"}, 2, {"option '--xyzzy'", "to do: see 'rudder train --help'"});
    refuse({"generate", "sbn", "out"}, 2, {"'sbn'", "rmat, sbm, ba, grid"});
    refuse({"generate"}, 2, {"KIND"});
    refuse({"info"}, 2, {"PATH"});
    refuse({"completion", "csh"}, 2, {"'csh'", "bash, zsh or fish"});
    write("a.txt", "0 1\n");
    refuse({"import", "a.txt", "out", "--format", "edgse"}, 2, {"'edgse'", "edges"});
    refuse({"import", "a.txt", "out", "--feature-type", "int64"}, 2, {"'int64'", "float32"});
    refuse({"import", "a.txt", "out", "--id-bits", "16"}, 2, {"--id-bits"});
    refuse({"import", "a.txt", "out", "--split", "90/20/20"}, 2, {"'90/20/20'", "60/20/20"});
}

TEST_F(WrongUse, NoVerbShowsTheOverview) {
    const Outcome outcome = rudder({}, here());
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.out, HasSubstr("Verbs:"));
}

TEST_F(WrongUse, OutputExistsWithoutForce) {
    ok({"generate", "grid", "data", "--rows", "2", "--columns", "2"});
    write("there/kept", "kept");
    write("a.txt", "0 1\n");
    write("a.npz", "something");
    refuse({"generate", "grid", "there"}, 2, {"there", "--force"});
    refuse({"import", "a.txt", "there"}, 2, {"there", "--force"});
    refuse({"partition", "data", "there", "--parts", "2"}, 2, {"there", "--force"});
    refuse({"export", "data", "a.npz"}, 2, {"a.npz", "--force"});
    refuse({"export", "data", "there", "--force"}, 2, {"there", "folder"});
    EXPECT_EQ(bytes_of(folder_ / "there/kept"), "kept");
    ok({"partition", "data", "there", "--parts", "2", "--force"});
    ok({"info", "there", "--check"});
    ok({"import", "a.txt", "there", "--force"});
    EXPECT_EQ(ok_json({"info", "there", "--check"}).at("kind"), "dataset");
    ok({"export", "data", "a.npz", "--force"});
    EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"data", "there", "a.txt", "a.npz"}));
}

TEST_F(WrongUse, AFailureWithForceKeepsWhatWasThere) {
    ok({"generate", "grid", "data", "--rows", "2", "--columns", "2"});
    const auto before = checksums_of(folder_ / "data");
    write("bad.txt", "0 x\n");
    refuse({"import", "bad.txt", "data", "--force"}, 3, {"bad.txt"});
    ok({"info", "data", "--check"});
    EXPECT_EQ(checksums_of(folder_ / "data"), before);
}

TEST_F(WrongUse, GeneratorOptionsOutOfRange) {
    refuse({"generate", "sbm", "out", "--inside", "2"}, 2, {"--inside"});
    refuse({"generate", "sbm", "out", "--classes", "0"}, 2, {"--classes"});
    refuse({"generate", "sbm", "out", "--skew", "0.5"}, 2, {"--skew"});
    refuse({"generate", "sbm", "out", "--signal", "nan"}, 2, {"--signal"});
    refuse({"generate", "rmat", "out", "--rmat-shares", "0.9,0.9,0.1"}, 2, {"--rmat-shares"});
    refuse({"generate", "rmat", "out", "--rmat-shares", "nan,0.1,0.1"}, 2, {"--rmat-shares"});
    refuse({"generate", "rmat", "out", "--rmat-shares", "1,2"}, 2, {"--rmat-shares"});
    refuse({"generate", "rmat", "out", "--vertices", "0"}, 2, {"--vertices"});
    refuse({"generate", "rmat", "out", "--vertices", "-5"}, 2, {"--vertices"});
    refuse({"generate", "rmat", "out", "--degree", "-1"}, 2, {"--degree"});
    refuse({"generate", "rmat", "out", "--vertices", "18446744073709551615"}, 2, {"--vertices"});
    refuse({"generate", "grid", "out", "--rows", "4294967296", "--columns", "4294967296"}, 2,
           {"--rows"});
    refuse({"generate", "ba", "out", "--vertices", "18446744073709551615"}, 2, {"--vertices"});
    refuse({"generate", "sbm", "out", "--vertices", "18446744073709551615"}, 2, {"--vertices"});
    refuse({"generate", "rmat", "out", "--features", "planted:4"}, 2, {"--features"});
    refuse({"generate", "sbm", "out", "--features", "random:0"}, 2, {"--features"});
    refuse({"generate", "sbm", "out", "--features", "words"}, 2, {"--features"});
    refuse({"generate", "rmat", "out", "--threads", "-1"}, 2, {"--threads"});
}

}  // namespace
}  // namespace rudder::test
