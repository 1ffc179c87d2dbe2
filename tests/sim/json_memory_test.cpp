// Objects of JSON, files, and memory of rows under way, where memory runs out while they are made
// or opened.
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "buffer/live/landing.hpp"
#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "rudder/core/file.hpp"

#include "support/counted_heap.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// Texts that are too long for a string's own room, a list and an object within the object.
Json made() {
    const std::string text(40, 'x');
    return json_object({{"name", text},
                        {"shape", std::vector<int>{1, 2, 3}},
                        {"inside", json_object({{"first", text}, {"second", text}})}});
}

bool everybody() {
    return true;
}

/// Bytes that stay behind when the n-th allocation of `act` fails; sets `succeeded` where there
/// were fewer.
template <class Act>
std::uint64_t left_behind(std::uint64_t nth, bool& succeeded, Act&& act) {
    const std::uint64_t before = heap_counts().bytes;
    fail_allocation(nth, everybody);
    try {
        act();
        succeeded = true;
    } catch (const std::bad_alloc&) {
        succeeded = false;
    }
    stop_failing();
    return heap_counts().bytes - before;
}

TEST(JsonObject, LosesNothingWhereMemoryRunsOut) {
    bool succeeded = false;
    std::uint64_t nth = 1;
    for (; !succeeded; ++nth)
        ASSERT_EQ(left_behind(nth, succeeded, [] { const Json object = made(); }), 0U)
            << "allocation " << nth;
    EXPECT_GT(nth, 10U) << "not many allocations have failed";
    EXPECT_EQ(
        made().dump(),
        Json({{"name", std::string(40, 'x')},
              {"shape", {1, 2, 3}},
              {"inside", {{"first", std::string(40, 'x')}, {"second", std::string(40, 'x')}}}})
            .dump());
}

/// What checkpoints are made of: a simulated run lost a header of it.
TEST(WrittenTensors, LoseNothingWhereMemoryRunsOut) {
    const TempDir folder;
    const std::vector<float> values(6, 1);
    const std::vector<TensorToWrite> tensors{{"layers.0.weight", {2, 3}, values},
                                             {"layers.1.weight", {3, 2}, values}};
    const std::filesystem::path file = folder / "weights";
    bool succeeded = false;
    std::uint64_t nth = 1;
    for (; !succeeded; ++nth) {
        ASSERT_EQ(left_behind(nth, succeeded, [&] { write_safetensors(file, tensors, {}); }), 0U)
            << "allocation " << nth;
    }
    EXPECT_GT(nth, 10U) << "not many allocations have failed";
}

/// Descriptors of this program; the one that looks is counted, too.
std::ptrdiff_t descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(OpenFiles, AreClosedWhereMemoryRunsOut) {
    const TempDir folder;
    const std::filesystem::path path =
        folder / "a name that is too long for the room that a string has of its own";
    write_text(path, "text");
    const std::ptrdiff_t before = descriptors();
    const std::vector<void (*)(const std::filesystem::path&)> ways{
        [](const auto& at) { static_cast<void>(File::open(at)); },
        [](const auto& at) { static_cast<void>(File::create(at)); },
        [](const auto& at) { static_cast<void>(File::append(at, 0)); }};
    for (std::size_t way = 0; way < ways.size(); ++way) {
        bool succeeded = false;
        for (std::uint64_t nth = 1; !succeeded; ++nth) {
            fail_allocation(nth, everybody);
            try {
                ways[way](path);
                succeeded = true;
            } catch (const std::bad_alloc&) {
                // the next one, then
            }
            const std::uint64_t allocations = stop_failing();
            ASSERT_GE(allocations, 1U);
            ASSERT_EQ(descriptors(), before) << "way " << way << ", allocation " << nth;
        }
    }
}

/// Who lets go of one last cannot be told that memory has run out.
TEST(Landings, ComeBackWhereMemoryHasRunOut) {
    const auto pool = std::make_shared<buffer::LandingPool>(64);
    std::vector<std::shared_ptr<buffer::Landing>> held;
    for (std::size_t rows = 1; rows <= 5; ++rows)
        held.push_back(pool->take(rows * 100));
    const std::uint64_t bytes = pool->bytes();
    fail_allocation(1, everybody);
    held.clear();
    stop_failing();
    // The smallest that is large enough, and none that is new.
    held.push_back(pool->take(260));
    EXPECT_EQ(held.back()->memory.size(), std::size_t{300 + 75} * 64);
    for (const std::size_t rows : {500U, 400U, 200U, 100U})
        held.push_back(pool->take(rows));
    EXPECT_EQ(pool->bytes(), bytes);
}

/// What was counted stays where a landing that was taken could not be made ready.
TEST(Landings, LoseNothingWhereMemoryRunsOut) {
    bool succeeded = false;
    std::uint64_t nth = 1;
    for (; !succeeded; ++nth) {
        ASSERT_EQ(left_behind(nth, succeeded,
                              [] {
                                  const auto pool = std::make_shared<buffer::LandingPool>(8);
                                  const auto first = pool->take(10);
                                  const auto second = pool->take(20);
                              }),
                  0U)
            << "allocation " << nth;
    }
    EXPECT_GT(nth, 6U) << "not many allocations have failed";
}

}  // namespace
}  // namespace rudder::test
