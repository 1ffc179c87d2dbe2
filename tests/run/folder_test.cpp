// The folder of a run: made, refused, locked, gone on with, finished.
#include <set>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "report/run/read_parts.hpp"
#include "run/run_folder.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::run {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;
using test::refusal_of;
using test::TempDir;

Names names_below(const fs::path& folder) {
    Names names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return names;
}

std::string text_at(const fs::path& file) {
    return read_text(file, 1U << 20U);
}

bool is_locked(const fs::path& folder) {
    return report::is_being_written(folder / "metrics.jsonl");
}

TEST(Folder, IsMadeWithItsOptionsAndLockedWhileItLives) {
    const TempDir place;
    {
        const RunFolder run(place / "run", Existing::refuse, "seed = 7\n");
        EXPECT_EQ(run.path(), place / "run");
        EXPECT_TRUE(is_locked(place / "run"));
        EXPECT_FALSE(RunFolder::finished(place / "run"));
    }
    EXPECT_FALSE(is_locked(place / "run"));
    EXPECT_EQ(names_below(place / "run"), (Names{"config.toml", "metrics.jsonl"}));
    EXPECT_EQ(text_at(place / "run" / "config.toml"), "seed = 7\n");
    EXPECT_EQ(fs::file_size(place / "run" / "metrics.jsonl"), 0U);
    EXPECT_EQ(names_below(place.path()), Names{"run"}) << "nothing hidden stays beside it";
}

TEST(Folder, ThatExistsIsRefusedUntouched) {
    const TempDir place;
    fs::create_directories(place / "run");
    write_text(place / "run" / "thesis.txt", "years of work");
    const auto make = [&] { RunFolder(place / "run", Existing::refuse, "new"); };
    const auto look = [&] { RunFolder::check(place / "run", Existing::refuse); };
    for (const auto& refusal : {refusal_of(make), refusal_of(look)}) {
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.where, (place / "run").string());
        EXPECT_THAT(refusal.remedy, testing::HasSubstr("--force"));
    }
    EXPECT_EQ(names_below(place / "run"), Names{"thesis.txt"});
    EXPECT_EQ(names_below(place.path()), Names{"run"});
}

TEST(Folder, CheckTakesWhateverStandsThereForAnOutput) {
    const TempDir place;
    RunFolder::check(place / "nothing", Existing::refuse);
    RunFolder::check(place / "no/such/parent", Existing::refuse);
    EXPECT_TRUE(place.empty()) << "it only looks";
    write_text(place / "file", "x");
    fs::create_symlink(place / "gone", place / "dangling");
    for (const char* name : {"file", "dangling"}) {
        const auto look = [&] { RunFolder::check(place / name, Existing::refuse); };
        EXPECT_EQ(refusal_of(look).problem, "the output exists already") << name;
        RunFolder::check(place / name, Existing::replace);
    }
}

TEST(Folder, ThatMayBeReplacedKeepsNothing) {
    const TempDir place;
    {
        RunFolder old(place / "run", Existing::refuse, "old");
        old.finish(Json{{"steps", 1}});
        write_text(place / "run" / "decisions.jsonl", "{\"step\":0}\n");
    }
    const RunFolder run(place / "run", Existing::replace, "new");
    EXPECT_EQ(names_below(place / "run"), (Names{"config.toml", "metrics.jsonl"}));
    EXPECT_EQ(text_at(place / "run" / "config.toml"), "new");
    EXPECT_TRUE(is_locked(place / "run"));
}

TEST(Folder, IsFinishedOnceItHasASummary) {
    const TempDir place;
    RunFolder run(place / "run", Existing::refuse, "");
    EXPECT_EQ(RunFolder::finished(place / "run"), std::nullopt);
    EXPECT_EQ(RunFolder::finished(place / "elsewhere"), std::nullopt);
    run.finish(Json{{"schema", 1}, {"loss", {{"last", 0.25}}}});
    const auto text = RunFolder::finished(place / "run");
    ASSERT_TRUE(text);
    EXPECT_EQ(parse_json(*text, "summary").at("loss").at("last"), 0.25);
    EXPECT_TRUE(text->ends_with("}\n"));
    EXPECT_LT(text->find("schema"), text->find("loss")) << "keys keep their order";
    EXPECT_EQ(names_below(place / "run"), (Names{"config.toml", "metrics.jsonl", "summary.json"}));
}

TEST(Folder, GoesOnAfterSomeSteps) {
    const TempDir place;
    {
        RunFolder run(place / "run", Existing::refuse, "epochs = 1\n");
        run.finish(Json::object());
    }
    write_text(place / "run" / "metrics.jsonl", "{\"step\":0}\n{\"step\":9}\n");
    write_text(place / "run" / "decisions.jsonl", "{\"step\":2}\n{\"step\":3}\n{\"step\":4}\n");
    const RunFolder run = RunFolder::reopen(place / "run", "epochs = 2\n", 3);
    EXPECT_EQ(run.path(), place / "run");
    EXPECT_TRUE(is_locked(place / "run"));
    EXPECT_FALSE(RunFolder::finished(place / "run")) << "it is running again";
    EXPECT_EQ(text_at(place / "run" / "config.toml"), "epochs = 2\n");
    EXPECT_EQ(text_at(place / "run" / "decisions.jsonl"), "{\"step\":2}\n");
    EXPECT_EQ(text_at(place / "run" / "metrics.jsonl"), "{\"step\":0}\n{\"step\":9}\n")
        << "its sink cuts it, by bytes";
}

TEST(Folder, ThatWasRemovedIsMadeAgain) {
    const TempDir place;
    const RunFolder run = RunFolder::reopen(place / "a/run", "x = 1\n", 5);
    EXPECT_EQ(names_below(place / "a/run"), (Names{"config.toml", "metrics.jsonl"}));
}

TEST(Folder, WritesNothingThroughLinksThatLeadOut) {
    const TempDir place;
    for (const char* name : {"metrics.jsonl", "decisions.jsonl", "epochs.jsonl"}) {
        std::filesystem::remove_all(place / "run");
        std::filesystem::create_directory(place / "run");
        write_text(place / "precious", "gold");
        std::filesystem::create_symlink("../precious", place / "run" / name);
        const auto refusal =
            refusal_of([&] { static_cast<void>(RunFolder::reopen(place / "run", "second", 0)); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_EQ(refusal.problem, "a symbolic link leads out of the folder");
        EXPECT_EQ(refusal.where, (place / "run" / name).string());
        EXPECT_EQ(text_at(place / "precious"), "gold");
        EXPECT_EQ(names_below(place / "run"), Names{name}) << "nothing was touched";
    }
}

TEST(Folder, HasOneWriterAtATime) {
    const TempDir place;
    {
        RunFolder first(place / "run", Existing::refuse, "first");
        first.finish(Json::object());
        const auto again = [&] {
            static_cast<void>(RunFolder::reopen(place / "run", "second", 0));
        };
        const auto refusal = refusal_of(again);
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.problem, "another process is writing this run");
        EXPECT_THAT(refusal.remedy, testing::HasSubstr("--out"));
        EXPECT_EQ(text_at(place / "run" / "config.toml"), "first");
        EXPECT_TRUE(RunFolder::finished(place / "run")) << "nothing was touched";
    }
    const RunFolder second = RunFolder::reopen(place / "run", "second", 0);
    EXPECT_EQ(text_at(place / "run" / "config.toml"), "second");
}

}  // namespace
}  // namespace rudder::run
