// Ids of vertices: found as an ordinary map finds them, kept in a folder, refused where damaged.
#include "graph/vertex_ids.hpp"

#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/tables/id_map.hpp"
#include "rudder/core/parallel.hpp"

#include "io_support.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using graph::IdKind;
using graph::IdMap;
using graph::no_vertex;
using graph::VertexIds;

VertexIds text_ids(const std::vector<std::string>& texts) {
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint8_t> bytes;
    for (const std::string& text : texts) {
        bytes.insert(bytes.end(), text.begin(), text.end());
        offsets.push_back(bytes.size());
    }
    return {Array<std::uint64_t>::copy_of(offsets), Array<std::uint8_t>::copy_of(bytes)};
}

VertexIds number_ids(const std::vector<std::int64_t>& numbers) {
    return VertexIds(Array<std::int64_t>::copy_of(numbers));
}

/// Texts that are easily mistaken for each other: prefixes, zero bytes, equal but for the end.
std::string odd_text(std::mt19937_64& random) {
    switch (random() % 5) {
        case 0:
            return std::string(random() % 300, 'a');
        case 1:
            return std::string(random() % 40, '\0') + "x";
        case 2:
            return std::string(5000 + random() % 3, 'z') + std::to_string(random() % 50);
        case 3:
            return std::to_string(static_cast<std::int64_t>(random() % 200) - 100);
        default:
            return fmt::format("ü{}漢", random() % 500);
    }
}

TEST(VertexIdMaps, OddTextsAsAnOrdinaryMapFindsThem) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        std::mt19937_64 random(seed);
        std::map<std::string, VertexId> plain;
        std::vector<std::string> texts;
        for (int i = 0; i < 400; ++i) {
            std::string text = odd_text(random);
            if (plain.emplace(text, texts.size()).second) texts.push_back(std::move(text));
        }
        const VertexIds ids = text_ids(texts);
        const IdMap map(ids);
        ASSERT_FALSE(map.duplicate());
        std::vector<std::string> asked = texts;
        for (int i = 0; i < 700; ++i)
            asked.push_back(odd_text(random));
        const std::vector<std::string_view> views(asked.begin(), asked.end());
        std::vector<VertexId> found(views.size());
        map.find(views, found);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto known = plain.find(asked[i]);
            const VertexId expected = known == plain.end() ? no_vertex : known->second;
            ASSERT_EQ(found[i], expected) << asked[i];
            ASSERT_EQ(map.find(views[i]), expected) << "one at a time";
        }
        // Numbers ask for the text that is written so.
        std::vector<std::int64_t> numbers;
        for (std::int64_t number = -120; number < 120; ++number)
            numbers.push_back(number);
        found.assign(numbers.size(), 0);
        map.find(numbers, found);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto known = plain.find(std::to_string(numbers[i]));
            ASSERT_EQ(found[i], known == plain.end() ? no_vertex : known->second) << numbers[i];
        }
    }
}

TEST(VertexIdMaps, IntegersAsAnOrdinaryMapFindsThem) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        std::mt19937_64 random(seed);
        std::map<std::int64_t, VertexId> plain;
        std::vector<std::int64_t> numbers;
        const auto add = [&](std::int64_t number) {
            if (plain.emplace(number, numbers.size()).second) numbers.push_back(number);
        };
        for (const std::int64_t number : {most, least, std::int64_t{-1}})
            add(number);
        if (seed % 2 == 0) add(0);
        for (int i = 0; i < 3000; ++i)  // dense, in steps of a power of two, and anywhere
            add(i % 3 == 0   ? static_cast<std::int64_t>(random() % 2000)
                : i % 3 == 1 ? static_cast<std::int64_t>(random() % 500) << 40U
                             : static_cast<std::int64_t>(random()));
        const VertexIds ids = number_ids(numbers);
        const IdMap map(ids);
        ASSERT_FALSE(map.duplicate());
        std::vector<std::string> asked;
        for (int i = 0; i < 3000; ++i)
            asked.push_back(std::to_string(i % 2 == 0
                                               ? numbers[random() % numbers.size()]
                                               : static_cast<std::int64_t>(random() % 4000)));
        const std::vector<std::string_view> views(asked.begin(), asked.end());
        std::vector<VertexId> found(views.size());
        map.find(views, found);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto known = plain.find(std::stoll(asked[i]));
            ASSERT_EQ(found[i], known == plain.end() ? no_vertex : known->second) << asked[i];
            ASSERT_EQ(map.find(static_cast<std::int64_t>(std::stoll(asked[i]))), found[i]);
        }
        // Other writings of a number that is there name nobody, zero among them.
        for (const char* other : {"", "-0", "00", "+0", "0.0", "zero", "+1", " 1", "01", "1e0",
                                  "9223372036854775808", "-9223372036854775809"})
            EXPECT_EQ(map.find(std::string_view(other)), no_vertex) << other;
        EXPECT_EQ(map.find(std::string_view("0")) == no_vertex, !plain.contains(0));
        EXPECT_EQ(map.find(most), 0U);
        EXPECT_EQ(map.find(std::string_view("-9223372036854775808")), 1U);
    }
}

