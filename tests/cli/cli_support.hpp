// Helpers of the tests of the command line: run the program as a user does, look at what it said
// and at what it left.
#pragma once

#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/file.hpp"

#include "support/npz_bytes.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {

using Words = std::vector<std::string>;
using testing::HasSubstr;

/// The names in a folder, hidden ones included.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return names;
}

/// A run's folder holds a checkpoint: it gets its name when all of its files are written.
inline bool has_checkpoint(const std::filesystem::path& run) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints", none)) {
        if (entry.path().filename().string().starts_with("step-")) return true;
    }
    return false;
}

/// The whole of a file.
inline std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The checksum of every array below a folder, by manifest and name: equal maps are equal arrays.
inline std::map<std::string, std::string> checksums_of(const std::filesystem::path& folder) {
    std::map<std::string, std::string> sums;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().filename() != "manifest.json") continue;
        const Json manifest = read_json(entry.path());
        const auto below = entry.path().parent_path().lexically_relative(folder).string();
        for (const auto& [name, array] : manifest.at("arrays").items())
            sums[below + "/" + name] = array.at("checksum");
    }
    return sums;
}

/// The good graph of three vertices to which tests add what they need.
inline std::vector<ZipEntry> path_graph() {
    return {{"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({3})}.str()},
            {"src", npy<std::int32_t>({0, 1})},
            {"dst", npy<std::int32_t>({1, 2})}};
}

/// The same with arrays replaced or added.
inline std::vector<ZipEntry> path_graph_with(const std::vector<ZipEntry>& extras) {
    auto entries = path_graph();
    for (const ZipEntry& extra : extras) {
        const auto same = [&](const ZipEntry& entry) { return entry.name == extra.name; };
        std::erase_if(entries, same);
        entries.push_back(extra);
    }
    return entries;
}

/// A test that runs rudder in a fresh folder.
class CliTest : public testing::Test {
protected:
    std::filesystem::path write(const std::string& name, const std::string& bytes) {
        const auto file = folder_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << bytes;
        return file;
    }

    [[nodiscard]] RunOptions here() const {
        RunOptions options;
        options.folder = folder_.path();
        return options;
    }

    /// Runs what must work; what it printed on standard output. Standard error stays empty.
    std::string ok(const Words& arguments) {
        const Outcome outcome = rudder(arguments, here());
        EXPECT_EQ(outcome.code, 0) << testing::PrintToString(arguments) << '\n' << outcome.err;
        EXPECT_EQ(outcome.err, "") << testing::PrintToString(arguments);
        return outcome.out;
    }

    /// The same with --json: the one JSON value on standard output.
    Json ok_json(Words arguments) {
        arguments.emplace_back("--json");
        return parse_json(ok(arguments), "standard output");
    }

    /// Runs what must be refused: the code, every word in the message, a remedy, nothing on
    /// standard output, and a folder that is as it was.
    void refuse(const Words& arguments, int code, std::initializer_list<std::string> words) {
        const auto before = names_in(folder_.path());
        const Outcome outcome = rudder(arguments, here());
        EXPECT_EQ(outcome.code, code) << testing::PrintToString(arguments) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, testing::StartsWith("rudder: error: "));
        EXPECT_THAT(outcome.err, HasSubstr("\n  to do: "));
        for (const std::string& word : words)
            EXPECT_THAT(outcome.err, HasSubstr(word));
        EXPECT_EQ(names_in(folder_.path()), before);
    }

    /// Writes an archive, and refuses to import it.
    void refuse_npz(const std::vector<ZipEntry>& entries,
                    std::initializer_list<std::string> words) {
        write("bad.npz", zip(entries));
        refuse({"import", "bad.npz", "out"}, 3, words);
    }

    TempDir folder_;
};

}  // namespace rudder::test
