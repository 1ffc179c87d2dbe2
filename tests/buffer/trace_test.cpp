// Traces: what is written is read, what is cut or wrong is refused.
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "buffer/trace_writer.hpp"
#include "rudder/buffer/replay.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "random_trace.hpp"
#include "support/npz_bytes.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Traces : public testing::Test {
protected:
    static buffer::TraceHeader header_of(const PlainTrace& plain, std::uint64_t host,
                                         std::uint64_t hosts) {
        buffer::TraceHeader header;
        header.host = host;
        header.hosts = hosts;
        header.vertices = plain.vertices;
        header.steps_per_epoch = 10;
        header.graph = "0123456789abcdef";
        header.precision = "float32";
        header.row_bytes = 400;
        header.policy = "window:16";
        header.seed = 3;
        return header;
    }

    fs::path write(const PlainTrace& plain, const buffer::TraceHeader& header) {
        buffer::TraceWriter writer(folder_ / "trace", header, plain.halo, plain.degree,
                                   plain.inclusion);
        for (std::size_t s = 0; s < plain.steps.size(); ++s)
            writer.step(plain.steps[s], plain.listed[s] != 0);
        writer.finish();
        return folder_ / "trace";
    }

    void refuse(const fs::path& path, std::initializer_list<const char*> words) {
        try {
            static_cast<void>(buffer::read_trace(path));
            FAIL() << path << " was read";
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 3);
            for (const char* word : words)
                EXPECT_THAT(error.what(), HasSubstr(word));
        }
    }

    /// A good archive of two steps over five vertices, with some arrays replaced.
    fs::path npz(const std::vector<ZipEntry>& replaced) {
        std::vector<ZipEntry> entries{
            {"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({5})}.str()},
            {"steps_per_epoch", NpyBytes{"<i8", "()", raw<std::int64_t>({2})}.str()},
            {"halo_id", npy<std::int32_t>({1, 3})},
            {"halo_degree", npy<std::int32_t>({7, 2})},
            {"offset", npy<std::int64_t>({0, 2, 5})},
            {"id", npy<std::int32_t>({3, 1, 1, 4, 3})},
            {"decision", npy<std::uint8_t>({0, 1})}};
        for (const ZipEntry& entry : replaced) {
            std::erase_if(entries, [&](const ZipEntry& e) { return e.name == entry.name; });
            entries.push_back(entry);
        }
        const fs::path file = folder_ / "trace.npz";
        std::ofstream(file, std::ios::binary) << zip(entries);
        return file;
    }

    TempDir folder_;
};

TEST_F(Traces, LongArchivesAreUnpackedIntoFilesOfOurOwn) {
    // Another user of the machine has guessed our names in the folder for temporary files.
    const fs::path shared = folder_ / "temporary";
    fs::create_directory(shared);
    write_text(folder_ / "precious", "gold");
    for (int i = 0; i < 20; ++i)
        fs::create_symlink(
            folder_ / "precious",
            shared / ("rudder-trace-" + std::to_string(::getpid()) + "-" + std::to_string(i)));
    ::setenv("TMPDIR", shared.c_str(), 1);
    constexpr std::int32_t vertices = 600'000;
    std::vector<std::int32_t> ids;
    for (int step = 0; step < 2; ++step) {
        for (std::int32_t v = 0; v < vertices; ++v)
            ids.push_back(v);
    }
    const buffer::Trace trace = buffer::read_trace(
        npz({{"num_nodes", NpyBytes{"<i8", "()", raw<std::int64_t>({vertices})}.str()},
             {"offset", npy<std::int64_t>({0, vertices, 2 * vertices})},
             {"id", npy(ids)}}));
    ::unsetenv("TMPDIR");
    EXPECT_EQ(trace.front()->steps(), 2U);
    EXPECT_EQ(read_text(folder_ / "precious", 100), "gold");
    for (const auto& entry : fs::directory_iterator(shared))
        EXPECT_TRUE(entry.is_symlink()) << entry.path() << " was left";
}

