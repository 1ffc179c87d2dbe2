// Agents and policies of one's own in the module _rudder.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "own.hpp"
#include "questions.hpp"

namespace rudder::python {

namespace {

const char* name_of(QuestionKind kind) {
    switch (kind) {
        case QuestionKind::make_agent:
            return "make_agent";
        case QuestionKind::decide:
            return "decide";
        case QuestionKind::learned:
            return "learned";
        case QuestionKind::make_policy:
            return "make_policy";
        case QuestionKind::copy:
            return "copy";
        case QuestionKind::advance:
            return "advance";
        case QuestionKind::drop:
            break;
    }
    return "drop";
}

/// The next question as a dictionary; none: there are no more.
nb::object next_question() {
    std::unique_ptr<Question> question;
    {
        const nb::gil_scoped_release unlocked;
        question = Questions::get().next(signals_taken);
    }
    if (question == nullptr) return nb::none();
    nb::dict made;
    made["kind"] = name_of(question->what);
    made["number"] = question->number;
    made["handle"] = question->handle;
    made["name"] = question->name;
    made["text"] = question->text;
    if (question->what != QuestionKind::advance) return made;
    made["step"] = question->step;
    made["capacity"] = question->capacity;
    made["rows"] = kept_array(std::move(question->rows));
    made["missed"] = kept_array(std::move(question->missed));
    made["held"] = kept_array(std::move(question->held));
    return made;
}

using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

OwnThing thing_of(const std::string& name, const std::string& sentence, const nb::dict& parameters,
                  std::uint64_t interval, bool decides) {
    OwnThing thing{.name = name,
                   .sentence = sentence,
                   .parameters = {},
                   .interval = interval,
                   .decides = decides};
    for (const auto& [key, value] : parameters) {
        thing.parameters.push_back({.name = nb::cast<std::string>(key),
                                    .fallback = nb::cast<double>(value),
                                    .whole = nb::isinstance<nb::int_>(value)});
    }
    return thing;
}

}  // namespace

void bind_own(nb::module_& module) {
    module.def(
        "register_agent",
        [](const std::string& name, const std::string& sentence, const nb::dict& parameters,
           std::uint64_t interval, bool decides) {
            register_agent(thing_of(name, sentence, parameters, interval, decides));
        },
        nb::arg("name"), nb::arg("sentence"), nb::arg("parameters"), nb::arg("interval"),
        nb::arg("decides"));
    module.def(
        "register_policy",
        [](const std::string& name, const std::string& sentence, const nb::dict& parameters) {
            register_policy(thing_of(name, sentence, parameters, 1, false));
        },
        nb::arg("name"), nb::arg("sentence"), nb::arg("parameters"));
    module.def("next_question", &next_question);
    module.def(
        "answer_number",
        [](std::uint64_t number, std::int64_t value) {
            Questions::get().answer(number, {.number = value});
        },
        nb::arg("number"), nb::arg("value"));
    module.def(
        "answer_text",
        [](std::uint64_t number, const std::string& text) {
            Questions::get().answer(number, {.text = text});
        },
        nb::arg("number"), nb::arg("text"));
    module.def(
        "answer_ids",
        [](std::uint64_t number, const Ids& ids) {
            Questions::get().answer(number, {.ids = {ids.data(), ids.data() + ids.size()}});
        },
        nb::arg("number"), nb::arg("ids"));
    module.def(
        "answer_problem",
        [](std::uint64_t number, const std::string& problem) {
            Questions::get().answer(number, {.problem = problem});
        },
        nb::arg("number"), nb::arg("problem"));
}

}  // namespace rudder::python
