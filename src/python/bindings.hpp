// What the files of the module share: signals, and long work beside the interpreter.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"

#include "worker.hpp"

namespace rudder::python {

namespace nb = nanobind;

/// Signals that have arrived become exceptions, on the thread that takes them.
inline void take_signals() {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// The same for those who wait.
inline constexpr auto signals_taken = [] { take_signals(); };

/// For work that looks at the flag of interrupts itself: it is told, and waited for.
class ToldOfSignals {
public:
    ~ToldOfSignals() { set_interrupted(false); }
    void look() { guard(take_signals); }
    /// An exception of what is called is kept, and interrupts the work.
    template <class Call>
    void guard(Call&& call) {
        try {
            call();
        } catch (nb::python_error& error) {
            const nb::gil_scoped_acquire locked;
            if (!taken_) taken_ = std::make_unique<nb::python_error>(std::move(error));
            set_interrupted(true);
        }
    }
    void rethrow() const {
        if (taken_) throw nb::python_error(*taken_);
    }

private:
    std::unique_ptr<nb::python_error> taken_;
};

/// Does long work beside the interpreter. `tell` is called every so often, and once at the end.
template <class Work, class Tell>
void do_beside(const char* what, Work&& work, Tell&& tell) {
    ToldOfSignals signals;
    try {
        const nb::gil_scoped_release unlocked;
        Worker worker(what);
        worker.run(std::forward<Work>(work), [&] {
            signals.look();
            tell(signals);
        });
        tell(signals);
    } catch (const Error&) {
        signals.rethrow();
        throw;
    }
    signals.rethrow();
}
template <class Work>
void do_beside(const char* what, Work&& work) {
    do_beside(what, std::forward<Work>(work), [](ToldOfSignals&) {});
}

/// An array of Python's that keeps these numbers.
template <class T>
nb::object kept_array(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    const nb::capsule owner(kept,
                            [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
    return nb::cast(nb::ndarray<nb::array_api, T, nb::c_contig, nb::device::cpu>(
        kept->data(), {kept->size()}, owner));
}

/// Adds loaders and stores to the module; agents and policies; and the verbs.
void bind_loaders(nb::module_& module);
void bind_own(nb::module_& module);
void bind_verbs(nb::module_& module);

}  // namespace rudder::python
