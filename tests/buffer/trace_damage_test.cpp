// Traces that were damaged, cut, mixed up or continued: all is noticed, nothing is half read.
#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "buffer/floor.hpp"
#include "buffer/trace_writer.hpp"
#include "core/json.hpp"
#include "rudder/buffer/replay.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "random_trace.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

buffer::TraceHeader plain_header(const PlainTrace& plain) {
    buffer::TraceHeader header;
    header.vertices = plain.vertices;
    header.steps_per_epoch = 10;
    header.graph = "0123456789abcdef";
    header.precision = "float32";
    header.row_bytes = 400;
    header.capacity = 12;
    header.policy = "scored,every:4";
    header.seed = 3;
    return header;
}

class DamagedTraces : public testing::Test {
protected:
    /// Steps [begin, end) go into a writer that continues after `begin`.
    void write(std::uint64_t begin, std::uint64_t end, bool finish = true) {
        buffer::TraceWriter writer(trace(), header_, plain_.halo, plain_.degree, plain_.inclusion,
                                   begin);
        for (std::uint64_t s = begin; s < end; ++s)
            writer.step(plain_.steps[s], plain_.listed[s] != 0);
        if (finish) {
            writer.finish();
        } else {
            writer.flush();
        }
    }
    void write() { write(0, plain_.steps.size()); }

    [[nodiscard]] fs::path trace() const { return folder_ / "trace"; }
    [[nodiscard]] fs::path host() const { return trace() / "host-00000"; }

    std::string why_not(const fs::path& path) {
        try {
            static_cast<void>(buffer::read_trace(path));
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 3) << error.what();
            EXPECT_FALSE(error.remedy().empty()) << error.what();
            return error.what();
        }
        return {};
    }

    /// What continuing after `after` steps is refused for.
    std::string why_not_after(std::uint64_t after) {
        try {
            buffer::TraceWriter::expect(trace(), header_, after);
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    }

    void change_manifest(const std::function<void(Json&)>& change) {
        Json manifest = parse_json(read_text(host() / "manifest.json", 1 << 20), "manifest");
        change(manifest);
        write_text(host() / "manifest.json", manifest.dump(2));
    }

    void expect_equal(const buffer::HostTrace& found, std::uint64_t steps) {
        const auto expected = plain_.host();
        ASSERT_EQ(found.steps(), steps);
        std::vector<buffer::RowKey> a;
        std::vector<buffer::RowKey> b;
        for (std::uint64_t s = 0; s < steps; ++s) {
            found.step(s, a);
            expected->step(s, b);
            ASSERT_EQ(a, b) << "step " << s;
        }
    }

    TempDir folder_;
    PlainTrace plain_ = random_trace(5);
    buffer::TraceHeader header_ = plain_header(plain_);
};

TEST_F(DamagedTraces, AnyByteOfAnyArrayMatters) {
    write();
    const RandomStream stream({Purpose::test, 1, 51});
    Draws draws(stream, 0);
    std::vector<fs::path> arrays;
    for (const auto& entry : fs::directory_iterator(host())) {
        if (entry.path().extension() == ".bin") arrays.push_back(entry.path());
    }
    std::ranges::sort(arrays);
    EXPECT_EQ(arrays.size(), 6U);  // decision, halo, halo_degree, ids, inclusion, offsets
    for (const fs::path& array : arrays) {
        const std::string good = read_text(array, 1 << 20);
        ASSERT_FALSE(good.empty()) << array;
        for (int i = 0; i < 20; ++i) {
            std::string bad = good;
            char& byte = bad[draws.below(bad.size())];
            byte = static_cast<char>(byte ^ static_cast<char>(1 + draws.below(255)));
            write_text(array, bad);
            EXPECT_THAT(why_not(trace()), HasSubstr("checksum")) << array;
        }
        for (const std::size_t size : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
            write_text(array, good.substr(0, size));
            EXPECT_NE(why_not(trace()), "") << array << " of " << size;
        }
        write_text(array, good + "x");
        EXPECT_NE(why_not(trace()), "") << array;
        fs::remove(array);
        EXPECT_NE(why_not(trace()), "") << array;
        write_text(array, good);
        EXPECT_EQ(why_not(trace()), "") << array;
    }
}

