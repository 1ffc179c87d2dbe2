#include <fstream>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "partition/partition.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"

#include "fixture.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

namespace fs = std::filesystem;

/// A sound partitioned data set to do harm to.
class Corrupt : public testing::Test {
protected:
    void SetUp() override {
        const graph::Dataset data = test::random_dataset(temp_ / "data", 20, {}, 60);
        partition::PartitionOptions options;
        options.parts = 2;
        options.method = "ldg";
        options.cluster_size = 8;
        partition::partition_dataset(data, good_, options, Existing::refuse);
        partition::PartitionedDataset(good_).check();
        restore();
    }

    void restore() {
        fs::remove_all(bad_);
        fs::copy(good_, bad_, fs::copy_options::recursive);
    }

    /// Opening or checking must refuse, naming a place.
    void expect_refused(const std::string& what) {
        try {
            partition::PartitionedDataset(bad_).check();
            ADD_FAILURE() << what;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << what;
            EXPECT_FALSE(error.where().empty()) << what;
        }
        restore();
    }

    static void edit_json(const fs::path& file, const std::function<void(Json&)>& edit) {
        Json json = read_json(file);
        edit(json);
        std::ofstream(file) << json.dump(2);
    }

    void edit_top(const std::function<void(Json&)>& edit) {
        edit_json(bad_ / "manifest.json", edit);
    }

    /// Makes checksums fit again after an array or manifest of a part was changed, so that only
    /// the invariants can tell.
    void sign(PartId part) {
        const fs::path folder = bad_ / partition::part_folder(part);
        edit_json(folder / "manifest.json", [&](Json& json) {
            for (auto& [name, entry] : json["arrays"].items()) {
                const Region bytes = Region::map(folder / entry["file"].get<std::string>());
                entry["checksum"] = to_hex(array_checksum({bytes.data(), bytes.size()}));
            }
        });
        const std::string text = read_text(folder / "manifest.json", 1 << 20);
        edit_top([&](Json& json) {
            json["part_manifests"][part] = to_hex(hash_bytes(std::as_bytes(std::span(text))));
        });
    }

    template <class T>
    void edit_array(PartId part, const std::string& name,
                    const std::function<void(std::vector<T>&)>& edit) {
        const fs::path file = bad_ / partition::part_folder(part) / (name + ".bin");
        std::vector<T> values(fs::file_size(file) / sizeof(T));
        const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(T));
        std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(values.data()), bytes);
        edit(values);
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(values.data()), bytes);
        sign(part);
    }

    test::TempDir temp_;
    fs::path good_ = temp_ / "good";
    fs::path bad_ = temp_ / "bad";
};

TEST_F(Corrupt, MissingOrTruncatedFiles) {
    fs::remove_all(bad_ / partition::part_folder(1));
    expect_refused("part missing");
    fs::remove(bad_ / "manifest.json");
    expect_refused("manifest missing");
    for (const auto& entry : fs::directory_iterator(good_ / partition::part_folder(0))) {
        const fs::path file = bad_ / partition::part_folder(0) / entry.path().filename();
        fs::remove(file);
        expect_refused("removed " + file.string());
        fs::resize_file(file, fs::file_size(file) - 1);
        expect_refused("truncated " + file.string());
    }
    fs::resize_file(bad_ / "manifest.json", 100);
    expect_refused("truncated manifest");
}

TEST_F(Corrupt, PartsAreNotLinks) {
    fs::rename(bad_ / partition::part_folder(1), temp_ / "moved");
    fs::create_directory_symlink(temp_ / "moved", bad_ / partition::part_folder(1));
    expect_refused("a part that lies elsewhere");
    fs::remove_all(temp_ / "moved");
}

