// The module _rudder: loaders and data sets for the Python package.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/version.hpp"

#include "datasets.hpp"
#include "engine.hpp"
#include "job.hpp"

namespace nb = nanobind;

namespace rudder::python {

namespace {

using Floats = nb::ndarray<nb::array_api, float, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<nb::array_api, std::int64_t, nb::c_contig, nb::device::cpu>;
using Held = std::shared_ptr<train::LoadedStep>;

/// Signals that have arrived become exceptions, on the thread that takes them.
void take_signals() {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// The same for those who wait.
constexpr auto signals_taken = [] { take_signals(); };

/// For work that looks at the flag of interrupts itself: it is told, and waited for.
class ToldOfSignals {
public:
    ~ToldOfSignals() { set_interrupted(false); }
    void look() {
        try {
            take_signals();
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

/// Does long work beside the interpreter.
template <class Work>
void do_beside(const char* what, Work&& work) {
    ToldOfSignals signals;
    try {
        const nb::gil_scoped_release unlocked;
        Worker worker(what);
        worker.run(std::forward<Work>(work), [&] { signals.look(); });
    } catch (const Error&) {
        signals.rethrow();
        throw;
    }
    signals.rethrow();
}

nb::capsule owner_of(const Held& step) {
    return {new Held(step), [](void* held) noexcept { delete static_cast<Held*>(held); }};
}

Integers integers(std::int64_t* data, std::initializer_list<std::size_t> shape,
                  const nb::capsule& owner) {
    return {data, shape, owner};
}

/// An array of its own.
template <class Array, class T, class From>
nb::object copied(std::span<const From> values, std::initializer_list<std::size_t> shape) {
    auto* copy = new std::vector<T>(values.begin(), values.end());
    const nb::capsule owner(copy,
                            [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
    return nb::cast(Array(copy->data(), shape, owner));
}

/// Targets as losses of Python's libraries take them: classes as int64, labels as float32.
nb::object targets_of(const nn::SeedTargets& targets, std::size_t seeds, const EngineFacts& facts) {
    if (facts.target_kind == "multilabel")
        return copied<Floats, float>(targets.multilabel, {seeds, facts.targets});
    if (facts.target_kind == "regression")
        return copied<Floats, float>(targets.regression, {seeds, facts.targets});
    return copied<Integers, std::int64_t>(targets.classes, {seeds});
}

/// One part of a step: arrays that share its memory and keep it.
nb::dict batch_of(const Held& step, std::size_t part, const EngineFacts& facts) {
    sample::Batch& sampled = step->sampled.batches[part];
    train::LoadedBatch& batch = step->batches[part];
    const nb::capsule owner = owner_of(step);
    const std::size_t vertices = sampled.vertices.size();
    const std::size_t edges = batch.edges.size() / 2;
    std::vector<std::int64_t> new_vertices{sampled.seeds};
    std::vector<std::int64_t> new_edges;
    for (std::size_t i = sampled.blocks.size(); i-- > 0;) {
        const sample::Block& block = sampled.blocks[i];
        new_vertices.push_back(std::int64_t{block.sources} - block.destinations);
        new_edges.push_back(block.edges());
    }
    nb::dict made;
    made["x"] = Floats(batch.memory.span().data(), {vertices, facts.width}, owner);
    made["y"] = targets_of(batch.targets, sampled.seeds, facts);
    made["edge_index"] = integers(batch.edges.data(), {2, edges}, owner);
    made["n_id"] =
        integers(reinterpret_cast<std::int64_t*>(sampled.vertices.data()), {vertices}, owner);
    made["input_id"] = integers(batch.positions.data(), {batch.positions.size()}, owner);
    made["batch_size"] = sampled.seeds;
    made["num_sampled_nodes"] = new_vertices;
    made["num_sampled_edges"] = new_edges;
    return made;
}

void make_engine(Engine* place, const std::string& path, const std::string& options,
                 const std::string& role, bool shuffled, bool floor) {
    const nb::gil_scoped_release unlocked;
    new (place) Engine(
        {.path = path, .options = options, .role = role, .shuffled = shuffled, .floor = floor},
        signals_taken);
}

/// The batches of the next step, one per part of this rank; none: there are no more steps.
nb::object next_of(Engine& engine) {
    Held step;
    {
        const nb::gil_scoped_release unlocked;
        step = engine.next(signals_taken);
    }
    if (step == nullptr) return nb::none();
    nb::list batches;
    for (std::size_t part = 0; part < step->batches.size(); ++part)
        batches.append(batch_of(step, part, engine.facts()));
    return batches;
}

nb::dict facts_of(const Engine& engine) {
    const EngineFacts& facts = engine.facts();
    nb::dict made;
    made["steps_per_epoch"] = facts.steps_per_epoch;
    made["epochs"] = facts.epochs;
    made["parts"] = facts.parts;
    made["num_features"] = facts.width;
    made["num_classes"] = facts.targets;
    made["targets"] = facts.target_kind;
    made["path"] = facts.path;
    made["rank"] = facts.rank;
    made["world_size"] = facts.size;
    return made;
}

PyObject* error_class = nullptr;

const char* kind_name(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::usage:
            return "usage";
        case ErrorKind::input:
            return "input";
        case ErrorKind::rank:
            return "rank";
        case ErrorKind::interrupted:
            return "interrupted";
        case ErrorKind::failed:
            break;
    }
    return "failed";
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& error) {
        if (error_class == nullptr) throw;
        const nb::object made = nb::borrow(error_class)(error.problem(), kind_name(error.kind()),
                                                        error.where(), error.remedy());
        PyErr_SetObject(error_class, made.ptr());
    }
}

/// Ends what was dropped, and the job, with all ranks. Where this one fails beside others it tells
/// them why instead: true, and it must leave at once.
bool shut_down(const std::string& failure) {
    const nb::gil_scoped_release unlocked;
    Job* const job = Job::met();
    if (!failure.empty() && job != nullptr && job->size() > 1) {
        job->fail(failure);
        return true;
    }
    Worker::wait_for_dropped(signals_taken);
    if (job == nullptr) return false;
    {
        Worker worker("the job");
        worker.run([job] { job->finish(); }, signals_taken);
    }
    Worker::wait_for_dropped(signals_taken);
    return false;
}

}  // namespace

NB_MODULE(_rudder, m) {
    m.doc() = "Loaders and data sets of Rudder; use the package rudder.";
    m.attr("version") = std::string(version());
    m.def("set_error_class", [](nb::handle type) { error_class = type.inc_ref().ptr(); });
    nb::register_exception_translator(translate);
    nb::set_leak_warnings(false);  // programs end with arrays in their hands

    nb::class_<Engine>(m, "Engine")
        .def("__init__", &make_engine, nb::arg("path"), nb::arg("options"), nb::arg("role"),
             nb::arg("shuffled"), nb::arg("floor"))
        .def("facts", &facts_of)
        .def_prop_ro("step", &Engine::step)
        .def("next", &next_of)
        .def(
            "pause", [](Engine& self) { self.pause(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "skip_epoch", [](Engine& self) { self.skip_epoch(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "stats", [](Engine& self) { return self.stats(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "close", [](Engine& self) { self.close(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>());

    m.def(
        "import_arrays",
        [](const std::string& input, const std::string& output, bool directed,
           const std::string& split, std::uint64_t seed, bool force) {
            do_beside("an import", [=] {
                import_arrays({input, output, directed, split, seed, force});
            });
        },
        nb::arg("input"), nb::arg("output"), nb::arg("directed"), nb::arg("split"), nb::arg("seed"),
        nb::arg("force"));
    m.def(
        "divide",
        [](const std::string& data, const std::string& output, std::uint64_t parts,
           const std::string& method, std::uint64_t seed, bool force) {
            do_beside("a partitioning", [=] {
                divide({data, output, parts, method, seed, force});
            });
        },
        nb::arg("data"), nb::arg("output"), nb::arg("parts"), nb::arg("method"), nb::arg("seed"),
        nb::arg("force"));
    m.def("described", &described, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>());
    m.def("shut_down", &shut_down, nb::arg("failure"));
}

}  // namespace rudder::python
