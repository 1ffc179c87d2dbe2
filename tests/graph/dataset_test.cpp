// The folder of arrays and the data set in it: what is damaged is noticed.
#include "core/json.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

class DatasetFolder : public ImportTest {
protected:
    void SetUp() override {
        import(write_npz({{"src", npy<std::int32_t>({0, 1, 2})},
                          {"dst", npy<std::int32_t>({1, 2, 3})},
                          {"x", npy<float>({1, 2, 3, 4}, 1)},
                          { "y",
                            npy<std::int32_t>({0, 1, 0, -1}) }}));
        out_ = folder_ / "out";
    }
    /// Opens and checks; expects an input Error with some words.
    void expect_bad(std::initializer_list<std::string> words) {
        expect_error([&] { graph::Dataset(out_).check(); }, ErrorKind::input, words);
    }
    /// Replaces bytes of an array and, so that the values themselves are looked at, its checksum.
    void replace(const std::string& array, std::size_t at, const std::string& bytes) {
        const auto file = out_ / (array + ".bin");
        std::string content = read_text(file, 1 << 20);
        content.replace(at, bytes.size(), bytes);
        write_text(file, content);
        edit([&](Json& manifest) {
            manifest["arrays"][array]["checksum"] =
                to_hex(array_checksum(std::as_bytes(std::span(content))));
        });
    }
    void edit(const std::function<void(Json&)>& change) {
        Json manifest = read_json(out_ / "manifest.json");
        change(manifest);
        write_text(out_ / "manifest.json", manifest.dump());
    }
    std::filesystem::path out_;
};

TEST_F(DatasetFolder, OpensAndHolds) {
    const graph::Dataset data(out_);
    data.check();
    EXPECT_EQ(data.info().edges, 6U);
    EXPECT_TRUE(graph::ArrayFolder::is(out_, graph::dataset_format));
    EXPECT_FALSE(graph::ArrayFolder::is(folder_.path(), graph::dataset_format));
}

TEST_F(DatasetFolder, NoticesAFlippedBit) {
    for (const char* array : {"offsets", "neighbours", "features", "labels", "split"}) {
        const auto file = out_ / (std::string(array) + ".bin");
        const std::string good = read_text(file, 1 << 20);
        std::string bad = good;
        // The first and the last offset are looked at when the folder is opened.
        bad[array == std::string("offsets") ? 8 : 0] ^= 1;
        write_text(file, bad);
        expect_bad({"checksum", array});
        write_text(file, good);
    }
}

TEST_F(DatasetFolder, NoticesMissingTruncatedOrForeignFiles) {
    std::filesystem::resize_file(out_ / "features.bin", 15);
    expect_bad({"features", "15 bytes", "16"});
    std::filesystem::remove(out_ / "features.bin");
    expect_bad({"features", "missing"});
    std::filesystem::remove(out_ / "manifest.json");
    expect_bad({"manifest.json"});
}

TEST_F(DatasetFolder, LinksLeadNowhereOutside) {
    namespace fs = std::filesystem;
    const fs::path features = out_ / "features.bin";
    fs::rename(features, out_ / "elsewhere.bin");
    fs::create_symlink("elsewhere.bin", features);
    graph::Dataset(out_).check();  // stays inside
    fs::create_directory_symlink(out_, folder_ / "alias");
    graph::Dataset(folder_ / "alias").check();  // the folder as a whole may be anywhere
    fs::copy_file(out_ / "elsewhere.bin", folder_ / "outside.bin");
    for (const fs::path& target :
         {fs::path("../outside.bin"), fs::absolute(folder_ / "outside.bin"), fs::path("gone"),
          fs::path("../alias/../outside.bin"), fs::path("features.bin")}) {
        fs::remove(features);
        fs::create_symlink(target, features);
        expect_bad({"symbolic link leads out", "features.bin"});
    }
    fs::remove(features);
    fs::rename(out_ / "elsewhere.bin", features);
    fs::rename(out_ / "manifest.json", folder_ / "manifest.json");
    fs::create_symlink("../manifest.json", out_ / "manifest.json");
    expect_bad({"symbolic link leads out", "manifest.json"});
}

TEST_F(DatasetFolder, NoPathLeavesTheFolder) {
    const Json good = read_json(out_ / "manifest.json");
    for (const char* name : {"../features.bin", "/etc/passwd", "..", "a/../features.bin", ""}) {
        edit([&](Json& m) { m["arrays"]["features"]["file"] = name; });
        expect_bad({"invalid file name"});
        write_text(out_ / "manifest.json", good.dump());
    }
}

TEST_F(DatasetFolder, NoticesBrokenInvariants) {
    const auto number = [](auto value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    replace("neighbours", 0, number(std::uint32_t{9}));
    expect_bad({"neighbours", "id 9", "position 0"});
    replace("neighbours", 0, number(std::uint32_t{2}));
    expect_bad({"symmetric"});
    replace("neighbours", 0, number(std::uint32_t{1}));
    replace("features", 4, number(std::nanf("")));
    expect_bad({"features", "row 1"});
    replace("features", 4, number(1.0F));
    replace("labels", 0, number(std::int32_t{5}));
    expect_bad({"label 5", "position 0"});
    replace("labels", 0, number(std::int32_t{0}));
    replace("split", 0, "\x07");
    expect_bad({"invalid role: 7"});
}

TEST_F(DatasetFolder, NoticesAManifestThatLies) {
    const Json good = read_json(out_ / "manifest.json");
    const auto bad = [&](const std::function<void(Json&)>& change,
                         std::initializer_list<std::string> words) {
        edit(change);
        expect_bad(words);
        write_text(out_ / "manifest.json", good.dump());
    };
    bad([](Json& m) { m["format"] = "other"; }, {"'other'"});
    bad([](Json& m) { m["version"] = 99; }, {"99"});
    bad([](Json& m) { m["vertices"] = 5; }, {"offsets"});
    bad([](Json& m) { m["vertices"] = -1; }, {"vertices"});
    bad([](Json& m) { m["vertices"] = ~std::uint64_t{0}; }, {"overflows"});
    bad([](Json& m) { m["edges"] = 4; }, {"neighbours"});
    bad([](Json& m) { m["split"]["train"] = 4; }, {"split"});
    bad([](Json& m) { m["features"]["type"] = "int64"; }, {"int64"});
    bad([](Json& m) { m["features"]["type"] = "uint8"; }, {"type"});
    bad([](Json& m) { m["targets"]["kind"] = "x"; }, {"'x'"});
    bad([](Json& m) { m["targets"]["labelled"] = 4; }, {"labelled"});
    bad([](Json& m) { m["arrays"]["labels"]["file"] = "../x"; }, {"../x"});
    bad([](Json& m) { m["arrays"]["labels"]["shape"] = Json::array({"a"}); }, {"shape"});
    bad([](Json& m) { m["arrays"]["labels"]["shape"] = Json::array({~std::uint64_t{0}}); },
        {"overflows"});
    bad([](Json& m) { m["arrays"].erase("labels"); }, {"'labels'", "missing"});
    bad([](Json& m) { m["arrays"]["labels"]["type"] = "complex"; }, {"complex"});
    bad([](Json& m) { m["arrays"]["labels"]["checksum"] = "zz"; }, {"labels"});
    bad([](Json& m) { m["arrays"] = 3; }, {"manifest.json", "object"});
    bad([](Json& m) { m["self_loops"] = 1; }, {"self loops"});
}

}  // namespace
}  // namespace rudder::test