TEST_F(Corrupt, SizesThatAPartDoesNotHaveAreFoundAtOnce) {
    for (const auto& edit : std::vector<std::function<void(Json&)>>{
             [](Json& j) { j["targets"]["count"] = 1; },
             [](Json& j) { j["targets"]["count"] = 1ULL << 31; },
             [](Json& j) { j["features"]["width"] = 1'000'000'000; },
             [](Json& j) { j["features"]["type"] = "uint8"; }}) {
        edit_top(edit);
        EXPECT_THROW(partition::PartitionedDataset{bad_}, Error);
        restore();
    }
    // Where the first part is not here, whoever opens another notices.
    edit_top([](Json& j) { j["features"]["width"] = 1'000'000'000; });
    fs::remove_all(bad_ / partition::part_folder(0));
    const partition::PartitionedDataset data(bad_);
    EXPECT_THROW(static_cast<void>(data.part(1)), Error);
}

TEST_F(Corrupt, BoundsAloneKeepReadersInside) {
    using Ids = std::vector<std::uint64_t>;
    const auto refused = [&](const char* what) {
        EXPECT_THROW(partition::PartitionedDataset(bad_).part(0).check_bounds(60), Error) << what;
        restore();
    };
    partition::PartitionedDataset(bad_).part(0).check_bounds(60);
    edit_array<std::uint32_t>(0, "neighbours", [](auto& v) { v[v.size() / 2] = 0xffffffffU; });
    refused("neighbour out of range");
    edit_array<std::uint64_t>(0, "offsets", [](Ids& v) { v[1] = v.back() + 1; });
    refused("offsets beyond");
    edit_array<std::uint64_t>(0, "halo", [](Ids& v) { v.back() = 1U << 20; });
    refused("halo out of range");
    edit_array<std::uint8_t>(0, "split", [](auto& v) { v[0] = 9; });
    refused("no role");
    edit_array<std::int32_t>(0, "labels", [](auto& v) { v[0] = 77; });
    refused("no label");
}

TEST_F(Corrupt, EveryChangedByteIsFound) {
    for (const auto& entry : fs::directory_iterator(good_ / partition::part_folder(1))) {
        const std::uintmax_t size = fs::file_size(entry.path());
        for (const std::uintmax_t at : {std::uintmax_t{0}, size / 2, size - 1}) {
            const fs::path file = bad_ / partition::part_folder(1) / entry.path().filename();
            {
                std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
                stream.seekg(static_cast<std::streamoff>(at));
                const int byte = stream.get();
                stream.seekp(static_cast<std::streamoff>(at));
                stream.put(static_cast<char>(byte ^ 0x11));
            }
            expect_refused(file.string());
        }
    }
}

TEST_F(Corrupt, ManifestsThatLie) {
    const std::vector<std::function<void(Json&)>> edits{
        [](Json& j) { j["vertices"] = j["vertices"].get<int>() + 1; },
        [](Json& j) { j["edges"] = j["edges"].get<int>() + 1; },
        [](Json& j) { j["cut"] = 0.123; },
        [](Json& j) { j["cut"] = "much"; },
        [](Json& j) { j["balance"] = 1.01; },
        [](Json& j) { j["train_balance"] = 3.5; },
        [](Json& j) { j["edge_balance"] = 3.5; },
        [](Json& j) { j["halo"][0] = 0; },
        [](Json& j) { j["halo"][0] = -1; },
        [](Json& j) { j["halo"].erase(0); },
        [](Json& j) { j["parts"] = 3; },
        [](Json& j) { j["parts"] = 0; },
        [](Json& j) { j["parts"] = 1ULL << 40; },
        [](Json& j) { j["book"][1] = j["book"][2]; },
        [](Json& j) { j["book"][1] = j["book"][1].get<int>() + 1; },
        [](Json& j) { j["book"][0] = 1; },
        [](Json& j) { j["book"] = "none"; },
        [](Json& j) { j["part_manifests"][0] = "0123456789abcdef"; },
        [](Json& j) { j["part_manifests"][0] = 5; },
        [](Json& j) { std::swap(j["part_manifests"][0], j["part_manifests"][1]); },
        [](Json& j) { j["split"]["train"] = 0; },
        [](Json& j) { j["features"]["type"] = "uint8"; },
        [](Json& j) { j["features"] = nullptr; },
        [](Json& j) {
            j["targets"]["count"] = 4;
            j["targets"].erase("names");
        },
        [](Json& j) { j["options"]["balance"] = "nothing"; },
        [](Json& j) { j["options"]["order"] = "none"; },
        [](Json& j) { j.erase("options"); },
        [](Json& j) { j.erase("warnings"); },
        [](Json& j) { j["self_loops"] = 1; },
        [](Json& j) { j["version"] = 4; },
        [](Json& j) { j["edge_weight"] = true; },
        [](Json& j) { j["vertex_time"] = 1; },
        [](Json& j) { j["format"] = "rudder dataset"; },
    };
    for (std::size_t i = 0; i < edits.size(); ++i) {
        edit_top(edits[i]);
        expect_refused("edit " + std::to_string(i));
    }
}

TEST_F(Corrupt, ArraysThatBreakAnInvariantWithSoundChecksums) {
    using Ids = std::vector<std::uint64_t>;
    using Locals = std::vector<std::uint32_t>;
    edit_array<std::uint64_t>(0, "offsets", [](Ids& v) { v[1] = v.back() + 1; });
    expect_refused("offsets beyond");
    edit_array<std::uint64_t>(0, "offsets", [](Ids& v) { v[0] = 1; });
    expect_refused("offsets not from 0");
    edit_array<std::uint32_t>(0, "neighbours", [](Locals& v) { v[0] = 0xffffffffU; });
    expect_refused("neighbour out of range");
    edit_array<std::uint32_t>(0, "neighbours", [](Locals& v) { std::ranges::reverse(v); });
    expect_refused("rows descend");
    edit_array<std::uint64_t>(0, "halo", [](Ids& v) { std::swap(v[0], v[1]); });
    expect_refused("halo descends");
    edit_array<std::uint64_t>(0, "halo", [](Ids& v) { v[0] = 0; });
    expect_refused("halo of own vertices");
    edit_array<std::uint64_t>(0, "halo", [](Ids& v) { v.back() = 1U << 20; });
    expect_refused("halo out of range");
    edit_array<std::uint64_t>(0, "original_ids", [](Ids& v) { v[0] = v[1]; });
    expect_refused("no permutation");
    edit_array<std::uint64_t>(0, "original_ids", [](Ids& v) { v[0] = 1U << 20; });
    expect_refused("original id out of range");
    edit_array<std::uint64_t>(0, "clusters", [](Ids& v) { v[1] = v[2]; });
    expect_refused("empty cluster");
    edit_array<std::uint64_t>(0, "clusters", [](Ids& v) { v.back() += 1; });
    expect_refused("clusters beyond");
    edit_array<std::uint8_t>(0, "split", [](std::vector<std::uint8_t>& v) { v[0] = 9; });
    expect_refused("no role");
    edit_array<std::int32_t>(0, "labels", [](std::vector<std::int32_t>& v) { v[0] = 77; });
    expect_refused("no label");
}

}  // namespace
}  // namespace rudder
