// JSON that may be hostile.
#include "core/json.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using testing::HasSubstr;

std::string nested(int depth, char open, char close) {
    return std::string(static_cast<std::size_t>(depth), open) +
           std::string(static_cast<std::size_t>(depth), close);
}

/// The Error of parsing `text`.
Error refusal(const std::string& text) {
    try {
        (void)parse_json(text, "some/file.json");
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "accepted: " << text.substr(0, 100);
    return {ErrorKind::failed, "", "", ""};
}

TEST(Json, ReadsWhatIsWellFormed) {
    const Json value = parse_json(R"({"b": 1, "a": [true, null, "x", -2.5], "o": {"b": 2}})", "x");
    EXPECT_EQ(json_u64(value, "b", "x"), 1U);
    EXPECT_EQ(value.begin().key(), "b");  // the order of the file
    EXPECT_EQ(value["a"].size(), 4U);
    EXPECT_EQ(json_u64(value["o"], "b", "x"), 2U);
}

TEST(Json, RefusesJunkNamingThePlace) {
    for (const char* text : {"", "{", "}", "[1,]", "{\"a\":}", "{\"a\" 1}", "nul", "1 2", "{'a':1}",
                             "[1] x", "\"\\ud800\"", "\"\xff\"", "{\"a\":1}}", "NaN", "01"}) {
        const Error error = refusal(text);
        EXPECT_EQ(error.kind(), ErrorKind::input) << text;
        EXPECT_EQ(error.where(), "some/file.json");
    }
    EXPECT_THAT(refusal("{\n\n  oops").problem(), HasSubstr("line 3"));
}

/// A text, and what is said of it.
struct Broken {
    std::string text;
    std::string problem;
};

TEST(Json, SaysWhatIsWrongAndWhereInItsOwnWords) {
    const std::vector<Broken> cases{
        {"", "invalid JSON at column 1: the text ends too early"},
        {"{\"a\": 1", "invalid JSON at column 8: the text ends too early"},
        {"[1,]", "invalid JSON at column 4: unexpected ']'"},
        {"{\n  \"a\": 1,\n  oops: 2\n}", "invalid JSON at line 3, column 3: unexpected 'o'"},
        {"{\n\"a\": [1, 2\n", "invalid JSON at line 3, column 1: the text ends too early"},
        {"{\"ü\": }", "invalid JSON at column 7: unexpected '}'"},  // of characters, not bytes
        {"\"a\nb\"", "invalid JSON at line 1, column 3: unexpected byte 0x0a"},
        {"[\"\xff\"]", "invalid JSON at column 3: unexpected byte 0xff"},
        {"1 2", "invalid JSON at column 3: unexpected '2'"},
        {"[1e999]", "invalid JSON: a number is out of range"},
    };
    for (const Broken& broken : cases) {
        const Error error = refusal(broken.text);
        EXPECT_EQ(error.problem(), broken.problem) << broken.text;
        EXPECT_EQ(error.where(), "some/file.json");
        EXPECT_NE(error.remedy(), "");
    }
}

// Whatever is cut off or damaged, the place named lies in the text or right behind it.
TEST(Json, EveryCutAndEveryDamagedByteIsAnInputErrorWithAPlace) {
    const std::string whole = "{\"a\": [1, -2.5e3, true],\n \"b\": {\"c\": \"x\\n\"}, \"d\": null}";
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_THAT(refusal(whole.substr(0, size)).problem(), HasSubstr("ends too early")) << size;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = '\x01';
        if (damaged == whole) continue;
        const Error error = refusal(damaged);
        EXPECT_EQ(error.kind(), ErrorKind::input) << at;
        EXPECT_THAT(error.problem(),
                    testing::MatchesRegex("invalid JSON at (line [12], )?column [0-9]+: .*"))
            << at;
        EXPECT_THAT(error.problem(), testing::Not(HasSubstr("exception"))) << at;
    }
}

TEST(Json, RefusesDeepNesting) {
    EXPECT_NO_THROW((void)parse_json(nested(32, '[', ']'), "x"));
    EXPECT_THAT(refusal(nested(34, '[', ']')).problem(), HasSubstr("deep"));
    EXPECT_EQ(refusal(nested(1000000, '[', ']')).kind(), ErrorKind::input);
    std::string objects;
    for (int i = 0; i < 1000; ++i) {
        objects += R"({"a":)";
    }
    EXPECT_THAT(refusal(objects).problem(), HasSubstr("deep"));
}

TEST(Json, RefusesRepeatedKeysOfOneObjectOnly) {
    EXPECT_THAT(refusal(R"({"a": 1, "b": {"a": 1}, "a": 2})").problem(), HasSubstr("'a'"));
    EXPECT_THAT(refusal(R"({"x": [{"k": 1}, {"k": 1, "k": 1}]})").problem(), HasSubstr("'k'"));
    EXPECT_NO_THROW((void)parse_json(R"([{"a": 1}, {"a": {"a": 1}}])", "x"));
}

TEST(Json, NumbersPast64BitsAreNoWholeNumbers) {
    const Json value =
        parse_json(R"({"max": 18446744073709551615, "over": 18446744073709551616, "minus": -1,
                       "real": 1.0, "text": "1"})",
                   "x");
    EXPECT_EQ(json_u64(value, "max", "x"), ~std::uint64_t{0});
    for (const char* key : {"over", "minus", "real", "text", "absent"}) {
        EXPECT_THROW((void)json_u64(value, key, "x"), Error) << key;
    }
}

TEST(Json, FieldsNameTheKeyAndTheirType) {
    const Json value = parse_json(R"({"n": 1.5, "s": "x", "b": true})", "x");
    EXPECT_EQ(json_number(value, "n", "x"), 1.5);
    EXPECT_EQ(json_string(value, "s", "x"), "x");
    EXPECT_TRUE(json_bool(value, "b", "x"));
    EXPECT_THROW((void)json_number(value, "s", "x"), Error);
    EXPECT_THROW((void)json_string(value, "n", "x"), Error);
    EXPECT_THROW((void)json_bool(value, "n", "x"), Error);
    EXPECT_THROW((void)json_field(parse_json("[1]", "x"), "k", "x"), Error);
    try {
        (void)json_string(value, "vertices", "some/manifest.json");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.problem(), HasSubstr("'vertices'"));
        EXPECT_EQ(error.where(), "some/manifest.json");
    }
}

TEST(Json, ReadsFilesUpToALimit) {
    const test::TempDir folder;
    write_text(folder / "a.json", R"({"a": 1})");
    EXPECT_EQ(json_u64(read_json(folder / "a.json"), "a", "x"), 1U);
    EXPECT_THROW((void)read_json(folder / "a.json", 3), Error);
    EXPECT_THROW((void)read_json(folder / "b.json"), Error);
}

}  // namespace
}  // namespace rudder