TEST_F(DamagedTraces, EveryFieldOfTheManifestIsNeeded) {
    write();
    const std::string good = read_text(host() / "manifest.json", 1 << 20);
    for (const char* key : {"format", "version", "host", "hosts", "vertices", "steps_per_epoch",
                            "first_step", "capacity", "row_bytes", "precision", "policy", "graph",
                            "seed", "halo", "steps", "needed"}) {
        change_manifest([&](Json& manifest) { manifest.erase(key); });
        EXPECT_THAT(why_not(trace()), HasSubstr(key));
        write_text(host() / "manifest.json", good);
        change_manifest([&](Json& manifest) { manifest[key] = Json::array(); });
        EXPECT_NE(why_not(trace()), "") << key;
        write_text(host() / "manifest.json", good);
    }
    EXPECT_EQ(why_not(trace()), "");
}

TEST_F(DamagedTraces, NumbersOfTheManifestAreHeldAgainstTheArrays) {
    write();
    const std::string good = read_text(host() / "manifest.json", 1 << 20);
    for (const char* key : {"halo", "steps", "needed"}) {
        for (const int by : {-1, 1}) {
            change_manifest(
                [&](Json& manifest) { manifest[key] = manifest[key].get<std::int64_t>() + by; });
            EXPECT_NE(why_not(trace()), "") << key << by;
            write_text(host() / "manifest.json", good);
        }
    }
    change_manifest([](Json& manifest) { manifest["steps"] = ~std::uint64_t{0}; });
    EXPECT_NE(why_not(trace()), "");
    write_text(host() / "manifest.json", good);
    change_manifest([](Json& manifest) { manifest["vertices"] = 3; });
    EXPECT_NE(why_not(trace()), "");
    write_text(host() / "manifest.json", "{");
    EXPECT_NE(why_not(trace()), "");
}

TEST_F(DamagedTraces, HostsMustBeAllOfOneRun) {
    header_.hosts = 2;
    write();
    EXPECT_THAT(why_not(trace()), HasSubstr("1 of 2 hosts"));
    header_.host = 1;
    write();
    EXPECT_EQ(why_not(trace()), "");
    for (const auto& change : std::vector<std::function<void(buffer::TraceHeader&)>>{
             [](auto& h) { h.seed = 4; }, [](auto& h) { h.graph = "other"; },
             [](auto& h) { h.vertices += 1; }, [](auto& h) { h.hosts = 3; }}) {
        const buffer::TraceHeader before = header_;
        change(header_);
        write();
        EXPECT_THAT(why_not(trace()), HasSubstr("another run or graph"));
        header_ = before;
    }
    header_.first_step = 5;
    write();
    EXPECT_THAT(why_not(trace()), HasSubstr("cut short"));
}

// ---- continuing --------------------------------------------------------------------------------

TEST_F(DamagedTraces, ContinuingGivesTheSameFiles) {
    const std::uint64_t steps = plain_.steps.size();
    for (const std::uint64_t at : {std::uint64_t{1}, steps / 2, steps - 1, steps}) {
        fs::remove_all(trace());
        write(0, at, false);
        EXPECT_NE(why_not(trace()), "");  // nothing is there before it is finished
        write(at, steps);
        const buffer::Trace found = buffer::read_trace(trace());
        expect_equal(*found[0], steps);
        EXPECT_EQ(found[0]->header().policy, header_.policy);
    }
}

TEST_F(DamagedTraces, StepsAfterTheCheckpointAreReplaced) {
    write(0, 20, false);
    write(12, 30);
    expect_equal(*buffer::read_trace(trace())[0], 30);
    write(7, 9);  // of a finished one, too
    expect_equal(*buffer::read_trace(trace())[0], 9);
}

TEST_F(DamagedTraces, WhatIsMissingCannotBeContinued) {
    EXPECT_THAT(why_not_after(3), HasSubstr("no trace of the 3 steps"));
    write(0, 10, false);
    EXPECT_EQ(why_not_after(10), "");
    EXPECT_EQ(why_not_after(1), "");
    EXPECT_THAT(why_not_after(11), HasSubstr("10 of the 11 steps"));
    EXPECT_THAT(why_not_after(1000), HasSubstr("10 of the 1000 steps"));
}

