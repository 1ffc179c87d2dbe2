// Data sets that lie, or that change while they are read: an error with the file's name, at once.
#include <chrono>
#include <functional>
#include <thread>

#include "rudder/core/checksum.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class DamagedData : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "800", "--seed", "5"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }

    void edit_manifest(const std::string& folder, const std::function<void(Json&)>& edit) {
        Json manifest = read_json(folder_ / folder / "manifest.json");
        edit(manifest);
        write(folder + "/manifest.json", manifest.dump(2));
    }
    /// Makes the partition's checksum of a part's manifest fit again.
    void sign(const std::string& part, std::size_t index) {
        const std::string text = bytes_of(folder_ / part / "manifest.json");
        edit_manifest("parts", [&](Json& top) {
            top["part_manifests"][index] = to_hex(hash_bytes(std::as_bytes(std::span(text))));
        });
    }

    /// Every verb that reads a partition refuses it with 3, naming the manifest, within seconds.
    void expect_refused_everywhere(const std::string& what) {
        const std::vector<Words> verbs{{"train", "parts", "--epochs", "1"},
                                       {"train", "parts", "--epochs", "1", "--trust-data"},
                                       {"train", "parts", "--epochs", "1", "--plan"},
                                       {"info", "parts"},
                                       {"info", "parts", "--check"},
                                       {"doctor", "parts"},
                                       {"evaluate", "run", "--data", "parts"},
                                       {"predict", "run", "out", "--data", "parts"}};
        for (const Words& verb : verbs) {
            RunOptions options = here();
            options.limit = 10s;
            const Outcome outcome = rudder(verb, options);
            EXPECT_EQ(outcome.code, 3) << what << testing::PrintToString(verb) << outcome.err;
            EXPECT_THAT(outcome.err + outcome.out, HasSubstr("parts/manifest.json")) << what;
        }
    }

    /// Trains until the first steps are recorded, does harm, and waits for the end.
    Outcome train_while(const Words& more, const std::function<void()>& harm) {
        RunOptions options = here();
        options.limit = 30s;
        options.after = [&](pid_t) {
            for (int i = 0; i < 5000; ++i) {
                std::error_code none;
                if (fs::file_size(folder_ / "run/metrics.jsonl", none) > 0 && !none) break;
                std::this_thread::sleep_for(2ms);
            }
            harm();
        };
        Words words{"train",        "parts",
                    "--epochs",     "100000",
                    "--batch",      "50",
                    "--out",        "run",
                    "--hidden",     "8",
                    "--eval-every", "0",
                    "--quiet",      "--checkpoint-every",
                    "100000"};
        words.insert(words.end(), more.begin(), more.end());
        return rudder(words, options);
    }
};

TEST_F(DamagedData, SizesInAManifestAreHeldAgainstTheFiles) {
    ok({"train", "parts", "--epochs", "1", "--hidden", "8", "--out", "run", "--quiet"});
    const std::string good = bytes_of(folder_ / "parts/manifest.json");
    const std::vector<std::pair<const char*, std::function<void(Json&)>>> lies{
        {"count 3", [](Json& top) { top["targets"]["count"] = 3; }},
        {"count 2^31", [](Json& top) { top["targets"]["count"] = 1ULL << 31; }},
        {"width 1e9", [](Json& top) { top["features"]["width"] = 1'000'000'000; }},
    };
    for (const auto& [what, lie] : lies) {
        write("parts/manifest.json", good);
        edit_manifest("parts", lie);
        expect_refused_everywhere(what);
    }
}

TEST_F(DamagedData, ManifestsOfPartsThatLieInUnison) {
    for (const auto& [part, index] : {std::pair{"parts/part-00000", 0}, {"parts/part-00001", 1}}) {
        edit_manifest(part, [](Json& own) { own["targets"]["count"] = 1ULL << 31; });
        sign(part, static_cast<std::size_t>(index));
    }
    edit_manifest("parts", [](Json& top) { top["targets"]["count"] = 1ULL << 31; });
    refuse({"train", "parts", "--epochs", "1"}, 3, {"classes are more than", "manifest.json"});
    edit_manifest("graph", [](Json& all) { all["targets"]["count"] = 1ULL << 31; });
    refuse({"info", "graph"}, 3, {"classes are more than", "graph/manifest.json"});
}

TEST_F(DamagedData, AFileCutShortWhileItIsReadIsNamed) {
    const auto cut = [&] { fs::resize_file(folder_ / "parts/part-00001/features.bin", 0); };
    const Outcome outcome = train_while({}, cut);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("cut short"));
    EXPECT_THAT(outcome.err, HasSubstr("where: parts/part-00001/features.bin"));
    const Json card = read_json(folder_ / "run/run.json");
    EXPECT_EQ(card.at("state"), "failed");
    EXPECT_THAT(card.dump(), HasSubstr("part-00001/features.bin"));
}

TEST_F(DamagedData, AFileCutShortWhileTwoRanksReadIsNamed) {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    const auto cut = [&] { fs::resize_file(folder_ / "parts/part-00001/features.bin", 0); };
    const Outcome outcome = train_while({"--ranks", "2"}, cut);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("cut short"));
    EXPECT_THAT(outcome.err, HasSubstr("parts/part-00001/features.bin"));
}

TEST_F(DamagedData, TrustedPartsAreReadInsideTheirArrays) {
    const fs::path part = folder_ / "parts/part-00000";
    const auto spoil = [&](const char* name, std::size_t at, std::string_view bytes) {
        std::fstream file(part / name, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(at));
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    };
    const std::string high(4, '\xff');
    const std::string wide = std::string(7, '\xff') + '\x7f';
    const std::vector<std::tuple<const char*, std::size_t, std::string>> harms{
        {"neighbours.bin", 400, high},
        {"offsets.bin", 80, wide},
        {"halo.bin", 0, wide},
        {"original_ids.bin", 8, wide},
        {"labels.bin", 40, std::string(3, '\xff') + '\x7f'},
        {"split.bin", 3, "\x09"},
    };
    for (const auto& [name, at, bytes] : harms) {
        const std::string good = bytes_of(part / name);
        spoil(name, at, bytes);
        for (const char* topology : {"replicated", "partitioned"}) {
            const Outcome outcome = rudder({"train", "parts", "--epochs", "1", "--hidden", "8",
                                            "--trust-data", "--topology", topology},
                                           here());
            EXPECT_EQ(outcome.code, 3) << name << outcome.err;
            EXPECT_EQ(outcome.signal, 0) << name;
            EXPECT_THAT(outcome.err, HasSubstr("part-00000")) << name;
        }
        write(std::string("parts/part-00000/") + name, good);
    }
}

}  // namespace
}  // namespace rudder::test
