// Helpers of the tests of readers: write a file, import it, catch what it says.
#pragma once

#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/io/import.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "support/npz_bytes.hpp"
#include "support/random_graph.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {

/// What a call throws, if it throws an Error.
template <class F>
[[nodiscard]] std::optional<Error> error_of(F&& f) {
    try {
        f();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

/// Expects an Error of a kind whose text holds every one of some words, and which has a remedy.
template <class F>
void expect_error(F&& f, ErrorKind kind, std::initializer_list<std::string> words) {
    const auto error = error_of(std::forward<F>(f));
    ASSERT_TRUE(error.has_value()) << "nothing was thrown";
    EXPECT_EQ(error->kind(), kind) << error->what();
    EXPECT_FALSE(error->remedy().empty()) << error->what();
    for (const std::string& word : words)
        EXPECT_THAT(error->what(), testing::HasSubstr(word));
}

/// A fresh folder in which files are written and imported.
class ImportTest : public testing::Test {
protected:
    std::filesystem::path write(const std::string& name, const std::string& bytes) {
        const auto file = folder_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << bytes;  // unlike ours, without a flush to disk
        return file;
    }
    std::filesystem::path write_npz(const std::vector<ZipEntry>& entries) {
        return write("graph.npz", zip(entries));
    }
    /// Imports, checks every invariant of the result, and opens it.
    graph::Dataset import(graph::ImportOptions options) {
        options.output = folder_ / "out";
        options.force = true;
        graph::import_dataset(options);
        graph::Dataset data(options.output);
        data.check();
        return data;
    }
    graph::Dataset import(const std::filesystem::path& file) {
        return import(graph::ImportOptions{.input = file, .output = {}});
    }
    /// Imports what must be refused, and expects that nothing is left behind.
    void refuse(graph::ImportOptions options, std::initializer_list<std::string> words,
                ErrorKind kind = ErrorKind::input) {
        options.output = folder_ / "out";
        expect_error([&] { graph::import_dataset(options); }, kind, words);
        EXPECT_FALSE(std::filesystem::exists(options.output));
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
            EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
    }
    void refuse(const std::filesystem::path& file, std::initializer_list<std::string> words,
                ErrorKind kind = ErrorKind::input) {
        refuse(graph::ImportOptions{.input = file, .output = {}}, words, kind);
    }

    TempDir folder_;
};

}  // namespace rudder::test
