// What programs read: --json prints one value with the agreed keys, and nothing else.
#include "core/json.hpp"

#include <algorithm>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

using testing::IsSupersetOf;

Words keys_of(const Json& object) {
    Words keys;
    for (const auto& [key, value] : object.items())
        keys.push_back(key);
    return keys;
}

const Words dataset_keys{"kind",  "vertices", "edges", "features",   "classes",
                         "train", "valid",    "test",  "self_loops", "duplicates"};

class JsonOutput : public CliTest {};

TEST_F(JsonOutput, OfADataSet) {
    const Json made = ok_json({"generate", "sbm", "data", "--vertices", "300"});
    EXPECT_THAT(keys_of(made), IsSupersetOf(dataset_keys));
    EXPECT_EQ(made.at("kind"), "dataset");
    EXPECT_EQ(made.at("vertices"), 300);
    EXPECT_EQ(made.at("classes"), 10);
    EXPECT_EQ(made.at("features").at("width"), 64);
    EXPECT_EQ(made.at("features").at("type"), "float32");
    EXPECT_EQ(made.at("train"), 180);
    EXPECT_EQ(made.at("valid"), 60);
    EXPECT_EQ(made.at("test"), 60);
    EXPECT_EQ(ok_json({"info", "data"}), made);
    EXPECT_EQ(ok_json({"info", "data", "--check"}).at("checked"), true);
}

TEST_F(JsonOutput, OfAPartition) {
    ok({"generate", "sbm", "data", "--vertices", "300"});
    const Json made = ok_json({"partition", "data", "parts", "--parts", "3"});
    EXPECT_THAT(keys_of(made), IsSupersetOf(dataset_keys));
    EXPECT_THAT(keys_of(made),
                IsSupersetOf(Words{"parts", "cut", "balance", "train_balance", "halo", "method"}));
    EXPECT_EQ(made.at("kind"), "partition");
    EXPECT_EQ(made.at("parts"), 3);
    EXPECT_EQ(made.at("method"), "metis");
    EXPECT_EQ(made.at("halo").size(), 3U);
    const auto cut = made.at("cut").get<double>();
    EXPECT_TRUE(cut > 0 && cut < 1) << cut;
    EXPECT_GE(made.at("balance").get<double>(), 1);
    EXPECT_EQ(ok_json({"info", "parts"}), made);
}

TEST_F(JsonOutput, OfSeveralPathsIsAList) {
    ok({"generate", "grid", "a", "--rows", "2", "--columns", "2"});
    ok({"partition", "a", "b", "--parts", "2"});
    const Json list = ok_json({"info", "a", "b"});
    ASSERT_TRUE(list.is_array());
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].at("kind"), "dataset");
    EXPECT_EQ(list[1].at("kind"), "partition");
}

TEST_F(JsonOutput, OfAnExport) {
    ok({"generate", "grid", "a", "--rows", "2", "--columns", "2"});
    const Json made = ok_json({"export", "a", "a.npz"});
    EXPECT_EQ(made.at("output"), "a.npz");
    EXPECT_EQ(made.at("bytes"), std::filesystem::file_size(folder_ / "a.npz"));
}

TEST_F(JsonOutput, OfTheDoctor) {
    const Json doctor = ok_json({"doctor"});
    EXPECT_THAT(keys_of(doctor),
                IsSupersetOf(Words{"version", "cores", "memory", "instruction_sets", "findings"}));
    EXPECT_THAT(keys_of(doctor.at("parts")),
                testing::ElementsAre("MPI", "METIS", "libcurl", "libmicrohttpd", "LIBLINEAR",
                                     "XGBoost", "Zstandard", "Arrow", "CUDA"));
    EXPECT_GE(doctor.at("cores").get<int>(), 1);
    EXPECT_GT(doctor.at("memory").at("total").get<std::uint64_t>(), 0U);
    Words names;
    for (const Json& finding : doctor.at("findings")) {
        EXPECT_THAT(keys_of(finding), testing::ElementsAre("name", "status", "value", "remedy"));
        const std::string status = finding.at("status");
        EXPECT_THAT((Words{"ok", "warning", "missing"}), testing::Contains(status));
        if (status != "ok") {
            EXPECT_NE(finding.at("remedy"), "") << finding;
        }
        names.push_back(finding.at("name"));
    }
    EXPECT_THAT(names, IsSupersetOf(Words{"build", "processor", "memory", "shared memory", "MPI",
                                          "matrix products", "GPU", "METIS", "parts"}));
    for (const Json& setting : doctor.at("torch_settings"))
        EXPECT_THAT(keys_of(setting), testing::ElementsAre("name", "value", "reason"));
}