TEST_F(DamagedTraces, IdsThatWereCutCannotBeContinued) {
    write(0, 10, false);
    fs::path ids;
    for (const auto& entry : fs::recursive_directory_iterator(trace())) {
        if (entry.path().filename() == "ids.bin") ids = entry.path();
    }
    ASSERT_FALSE(ids.empty());
    const std::uint64_t before = fs::file_size(ids);
    ASSERT_GT(before, 4U);
    fs::resize_file(ids, before - 4);
    EXPECT_THAT(why_not_after(10), HasSubstr("of the 10 steps"));
    fs::resize_file(ids, 0);
    EXPECT_NE(why_not_after(10), "");
}

TEST_F(DamagedTraces, OnlyTheSameRunIsContinued) {
    write(0, 10, false);
    const buffer::TraceHeader right = header_;
    const std::vector<std::pair<const char*, std::function<void(buffer::TraceHeader&)>>> changes{
        {"vertices", [](auto& h) { h.vertices += 1; }},
        {"steps_per_epoch", [](auto& h) { h.steps_per_epoch = 11; }},
        {"first_step", [](auto& h) { h.first_step = 1; }},
        {"graph", [](auto& h) { h.graph = "fedcba9876543210"; }},
        {"seed", [](auto& h) { h.seed = 4; }},
        {"hosts", [](auto& h) { h.hosts = 2; }}};
    for (const auto& [key, change] : changes) {
        header_ = right;
        change(header_);
        EXPECT_THAT(why_not_after(5), HasSubstr(std::string(key) + " was")) << key;
    }
    header_ = right;
    header_.policy = "lru";  // may change: ids do not depend on it
    header_.capacity = 99;
    EXPECT_EQ(why_not_after(5), "");
}

TEST_F(DamagedTraces, StepsAreHandedOutAsTheyWereWritten) {
    buffer::TraceWriter writer(trace(), header_, plain_.halo, {}, {});
    const auto shown = [&] {
        std::vector<std::vector<VertexId>> steps;
        writer.show_steps(
            [&](std::span<const VertexId> ids) { steps.emplace_back(ids.begin(), ids.end()); });
        return steps;
    };
    EXPECT_TRUE(shown().empty());
    for (std::size_t s = 0; s < 15; ++s) {
        writer.step(plain_.steps[s]);
        EXPECT_EQ(shown(), std::vector(plain_.steps.begin(),
                                       plain_.steps.begin() + static_cast<std::ptrdiff_t>(s) + 1));
    }
    writer.finish(4);  // fewer than were written
    expect_equal(*buffer::read_trace(trace())[0], 4);
}

TEST_F(DamagedTraces, DecisionsAreOfAllStepsOrOfNone) {
    {
        buffer::TraceWriter writer(trace(), header_, plain_.halo, {}, {});
        writer.step(plain_.steps[0]);
        EXPECT_THROW(writer.step(plain_.steps[1], true), InternalError);
    }
    buffer::TraceWriter writer(trace(), header_, plain_.halo, {}, {});
    writer.step(plain_.steps[0], true);
    EXPECT_THROW(writer.step(plain_.steps[1]), InternalError);
}

TEST_F(DamagedTraces, AVertexOutsideTheGraphIsOurFault) {
    buffer::TraceWriter writer(trace(), header_, plain_.halo, {}, {});
    EXPECT_THROW(writer.step(std::vector<VertexId>{plain_.vertices}), InternalError);
}

// ---- the floor ---------------------------------------------------------------------------------

TEST_F(DamagedTraces, TheFloorOfEachStepAddsUpToOptimal) {
    header_.first_step = 7;
    write();
    const buffer::Trace found = buffer::read_trace(trace());
    const buffer::FloorSteps floor = buffer::floor_steps(found);
    EXPECT_EQ(floor.first_step, 7U);
    ASSERT_EQ(floor.rows.size(), plain_.steps.size());
    double sum = 0;
    for (std::size_t s = 0; s < floor.rows.size(); ++s) {
        EXPECT_LE(floor.rows[s], static_cast<double>(plain_.steps[s].size()));
        sum += floor.rows[s];
    }
    const auto optimal =
        buffer::replay_host(*found[0], buffer::PolicySpec::parse("optimal"), header_.capacity);
    EXPECT_EQ(sum, static_cast<double>(optimal.fetched()));
}

TEST_F(DamagedTraces, TheFloorNeedsTheSizeOfTheBuffer) {
    header_.capacity = 0;
    write();
    EXPECT_THROW(static_cast<void>(buffer::floor_steps(buffer::read_trace(trace()))), Error);
}

}  // namespace
}  // namespace rudder::test
