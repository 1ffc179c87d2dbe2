// Archives that are wrong in one way each: all are refused, with the place and a remedy.
#include "io_support.hpp"

namespace rudder::test {
namespace {

using Int = std::int32_t;

/// A good graph of three vertices, to which tests add what is wrong.
std::vector<ZipEntry> good() {
    return {{"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({3})}.str()},
            {"src", npy<Int>({0, 1})},
            {"dst", npy<Int>({1, 2})}};
}

std::vector<ZipEntry> with(ZipEntry extra) {
    auto entries = good();
    for (ZipEntry& entry : entries) {
        if (entry.name == extra.name) {
            entry = std::move(extra);
            return entries;
        }
    }
    entries.push_back(std::move(extra));
    return entries;
}

class NpzRefused : public ImportTest {
protected:
    void refuse_with(ZipEntry extra, std::initializer_list<std::string> words) {
        std::vector<std::string> all(words);
        const std::string array = "array '" + extra.name + "'";
        const auto file = write_npz(with(std::move(extra)));
        refuse(file, words);
        refuse(file, {file.string(), array});
    }
};

TEST_F(NpzRefused, TheGoodOneIsTaken) {
    EXPECT_EQ(import(write_npz(good())).info().edges, 4U);
}

TEST_F(NpzRefused, EveryTruncation) {
    const std::string whole = zip(good());
    for (std::size_t size = 0; size < whole.size(); size += 7) {
        const auto file = write("cut.npz", whole.substr(0, size));
        refuse(graph::ImportOptions{.input = file, .output = {}, .format = "npz"}, {file.string()});
    }
}

TEST_F(NpzRefused, AnyFlippedByteNeverCrashes) {
    const std::string whole = zip(good());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x5a);
        const auto file = write("flipped.npz", bytes);
        graph::ImportOptions options{.input = file, .output = folder_ / "out", .format = "npz"};
        options.force = true;
        const auto error = error_of([&] { graph::import_dataset(options); });
        if (!error) continue;
        EXPECT_EQ(error->kind(), ErrorKind::input) << "byte " << at << error->what();
    }
}

TEST_F(NpzRefused, WrongChecksum) {
    refuse_with({"src", npy<Int>({0, 1}), 12345U}, {"damaged"});
}

TEST_F(NpzRefused, SizeThatDeflateCannotReach) {
    refuse_with({"src", npy<Int>({0, 1}), std::nullopt, 0x7fffffffU, true}, {"cannot be"});
}

TEST_F(NpzRefused, PickledObjects) {
    refuse_with({"src", NpyBytes{"|O", "(2,)", "\x80\x04K\x01."}.str()}, {"pickled"});
}

TEST_F(NpzRefused, AnUnneededPickleIsIgnored) {
    EXPECT_EQ(import(write_npz(with({"meta", NpyBytes{"|O", "(2,)", "xx"}.str()}))).info().edges,
              4U);
}

TEST_F(NpzRefused, BigEndian) {
    refuse_with({"src", NpyBytes{">i4", "(2,)", std::string(8, '\0')}.str()}, {"big-endian"});
}

TEST_F(NpzRefused, StructuredType) {
    NpyBytes bytes{"", "", std::string(8, '\0')};
    bytes.header = "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }";
    refuse_with({"src", bytes.str()}, {"structured"});
}

TEST_F(NpzRefused, ComplexNumbers) {
    refuse_with({"src", NpyBytes{"<c8", "(2,)", std::string(16, '\0')}.str()}, {"'<c8'"});
}

TEST_F(NpzRefused, FloatsForIds) {
    refuse_with({"src", npy<float>({0, 1})}, {"float32 (2)", "whole numbers"});
}

TEST_F(NpzRefused, FortranOrder) {
    NpyBytes bytes{"<f4", "(3, 2)", std::string(24, '\0'), 1, true};
    refuse_with({"x", bytes.str()}, {"Fortran"});
}

TEST_F(NpzRefused, NoArrayAtAll) {
    refuse_with({"src", "hello, this is no array"}, {"not a NumPy array"});
}

TEST_F(NpzRefused, UnknownVersion) {
    refuse_with({"src", NpyBytes{"<i4", "(2,)", std::string(8, '\0'), 4}.str()}, {"version 4.0"});
}

TEST_F(NpzRefused, HeaderLongerThanTheFile) {
    std::string bytes = npy<Int>({0, 1});
    bytes[8] = '\xff';
    bytes[9] = '\xff';
    refuse_with({"src", bytes}, {"header claims 65535"});
}

TEST_F(NpzRefused, HeaderOfGigabytes) {
    std::string bytes = NpyBytes{"<i4", "(2,)", std::string(8, '\0'), 2}.str();
    bytes.replace(8, 4, "\xff\xff\xff\x7f");
    refuse_with({"src", bytes}, {"header claims"});
}

TEST_F(NpzRefused, AbsurdShape) {
    refuse_with({"src", NpyBytes{"<i4", "(4000000000000,)", "12345678"}.str()},
                {"4000000000000", "but there are 8"});
}

TEST_F(NpzRefused, ProductThatOverflows) {
    refuse_with({"src", NpyBytes{"<i4", "(8589934592, 8589934592)", "12345678"}.str()},
                {"overflows"});
}

TEST_F(NpzRefused, TooManyDimensions) {
    refuse_with({"src", NpyBytes{"<i4", "(1,1,1,1,1,1,1,1,1,1)", "1234"}.str()}, {"dimensions"});
}

TEST_F(NpzRefused, GarbledHeaders) {
    for (const char* header :
         {"{", "{}", "no dictionary", "{'descr': '<i4'}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
          "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2,)}",
          "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (2,)}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}",
          "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x",
          "{'descr': '<i4, 'fortran_order': False, 'shape': (2,)}"}) {
        NpyBytes bytes{"", "", std::string(8, '\0')};
        bytes.header = header;
        refuse_with({"src", bytes.str()}, {"header is damaged", "at byte"});
    }
}

TEST_F(NpzRefused, DataShorterOrLongerThanTheShape) {
    refuse_with({"src", NpyBytes{"<i4", "(2,)", std::string(7, '\0')}.str()}, {"but there are 7"});
    refuse_with({"src", NpyBytes{"<i4", "(2,)", std::string(9, '\0')}.str()}, {"but there are 9"});
}

TEST_F(NpzRefused, NegativeId) {
    refuse_with({"src", npy<Int>({0, -1})}, {"id -1", "position 1"});
}

TEST_F(NpzRefused, IdOutOfRange) {
    refuse_with({"dst", npy<std::uint64_t>({1, 3})}, {"id 3", "0..2", "position 1"});
}

TEST_F(NpzRefused, ColumnsOfDifferentLength) {
    refuse_with({"dst", npy<Int>({0})}, {"has 1 ids, 'src' has 2"});
}

TEST_F(NpzRefused, PairWithoutPartner) {
    const auto file = write_npz(with({"dev_src", npy<Int>({0})}));
    refuse(file, {file.string(), "'dev_dst'"});
}

TEST_F(NpzRefused, EdgeIndexOfThreeRows) {
    refuse_with({"edge_index", npy<Int>({0, 1, 2, 0, 1, 2}, 2)}, {"int32 (3, 2)"});
}

TEST_F(NpzRefused, AbsurdNumberOfVertices) {
    for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{1} << 40}) {
        const auto file =
            write_npz(with({"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({count})}.str()}));
        refuse(file, {file.string()});
    }
}

TEST_F(NpzRefused, FeaturesThatAreNotFinite) {
    const float inf = std::numeric_limits<float>::infinity();
    refuse_with({"x", npy<float>({0, 1, 2, std::nanf(""), 4, 5}, 2)}, {"row 1, column 1"});
    refuse_with({"x", npy<double>({0, 1, 2, 3, 4, inf}, 2)}, {"row 2, column 1"});
    refuse_with({"x", npy<double>({0, 1, 2, 1e300, 4, 5}, 2)}, {"row 1, column 1"});
}

TEST_F(NpzRefused, FeaturesOfAnotherLength) {
    refuse_with({"x", npy<float>({0, 1}, 1)}, {"2 rows", "3 vertices"});
}

TEST_F(NpzRefused, LabelsOfAnotherLength) {
    refuse_with({"y", npy<Int>({0, 1})}, {"2 labels", "3 vertices"});
}

TEST_F(NpzRefused, LabelsOutsideTheirRange) {
    refuse_with({"y", npy<Int>({0, 1, 2000000000})}, {"label 2000000000", "position 2"});
    refuse_with({"y", npy<Int>({0, 1, 2, 0, 1, 1}, 2)}, {"neither 0 nor 1", "row 1, column 0"});
    const float nan = std::nanf("");
    refuse_with({"y", npy<float>({0, 1, nan, 0, 1, 1}, 2)}, {"row 1, column 1"});
    auto entries = with({"y", npy<Int>({0, 1, 2})});
    entries.push_back({"num_classes", npy<Int>({2})});
    refuse(write_npz(entries), {"label 2", "0..1", "array 'y', position 2"});
}

TEST_F(NpzRefused, SplitsThatAreWrong) {
    refuse_with({"train", npy<Int>({0, 3})}, {"id 3", "position 1"});
    refuse_with({"val_mask", npy<std::uint8_t>({0, 3, 1})}, {"position 1"});
    refuse_with({"test_mask", npy<std::uint8_t>({0, 1})}, {"uint8 (2) for 3"});
    auto entries = with({"train", npy<Int>({0, 1})});
    entries.push_back({"test", npy<Int>({2, 1})});
    refuse(write_npz(entries), {"vertex 1", "two sets", "array 'test', position 1"});
}

TEST_F(NpzRefused, SparseFeaturesThatAreWrong) {
    const auto sparse = [](std::vector<Int> offsets, std::vector<Int> columns,
                           std::vector<float> values) {
        auto entries = good();
        entries.push_back({"num_feats", npy<Int>({4})});
        entries.push_back({"feat_indptr", npy<Int>(offsets)});
        entries.push_back({"feat_indices", npy<Int>(columns)});
        entries.push_back({"feat_values", npy<float>(values)});
        return entries;
    };
    EXPECT_EQ(import(write_npz(sparse({0, 1, 1, 2}, {3, 0}, {7, 1}))).info().features.type,
              ElementType::u8);
    std::filesystem::remove_all(folder_ / "out");
    refuse(write_npz(sparse({0, 1, 1, 2}, {3, 4}, {7, 1})), {"id 4", "'feat_indices', position 1"});
    refuse(write_npz(sparse({0, 2, 1, 2}, {3, 0}, {7, 1})), {"descend", "position 2"});
    refuse(write_npz(sparse({0, 1, 2}, {3, 0}, {7, 1})), {"3 offsets for 3 rows"});
    refuse(write_npz(sparse({0, 1, 1, 3}, {3, 0}, {7, 1})), {"last offset is 3"});
    refuse(write_npz(sparse({0, 1, 1, 2}, {3, 0}, {7})), {"1 values for 2"});
    refuse(write_npz(sparse({0, 0, 0, 2}, {3, 3}, {7, 1})), {"column 3 twice", "position 1"});
    refuse(write_npz(sparse({0, 1, 1, 2}, {3, 0}, {7, std::nanf("")})), {"row 2, column 0"});
}

TEST_F(NpzRefused, TwoArraysOfOneName) {
    auto entries = good();
    entries.push_back(entries.back());
    refuse(write_npz(entries), {"two arrays", "'dst'"});
}

TEST_F(NpzRefused, NoEdges) {
    const auto file = write_npz({{"y", npy<Int>({0})}});
    refuse(file, {file.string(), "no edges", "it has: y"});
}

TEST_F(NpzRefused, WrongUse) {
    const auto file = write_npz(good());
    refuse(graph::ImportOptions{.input = file, .output = {}, .format = "nzp"},
           {"'nzp'", "npz, edges"}, ErrorKind::usage);
    refuse(folder_ / "absent.npz", {"absent.npz"});
    graph::ImportOptions options{.input = file, .output = folder_ / "there"};
    write("there/file", "kept");
    expect_error([&] { graph::import_dataset(options); }, ErrorKind::usage, {"--force"});
    EXPECT_TRUE(std::filesystem::exists(folder_ / "there/file"));
}

}  // namespace
}  // namespace rudder::test
