// Records by their lists of fields: bytes that are cut or too long, JSON that lacks a key.
#include "core/packed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/fields_json.hpp"
#include "rudder/core/error.hpp"

#include "support/refusal.hpp"

namespace rudder::test {
namespace {

struct Inner {
    std::uint64_t count = 0;
    double seconds = 0;
    static constexpr auto fields =
        field_list(field("count", &Inner::count, FieldKind::count),
                   field("seconds", &Inner::seconds, FieldKind::seconds));
    Inner& operator+=(const Inner& other) noexcept { return add_fields(*this, other); }
    friend Inner operator-(const Inner& a, const Inner& b) noexcept { return minus_fields(a, b); }
    friend bool operator==(const Inner&, const Inner&) = default;
};
static_assert(lists_all_fields<Inner>);

/// One member of every kind that may be listed.
struct Outer {
    std::uint32_t small = 0;
    bool on = false;
    std::string name;
    Inner flat;   ///< its fields stand among these
    Inner inner;  ///< under a key of its own
    std::vector<std::uint64_t> list;
    std::vector<Inner> many;
    std::optional<double> maybe;
    std::uint64_t hidden = 0;  ///< travels, is not written
    static constexpr auto fields = field_list(
        field("small", &Outer::small, FieldKind::plain), field("on", &Outer::on, FieldKind::plain),
        field("name", &Outer::name, FieldKind::plain), field("", &Outer::flat),
        field("inner", &Outer::inner), field("list", &Outer::list, FieldKind::plain),
        field("many", &Outer::many, FieldKind::plain),
        field("maybe", &Outer::maybe, FieldKind::value), field("hidden", &Outer::hidden));
    friend bool operator==(const Outer&, const Outer&) = default;
};
static_assert(lists_all_fields<Outer>);

Outer packed_example() {
    return {.small = 7,
            .on = true,
            .name = "a \"name\" \n\xc3\xbc",
            .flat = {3, 0.5},
            .inner = {~std::uint64_t{0}, 1e-300},
            .list = {1, 2, 3},
            .many = {{1, 2}, {3, 4}},
            .maybe = -0.25,
            .hidden = 9};
}

TEST(Packed, ComesBackWholeWithAndWithoutWhatIsOptional) {
    Outer value = packed_example();
    EXPECT_EQ(unpacked<Outer>(packed(value)), value);
    value.maybe.reset();
    value.many.clear();
    value.list.clear();
    value.name.clear();
    EXPECT_EQ(unpacked<Outer>(packed(value)), value);
    using Either = std::variant<double, std::string>;
    for (const Either& each : {Either(2.5), Either("text")})
        EXPECT_EQ(unpacked<Either>(packed(each)), each);
}

TEST(Packed, EveryCutAndEveryByteTooMuchIsAFaultOfOurs) {
    const std::vector<std::byte> bytes = packed(packed_example());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_THROW(static_cast<void>(unpacked<Outer>(std::span(bytes).first(size))),
                     InternalError)
            << size;
    }
    std::vector<std::byte> more = bytes;
    more.push_back(std::byte{0});
    EXPECT_THROW(static_cast<void>(unpacked<Outer>(more)), InternalError);
}

TEST(Packed, ValuesOneAfterTheOtherComeInTheirOrder) {
    Packer packer;
    packer.put(std::uint8_t{1});
    packer.put(std::string("two"));
    packer.put(std::vector<double>{3, 4});
    const auto bytes = packer.take();
    Unpacker unpacker(bytes);
    EXPECT_EQ(unpacker.take<std::uint8_t>(), 1);
    EXPECT_EQ(unpacker.take<std::string>(), "two");
    EXPECT_FALSE(unpacker.empty());
    EXPECT_EQ(unpacker.take<std::vector<double>>(), (std::vector<double>{3, 4}));
    EXPECT_TRUE(unpacker.empty());
}

// A length that no message can have must not be taken for an amount of memory.
TEST(Packed, AListLongerThanWhatIsLeftIsRefusedBeforeItIsMade) {
    Packer packer;
    packer.put(~std::uint64_t{0} / 16);
    const auto bytes = packer.take();
    EXPECT_THROW(static_cast<void>(unpacked<std::vector<std::uint64_t>>(bytes)), InternalError);
    EXPECT_THROW(static_cast<void>(unpacked<std::string>(bytes)), InternalError);
}

TEST(FieldsJson, WritesWhatIsSomeonesToReadInItsOrder) {
    const Json json = fields_json(packed_example());
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items())
        keys.push_back(key);
    EXPECT_THAT(keys, testing::ElementsAre("small", "on", "name", "count", "seconds", "inner",
                                           "list", "many", "maybe"));
    EXPECT_EQ(json.at("inner").at("count"), ~std::uint64_t{0});
    EXPECT_EQ(json.at("many").at(1).at("seconds"), 4.0);
}

TEST(FieldsJson, ComesBackThroughText) {
    Outer value = packed_example();
    value.hidden = 0;
    const auto again = [](const Outer& o) {
        return fields_from_json<Outer>(parse_json(fields_json(o).dump(), "here"), "here");
    };
    EXPECT_EQ(again(value), value);
    value.maybe.reset();
    EXPECT_EQ(again(value), value);
    EXPECT_TRUE(fields_json(value).at("maybe").is_null());
}

TEST(FieldsJson, EveryKeyThatIsMissingOrOfAnotherTypeIsNamed) {
    const Json good = fields_json(packed_example());
    for (const auto& [key, value] : good.items()) {
        if (key == "maybe") continue;
        Json bad = good;
        bad.erase(key);
        Refusal refusal = refusal_of([&] { (void)fields_from_json<Outer>(bad, "here"); });
        EXPECT_EQ(refusal.kind, ErrorKind::input) << key;
        EXPECT_EQ(refusal.where, "here");
        EXPECT_THAT(refusal.problem, testing::HasSubstr("'" + key + "'"));
        if (value.is_array()) continue;
        bad = good;
        bad[key] = value.is_string() ? Json(1) : Json("text");
        EXPECT_EQ(refusal_of([&] { (void)fields_from_json<Outer>(bad, "here"); }).kind,
                  ErrorKind::input)
            << key;
    }
    Json without = good;
    without.erase("maybe");
    EXPECT_FALSE(fields_from_json<Outer>(without, "here").maybe);
}

TEST(FieldsSums, AreThoseOfEveryNumberAndListedMember) {
    Inner sum{1, 0.25};
    sum += {2, 0.5};
    EXPECT_EQ(sum, (Inner{3, 0.75}));
    EXPECT_EQ(sum - Inner({2, 0.5}), (Inner{1, 0.25}));
    Outer a = packed_example();
    add_fields(a, packed_example());
    EXPECT_EQ(a.small, 14U);
    EXPECT_EQ(a.flat, (Inner{6, 1.0}));
    EXPECT_EQ(a.hidden, 18U);
    EXPECT_EQ(a.name, packed_example().name) << "texts do not add up";
    EXPECT_EQ(a.list, packed_example().list);
    EXPECT_EQ(minus_fields(a, packed_example()).flat, packed_example().flat);
}

}  // namespace
}  // namespace rudder::test
