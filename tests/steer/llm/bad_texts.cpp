#include "bad_texts.hpp"

#include <fmt/format.h>

namespace rudder::test {

std::string nested(int depth) {
    std::string text = R"({"action": )";
    for (int i = 0; i < depth; ++i)
        text += R"({"a":)";
    text += "1";
    return text + std::string(static_cast<std::size_t>(depth) + 1, '}');
}

std::vector<BadText> bad_texts(std::uint64_t slots) {
    const std::string set = R"({"action": "set", "knobs": )";
    const std::string replace = R"({"action": "replace", "fraction": )";
    return {
        {"Empty", "", "the model's reply is empty"},
        {"Blank", " \n\t ", "the model's reply is blank"},
        {"CutObject", R"({"action": "keep")", "column 18: the text ends too early"},
        {"CutText", R"({"action": "ke)", "column 15: the text ends too early"},
        {"CutKey", R"({"acti)", "column 7: the text ends too early"},
        {"ProseBefore", R"(Sure! {"action": "keep"})", "begins with 'Sure!"},
        {"ProseAfter", R"({"action": "keep"} I hope this helps)", "column 20: unexpected 'I'"},
        {"Fence", "```json\n{\"action\": \"keep\"}\n```", "code fence"},
        {"Thinking", "<think>hm</think>{\"action\": \"keep\"}", "thinks aloud"},
        {"TwoObjects", R"({"action": "keep"}{"action": "keep"})", "unexpected '{'"},
        {"List", R"([{"action": "keep"}])", "is a list"},
        {"Number", "42", "begins with '42'"},
        {"Null", "null", "begins with 'null'"},
        {"Word", R"("keep")", "begins with '\"keep\"'"},
        {"PlainYes", "yes", "begins with 'yes'"},
        {"Xml", "<action>keep</action>", "begins with '?action?"},
        {"Yaml", "action: keep", "begins with 'action: keep'"},
        {"Encoded", R"("{\"action\": \"keep\"}")", R"(begins with '"{\"action\")"},
        {"ByteOrderMark", "\xEF\xBB\xBF{\"action\": \"keep\"}", "begins with '???{"},
        {"EmptyObject", "{}", "lacks the key 'action'"},
        {"WrongCase", R"({"Action": "keep"})", "its first is 'Action'"},
        {"UnknownAction", R"({"action": "evict"})", "'action' is \"evict\", none of"},
        {"ShoutedAction", R"({"action": "KEEP"})", "\"KEEP\""},
        {"NumberAction", R"({"action": 1})", "'action' is 1"},
        {"NullAction", R"({"action": null})", "'action' is null"},
        {"ListAction", R"({"action": ["keep"]})", "'action' is [\"keep\"]"},
        {"ForeignKey", R"({"action": "keep", "fraction": 0.5})",
         "does not belong there: 'fraction'"},
        {"ExtraKey", R"({"action": "keep", "note": "hi"})", "does not belong there: 'note'"},
        {"Prototype", R"({"action": "keep", "__proto__": {}})", "'__proto__'"},
        {"MarkupKey", R"({"action": "keep", "<script>": 1})", "'?script?'"},
        {"NumberAsText", replace + R"("0.5"})", "'fraction' is \"0.5\""},
        {"AboveOne", replace + "1.5}", "'fraction' is 1.5"},
        {"BelowZero", replace + "-1}", "'fraction' is -1"},
        {"BetweenSteps", replace + "0.37}", "'fraction' is 0.37"},
        {"NotANumber", replace + "NaN}", "column 35: unexpected 'N'"},
        {"Infinity", replace + "Infinity}", "column 35: unexpected 'I'"},
        {"Overflow", replace + "1e999}", "a number is out of range"},
        {"NullFraction", replace + "null}", "'fraction' is null"},
        {"ObjectFraction", replace + "{}}", "'fraction' is {}"},
        {"HexFraction", replace + "0x1}", "x'"},
        {"NoKnobs", R"({"action": "set"})", "lacks the key 'knobs'"},
        {"EmptyKnobs", set + "{}}", "'knobs' is empty"},
        {"ListKnobs", set + R"([{"capacity": 1}]})", "'knobs' is a list"},
        {"TextKnobs", set + R"("capacity"})", "'knobs' is text"},
        {"UnknownKnob", set + R"({"speed": 11}})", "'speed'"},
        {"KnobAsText", set + R"({"capacity": "100"}})", "'capacity' is text"},
        {"KnobTooLow", set + R"({"capacity": -3}})", "'capacity' is -3, below 0"},
        {"KnobTooHigh", set + fmt::format(R"({{"capacity": {}}}}})", slots + 1),
         fmt::format("'capacity' is {}, above {}", slots + 1, slots)},
        {"KnobHuge", set + R"({"capacity": 99999999999999999999}})", "'capacity' is a number"},
        {"KnobBetween", set + R"({"bulk": 2.5}})", "'bulk' is a number with a fraction"},
        {"KnobTruth", set + R"({"capacity": true}})", "'capacity' is a truth value"},
        {"KnobNotThere", set + R"({"window": 16}})", "'window'"},
        {"PolicyOfTraces", set + R"({"policy": "optimal"}})", "'policy' is \"optimal\""},
        {"PolicyNumber", set + R"({"policy": 16}})", "'policy' is 16"},
        {"PolicyInjection", set + R"({"policy": "window:16; rm -rf /"}})", "; rm -rf"},
        {"PolicyWithOthers", set + R"({"policy": "window:16", "decay": 0.5}})", "'decay'"},
        {"UnknownReason", R"({"action": "keep", "reason": "because"})", "'reason' is \"because\""},
        {"MarkupReason", R"({"action": "keep", "reason": "<script>x</script>"})", "?script?x"},
        {"LongReason", R"({"action": "keep", "reason": ")" + std::string(5000, 'x') + "\"}",
         "'reason' is \"xxxx"},
        {"ForeignReason", R"({"action": "keep", "reason": "replayed"})", "\"replayed\", none of"},
        {"NumberReason", R"({"action": "keep", "reason": 7})", "'reason' is 7"},
        {"TwiceTheKey", R"({"action": "keep", "action": "keep"})", "appears twice"},
        {"Deep", nested(100), "nested too deeply"},
        {"VeryDeep", nested(100000), "longer than 16384"},
        {"WrongTrend",
         R"({"action": "keep", "expected_impact": {"hit_rate": "up", "rows": "stagnant"}})",
         "'hit_rate' is \"up\""},
        {"HalfTrend", R"({"action": "keep", "expected_impact": {"hit_rate": "increase"}})",
         "'expected_impact' lacks the key 'rows'"},
        {"ListTrend", R"({"action": "keep", "expected_impact": []})",
         "'expected_impact' is a list"},
        {"Comment", R"({"action": "keep" /* sure */})", "column 19: unexpected '/'"},
        {"TrailingComma", R"({"action": "keep",})", "column 19: unexpected '}'"},
        {"SingleQuotes", "{'action': 'keep'}", "column 2: unexpected '''"},
        {"BareKey", "{action: \"keep\"}", "column 2: unexpected 'a'"},
        {"RawNewline", "{\"action\": \"ke\nep\"}", "line 1, column 15: unexpected byte 0x0a"},
        {"LoneSurrogate", R"({"action": "\ud800"})", "column 19: unexpected '\"'"},
        {"BadEscape", R"({"action": "\x41"})", "column 14: unexpected 'x'"},
        {"NullCharacter", R"({"action": "keep\u0000"})", "\"keep\\u0000\""},
    };
}

}  // namespace rudder::test
