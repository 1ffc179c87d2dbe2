// rudder export of a run: its steps, epochs and decisions as CSV.
#include "rudder/core/text.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class ExportRun : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "300", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
        ok({"train",    "parts", "--ranks",  "2",      "--ranks-per-host", "1",
            "--epochs", "2",     "--batch",  "10",     "--hidden",         "4",
            "--fanout", "3,3",   "--policy", "scored", "--agent",          "every:2",
            "--out",    "run",   "--quiet"});
    }
    [[nodiscard]] std::size_t lines_of(const std::string& name) const {
        const std::string text = bytes_of(folder_ / name);
        return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }
};

TEST_F(ExportRun, WritesTheThreeTables) {
    for (const auto& [table, from] : {std::pair<std::string, std::string>("steps", "metrics"),
                                      {"epochs", "epochs"},
                                      {"decisions", "decisions"}}) {
        const std::string out = table + ".csv";
        const Json said = ok_json({"export", "run", out, "--table", table});
        EXPECT_EQ(said.at("output"), out);
        EXPECT_EQ(said.at("table"), table);
        EXPECT_EQ(said.at("lines"), lines_of("run/" + from + ".jsonl"));
        EXPECT_EQ(said.at("left_out"), 0);
        EXPECT_EQ(lines_of(out), said.at("lines").get<std::size_t>() + 1) << "names first";
    }
    ok({"export", "run", "default.csv", "--quiet"});
    EXPECT_EQ(bytes_of(folder_ / "default.csv"), bytes_of(folder_ / "steps.csv"));
    // The rows of all steps add up to those of the run.
    const std::string text = bytes_of(folder_ / "steps.csv");
    const auto lines = split(text, '\n');
    const auto names = split(lines[0], ',');
    const auto column = std::ranges::find(names, "rows.demand") - names.begin();
    std::uint64_t demand = 0;
    for (std::size_t i = 1; i + 1 < lines.size(); ++i)
        demand += parse_u64(split(lines[i], ',')[static_cast<std::size_t>(column)]).value_or(0);
    EXPECT_EQ(demand, read_json(folder_ / "run/summary.json").at("rows").at("demand"));
}

TEST_F(ExportRun, RefusesWhatIsNotThereAndWhatIs) {
    refuse({"export", "run", "x.csv", "--table", "rows"}, 2, {"table", "steps, epochs, decisions"});
    refuse({"export", "graph", "x.npz", "--table", "steps"}, 2, {"table of a data set", "--table"});
    ok({"export", "run", "x.csv"});
    refuse({"export", "run", "x.csv"}, 2, {"x.csv", "--force"});
    ok({"export", "run", "x.csv", "--force"});
    std::filesystem::remove(folder_ / "run/decisions.jsonl");
    refuse({"export", "run", "y.csv", "--table", "decisions"}, 3, {"no decisions.jsonl"});
}

}  // namespace
}  // namespace rudder::test