TEST_F(Traces, LinksLeadNowhereOutside) {
    const PlainTrace plain = random_trace(5);
    const fs::path trace = write(plain, header_of(plain, 0, 1));
    fs::path ids;
    for (const auto& entry : fs::recursive_directory_iterator(trace))
        if (entry.path().filename() == "ids.bin") ids = entry.path();
    ASSERT_FALSE(ids.empty());
    fs::rename(ids, ids.parent_path() / "aside");
    fs::create_symlink("aside", ids);
    EXPECT_EQ(buffer::read_trace(trace).size(), 1U) << "stays inside";
    fs::rename(ids.parent_path() / "aside", folder_ / "outside");
    for (const fs::path& target : {fs::path(folder_ / "outside"), fs::path("gone")}) {
        fs::remove(ids);
        fs::create_symlink(target, ids);
        const Refusal refusal = refusal_of([&] { static_cast<void>(buffer::read_trace(trace)); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_EQ(refusal.problem, "a symbolic link leads out of the folder");
        EXPECT_EQ(refusal.where, ids.string());
    }
}

TEST_F(Traces, WhatIsWrittenIsRead) {
    const PlainTrace plain = random_trace(5);
    const auto expected = plain.host();
    const buffer::Trace trace = buffer::read_trace(write(plain, header_of(plain, 0, 1)));
    ASSERT_EQ(trace.size(), 1U);
    const buffer::HostTrace& host = *trace[0];
    EXPECT_EQ(host.header().graph, "0123456789abcdef");
    EXPECT_EQ(host.header().row_bytes, 400U);
    EXPECT_EQ(host.header().steps_per_epoch, 10U);
    ASSERT_EQ(host.steps(), plain.steps.size());
    std::vector<buffer::RowKey> rows;
    for (std::size_t s = 0; s < plain.steps.size(); ++s) {
        host.step(s, rows);
        ASSERT_EQ(rows.size(), plain.steps[s].size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            EXPECT_EQ(host.vertex(rows[i]), plain.steps[s][i]);
    }
    for (const char* text : {"scored-faithful,listed", "static-vip", "periodic", "optimal"}) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        EXPECT_EQ(buffer::replay_host(host, spec, 9), buffer::replay_host(*expected, spec, 9))
            << text;
    }
    // A run folder will do, too.
    EXPECT_EQ(buffer::read_trace(folder_.path()).size(), 1U);
}

TEST_F(Traces, CutAnywhereAndGoneOnWith) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const PlainTrace plain = random_trace(seed);
        const buffer::TraceHeader header = header_of(plain, 0, 1);
        const auto files = [&] {
            std::vector<std::string> found;
            for (const char* name : {"manifest.json", "offsets.bin", "ids.bin", "decision.bin"})
                found.push_back(read_text(folder_ / "trace/host-00000" / name, 1U << 30));
            return found;
        };
        write(plain, header);
        const auto expected = files();
        // Two writers that are given up, at steps that depend on the seed, and one that finishes.
        const std::uint64_t steps = plain.steps.size();
        const std::uint64_t put_down = 1 + seed % steps;
        const std::uint64_t ends[]{put_down + (steps - put_down) / 2, put_down, steps};
        std::uint64_t begin = 0;
        for (const std::uint64_t end : ends) {
            buffer::TraceWriter writer(folder_ / "trace", header, plain.halo, plain.degree,
                                       plain.inclusion, begin);
            for (std::uint64_t s = begin; s < std::max(end, begin); ++s)
                writer.step(plain.steps[s], plain.listed[s] != 0);
            std::uint64_t shown = 0;
            writer.show_steps([&](std::span<const VertexId> ids) {
                EXPECT_TRUE(std::ranges::equal(ids, plain.steps[shown++]));
            });
            EXPECT_EQ(shown, std::max(end, begin));
            begin = put_down;
            if (end == steps) writer.finish();
        }
        EXPECT_EQ(files(), expected);
        // What was finished can be cut, too.
        buffer::TraceWriter writer(folder_ / "trace", header, plain.halo, plain.degree,
                                   plain.inclusion, put_down);
        for (std::uint64_t s = put_down; s < steps; ++s)
            writer.step(plain.steps[s], plain.listed[s] != 0);
        writer.finish(put_down);
        EXPECT_EQ(buffer::read_trace(folder_ / "trace")[0]->steps(), put_down);
    }
}

TEST_F(Traces, WideIdsAreKept) {
    PlainTrace plain;
    plain.vertices = VertexId{1} << 40;
    plain.halo = {5, VertexId{1} << 39};
    plain.steps = {{VertexId{1} << 39, (VertexId{1} << 40) - 1}, {5}};
    plain.listed = {0, 0};
    const buffer::Trace trace = buffer::read_trace(write(plain, header_of(plain, 0, 1)));
    std::vector<buffer::RowKey> rows;
    trace[0]->step(0, rows);
    EXPECT_EQ(trace[0]->vertex(rows[1]), (VertexId{1} << 40) - 1);
    EXPECT_EQ(trace[0]->distinct(), 3U);
}