TEST(VertexIdMaps, TheFirstRepetitionOfTexts) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::string> texts;
        std::map<std::string, VertexId> plain;
        std::optional<IdMap::Duplicate> expected;
        for (VertexId v = 0; v < 300; ++v) {
            texts.push_back(fmt::format("v{}", random() % (seed % 4 == 0 ? 100000000 : 20000)));
            const auto [place, fresh] = plain.emplace(texts.back(), v);
            if (!fresh && !expected) expected = IdMap::Duplicate{place->second, v};
        }
        set_thread_count(1 + static_cast<int>(seed % 3));
        const VertexIds ids = text_ids(texts);
        const IdMap map(ids);
        ASSERT_EQ(map.duplicate().has_value(), expected.has_value()) << seed;
        if (!expected) continue;
        EXPECT_EQ(map.duplicate()->first, expected->first);
        EXPECT_EQ(map.duplicate()->second, expected->second);
    }
    set_thread_count(0);
}

TEST(VertexIdMaps, NobodyIsFoundAmongNone) {
    const VertexIds ids = text_ids({});
    const IdMap map(ids);
    EXPECT_EQ(map.find(std::string_view("a")), no_vertex);
    EXPECT_EQ(map.find(std::int64_t{0}), no_vertex);
    EXPECT_FALSE(map.duplicate());
}

/// A folder in which ids are written and opened.
class KeptIds : public testing::Test {
protected:
    void write(const VertexIds& ids, std::optional<std::span<const VertexId>> rows = {}) {
        graph::ArrayFolderWriter writer(folder_.path());
        rows ? ids.write(writer, *rows) : ids.write(writer);
        Json manifest{{"format", "rudder dataset"}, {"version", 1}};
        graph::describe_ids(ids.kind(), manifest);
        writer.finish(std::move(manifest));
    }
    [[nodiscard]] graph::ArrayFolder folder() const {
        return {folder_.path(), "rudder dataset", 2};
    }
    [[nodiscard]] std::vector<std::string> names(VertexId vertices) const {
        const VertexIds ids = VertexIds::open(folder(), vertices);
        std::vector<std::string> all;
        for (VertexId v = 0; v < vertices; ++v)
            all.push_back(ids.name(v));
        return all;
    }
    TempDir folder_;
};

TEST_F(KeptIds, AreReadBack) {
    const std::vector<std::string> texts{"b", "", "a\nb", "漢", std::string(100000, 'x'), "0"};
    write(text_ids(texts));
    EXPECT_EQ(names(texts.size()), texts);
    EXPECT_EQ(graph::id_kind(folder()), IdKind::text);
    EXPECT_EQ(folder().manifest().at("version"), 2);
    write(number_ids({5, -3, std::numeric_limits<std::int64_t>::min()}));
    EXPECT_EQ(names(3), (std::vector<std::string>{"5", "-3", "-9223372036854775808"}));
    EXPECT_EQ(graph::id_kind(folder()), IdKind::integer);
    write(VertexIds());
    EXPECT_EQ(graph::id_kind(folder()), std::nullopt);
    EXPECT_EQ(folder().manifest().at("version"), 1) << "as it always was";
    EXPECT_EQ(names(0), std::vector<std::string>{});
    EXPECT_EQ(VertexIds().name(41), "41") << "without ids, by number";
}

