// Verbs of the program in the module _rudder.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "verbs.hpp"

namespace rudder::python {

namespace {

/// Tells what is new of a run, and whether it is to be ended, on the thread that waits for it.
class NewsTeller {
public:
    NewsTeller(RunNews& news, nb::object on_step, nb::object on_epoch)
        : news_(news), on_step_(std::move(on_step)), on_epoch_(std::move(on_epoch)) {}

    /// What is called ends the run by an answer that is true.
    void tell(ToldOfSignals& signals) {
        const RunNews::All all = news_.take();
        if (!all.step && all.epochs.empty()) return;
        signals.guard([&] {
            const nb::gil_scoped_acquire locked;
            if (all.step && !on_step_.is_none())
                end_if(on_step_(all.step->done, all.step->steps, all.step->loss));
            for (const std::string& line : all.epochs) {
                if (!on_epoch_.is_none()) end_if(on_epoch_(line));
            }
        });
    }

private:
    static void end_if(const nb::object& answer) {
        if (nb::cast<bool>(nb::bool_(answer))) set_interrupted(true);
    }

    RunNews& news_;
    nb::object on_step_;
    nb::object on_epoch_;
};

/// Its exit code and what it printed as JSON.
nb::dict run_verb_beside(const std::string& verb, const std::vector<std::string>& arguments,
                         const nb::object& on_step, const nb::object& on_epoch) {
    RunNews news;
    VerbResult result;
    NewsTeller teller(news, on_step, on_epoch);
    do_beside(
        "a run",
        [&] {
            result = run_verb({verb, arguments}, news);
        },
        [&](ToldOfSignals& signals) { teller.tell(signals); });
    nb::dict made;
    made["code"] = result.code;
    made["answer"] = result.answer;
    return made;
}

}  // namespace

void bind_verbs(nb::module_& module) {
    module.def("run_verb", &run_verb_beside, nb::arg("verb"), nb::arg("arguments"),
               nb::arg("on_step").none(), nb::arg("on_epoch").none());
}

}  // namespace rudder::python