TEST_F(Traces, HostsAreAdded) {
    const PlainTrace plain = random_trace(5);
    write(plain, header_of(plain, 0, 2));
    refuse(folder_ / "trace", {"1 of 2 hosts", "cut short"});
    const buffer::Trace trace = buffer::read_trace(write(plain, header_of(plain, 1, 2)));
    ASSERT_EQ(trace.size(), 2U);
    const buffer::ReplayCase one{buffer::PolicySpec::parse("lru"), {0.25, 0}};
    const auto results = buffer::replay(trace, std::span(&one, 1));
    const std::uint64_t capacity = plain.halo.size() / 4;
    const auto single = buffer::replay_host(*trace[0], one.policy, capacity);
    EXPECT_EQ(results[0].capacity, 2 * capacity);
    EXPECT_EQ(results[0].rows.demand, 2 * single.demand);
    buffer::TraceHeader other = header_of(plain, 1, 2);
    other.graph = "another";
    write(plain, other);
    refuse(folder_ / "trace", {"host 1 is from another run or graph"});
    PlainTrace shorter = plain;
    shorter.steps.pop_back();
    shorter.listed.pop_back();
    write(shorter, header_of(plain, 1, 2));
    refuse(folder_ / "trace", {"cut short"});
}

TEST_F(Traces, ARunThatIsCutShortLeavesNone) {
    const PlainTrace plain = random_trace(5);
    {
        buffer::TraceWriter writer(folder_ / "trace", header_of(plain, 0, 1), plain.halo, {}, {});
        writer.step(plain.steps[0]);
        refuse(folder_ / "trace", {"incomplete trace"});
    }
    refuse(folder_ / "trace", {"incomplete trace"});
    refuse(folder_ / "nothing", {"trace not found"});
}

TEST_F(Traces, DamageIsNoticed) {
    const PlainTrace plain = random_trace(5);
    const fs::path host = write(plain, header_of(plain, 0, 1)) / "host-00000";
    const std::string ids = read_text(host / "ids.bin", 1 << 20);
    write_text(host / "ids.bin", ids.substr(0, ids.size() - 4));
    refuse(folder_ / "trace", {"bytes"});
    std::string changed = ids;
    changed[0] = static_cast<char>(changed[0] ^ 1);
    write_text(host / "ids.bin", changed);
    refuse(folder_ / "trace", {"checksum"});
    write_text(host / "ids.bin", ids);
    EXPECT_EQ(buffer::read_trace(folder_ / "trace").size(), 1U);
    fs::remove(host / "manifest.json");
    refuse(folder_ / "trace", {"manifest.json"});
}

TEST_F(Traces, ArchivesAreRead) {
    const buffer::Trace trace = buffer::read_trace(npz({}));
    EXPECT_EQ(trace[0]->needed(), 5U);
    EXPECT_EQ(trace[0]->halo(), 2U);
    EXPECT_EQ(trace[0]->header().steps_per_epoch, 2U);
}

TEST_F(Traces, WrongArchivesAreRefused) {
    refuse(npz({{"id", npy<std::int32_t>({3, 1, 1, 4})}}), {"cut short"});
    refuse(npz({{"id", npy<std::int32_t>({3, 1, 1, 4, 3, 0})}}), {"cut short"});
    refuse(npz({{"id", npy<std::int32_t>({3, 1, 1, 5, 3})}}), {"5"});
    refuse(npz({{"id", npy<std::int32_t>({3, 1, 1, -1, 3})}}), {"-1"});
    refuse(npz({{"id", npy<std::int32_t>({3, 3, 1, 4, 3})}}), {"twice"});
    refuse(npz({{"offset", npy<std::int64_t>({0, 3, 2, 5})}}), {"descends"});
    refuse(npz({{"offset", npy<std::int64_t>({1, 2, 5})}}), {"first offset"});
    refuse(npz({{"offset", npy<std::int64_t>(std::vector<std::int64_t>{})}}), {"first offset"});
    refuse(npz({{"halo_id", npy<std::int32_t>({3, 1})}}), {"ascend"});
    refuse(npz({{"halo_id", npy<std::int32_t>({3, 9})}}), {"9"});
    refuse(npz({{"halo_degree", npy<std::int32_t>({3})}}), {"degrees"});
    refuse(npz({{"decision", npy<std::uint8_t>({1})}}), {"decisions"});
    const fs::path good = npz({});
    const std::string bytes = read_text(good, 1 << 20);
    std::ofstream(good, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    refuse(good, {"trace.npz"});
}

TEST_F(Traces, OfAnotherGraphIsRefused) {
    const PlainTrace plain = random_trace(5);
    fs::create_directories(folder_ / "parts");
    write_text(folder_ / "parts" / "manifest.json", "{}\n");
    buffer::TraceHeader header = header_of(plain, 0, 1);
    header.graph = buffer::graph_checksum(folder_ / "parts");
    EXPECT_NO_THROW(
        buffer::expect_graph(buffer::read_trace(write(plain, header)), folder_ / "parts"));
    write_text(folder_ / "parts" / "manifest.json", "{ }\n");
    EXPECT_THROW(buffer::expect_graph(buffer::read_trace(folder_ / "trace"), folder_ / "parts"),
                 Error);
    header.graph.clear();
    EXPECT_THROW(buffer::expect_graph(buffer::read_trace(write(plain, header)), folder_ / "parts"),
                 Error);
}

}  // namespace
}  // namespace rudder::test