/// 6,000 vertices in a line, two columns, the second with one outlier.
class SmallRows : public JsonOutput {
protected:
    void SetUp() override {
        constexpr std::size_t vertices = 6000;
        std::vector<std::int32_t> from;
        std::vector<std::int32_t> to;
        std::vector<float> rows;
        std::vector<std::int64_t> classes;
        for (std::size_t v = 0; v < vertices; ++v) {
            from.push_back(static_cast<std::int32_t>(v));
            to.push_back(static_cast<std::int32_t>((v + 1) % vertices));
            rows.push_back(static_cast<float>(v % 17));
            rows.push_back(v == 4321 ? 1e6F : static_cast<float>(v % 13) / 7);
            classes.push_back(static_cast<std::int64_t>(v % 2));
        }
        write("g.npz",
              zip({{"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({vertices})}.str()},
                   {"src", npy(from)},
                   {"dst", npy(to)},
                   {"x", npy(rows, 2)},
                   {"y", npy(classes)}}));
        ok({"import", "g.npz", "g", "--quiet"});
        ok({"partition", "g", "parts", "--parts", "2", "--method", "random", "--quiet"});
    }
};

TEST_F(SmallRows, TheDoctorNamesTheErrorOfEachPrecision) {
    const Json doctor = ok_json({"doctor", "parts"});
    const Json& all = doctor.at("precisions");
    EXPECT_THAT(keys_of(all), testing::UnorderedElementsAre("bfloat16", "int8", "int4"));
    EXPECT_EQ(all.at("bfloat16").at("row_bytes"), 4);
    EXPECT_EQ(all.at("int8").at("row_bytes"), 2);
    EXPECT_EQ(all.at("int4").at("row_bytes"), 1);
    for (const char* precision : {"int8", "int4"}) {
        const Json& worst = all.at(precision).at("root_mean_square_error");
        EXPECT_EQ(worst.at("column"), 1) << precision;
        EXPECT_GT(worst.at("of_spread").get<double>(), 0.5) << precision;
        EXPECT_EQ(all.at(precision).at("largest_error").at("column"), 1) << precision;
    }
    // 1e6 itself is rounded by 576: 7.4 over all vertices, whose values lie about 0.5 apart.
    EXPECT_NEAR(all.at("bfloat16").at("root_mean_square_error").at("of_spread").get<double>(), 14.3,
                0.5);
    const std::string text = ok({"doctor", "parts"});
    for (const char* word : {"--precision int4", "rows of 1 bytes", "(column 1)"})
        EXPECT_THAT(text, HasSubstr(word));
}

TEST_F(SmallRows, TrainingWarnsOfAnOutlierOnce) {
    const Words train{"train", "parts", "--epochs", "1", "--hidden", "4", "--quiet"};
    const auto with = [&](const char* precision) {
        Words words = train;
        words.insert(words.end(), {"--precision", precision});
        words.erase(std::ranges::find(words, "--quiet"));
        const Outcome outcome = rudder(words, here());
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.err;
    };
    const std::string warned = with("int8");
    const auto first = warned.find("--precision int8 changes column 1 of the features by ");
    ASSERT_NE(first, std::string::npos) << warned;
    EXPECT_EQ(warned.find("changes column", first + 20), std::string::npos) << warned;
    EXPECT_THAT(with("bfloat16"), testing::Not(HasSubstr("changes column")));
}

TEST_F(JsonOutput, OfTheDoctorForPeople) {
    const std::string text = ok({"doctor"});
    for (const char* word : {"what", "state", "processor", "memory", "METIS"})
        EXPECT_THAT(text, HasSubstr(word));
}

TEST_F(JsonOutput, ErrorsStayOnStandardError) {
    const Outcome outcome = rudder({"info", "absent", "--json"}, here());
    EXPECT_EQ(outcome.code, 3);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
}

}  // namespace
}  // namespace rudder::test