TEST_F(KeptIds, SomeInAnyOrder) {
    std::mt19937_64 random(4);
    std::vector<std::string> texts;
    std::vector<std::int64_t> numbers;
    for (int v = 0; v < 3000; ++v) {
        texts.push_back(std::string(random() % 90, 't') + std::to_string(v));
        numbers.push_back(static_cast<std::int64_t>(random()));
    }
    std::vector<VertexId> rows;  // more than one piece of text
    std::vector<std::string> some;
    std::vector<std::string> some_numbers;
    for (int i = 0; i < 2500; ++i) {
        rows.push_back(random() % texts.size());
        some.push_back(texts[rows.back()]);
        some_numbers.push_back(std::to_string(numbers[rows.back()]));
    }
    write(text_ids(texts), rows);
    EXPECT_EQ(names(rows.size()), some);
    write(number_ids(numbers), rows);
    EXPECT_EQ(names(rows.size()), some_numbers);
    write(text_ids(texts), std::span<const VertexId>());
    EXPECT_EQ(names(0), std::vector<std::string>{});
}

TEST_F(KeptIds, DamageIsRefused) {
    const auto offsets_of = [&](const std::vector<std::uint64_t>& offsets, std::size_t bytes) {
        graph::ArrayFolderWriter writer(folder_.path());
        writer.write("id_offsets", std::span<const std::uint64_t>(offsets));
        const std::vector<std::uint8_t> text(bytes, 'a');
        writer.write("id_text", std::span<const std::uint8_t>(text));
        Json manifest{{"format", "rudder dataset"}, {"version", 2}};
        graph::describe_ids(IdKind::text, manifest);
        writer.finish(std::move(manifest));
        return refusal_of([&] { (void)VertexIds::open(folder(), offsets.size() - 1); });
    };
    EXPECT_EQ(offsets_of({0, 3, 2, 5}, 5).problem, "the offsets of ids do not ascend from 0");
    EXPECT_EQ(offsets_of({1, 2, 3, 5}, 5).problem, "the offsets of ids do not ascend from 0");
    EXPECT_EQ(offsets_of({1, 2, 3, 5}, 5).where, folder_.path().string() + ", array 'id_offsets'");
    EXPECT_EQ(offsets_of({0, 1, 2, 9}, 5).kind, ErrorKind::input) << "beyond the text";
    graph::ArrayFolderWriter writer(folder_.path());
    writer.finish({{"format", "rudder dataset"}, {"version", 2}, {"ids", {{"kind", "colour"}}}});
    EXPECT_EQ(refusal_of([&] { (void)graph::id_kind(folder()); }).problem,
              "invalid kind of ids: 'colour'");
}

TEST_F(KeptIds, AreChecked) {
    EXPECT_NO_THROW(text_ids({"a", "b", "ü"}).check("here"));
    EXPECT_NO_THROW(VertexIds().check("here"));
    const Refusal twice = refusal_of([] { text_ids({"a", "b", "c", "b"}).check("here"); });
    EXPECT_EQ(twice.problem, "vertices 1 and 3 have the same id");
    EXPECT_EQ(twice.where, "here");
    EXPECT_EQ(refusal_of([] {
                  number_ids({4, 4}).check("here");
              }).problem,
              "vertices 0 and 1 have the same id");
    EXPECT_EQ(refusal_of([] {
                  text_ids({"a", "\xff"}).check("here");
              }).problem,
              "the id of vertex 1 is invalid UTF-8");
    // A character that two ids share is cut: neither is text.
    EXPECT_EQ(refusal_of([] {
                  text_ids({"a\xc3", "\xbc"}).check("here");
              }).problem,
              "the id of vertex 0 is invalid UTF-8");
}

}  // namespace
}  // namespace rudder::test
