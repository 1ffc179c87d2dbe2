// The module _rudder: loaders and data sets for the Python package.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "rudder/core/error.hpp"
#include "rudder/core/version.hpp"

#include "bindings.hpp"
#include "datasets.hpp"
#include "job.hpp"
#include "questions.hpp"

namespace rudder::python {

namespace {

using FlatFloats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The arrays of a graph, each its own.
nb::dict arrays_of_graph(const std::string& path) {
    GraphArrays arrays;
    do_beside("opening a graph", [&] { arrays = graph_arrays(path); });
    nb::dict made;
    made["offsets"] = kept_array(std::move(arrays.offsets));
    made["neighbours"] = kept_array(std::move(arrays.neighbours));
    made["original_ids"] = kept_array(std::move(arrays.original_ids));
    return made;
}

/// The same of a graph of several types: by names of types.
nb::dict typed_arrays_of_graph(const std::string& path) {
    TypedGraphArrays arrays;
    do_beside("opening a graph", [&] { arrays = typed_graph_arrays(path); });
    nb::dict edges;
    for (std::size_t t = 0; t < arrays.edges.size(); ++t) {
        const EdgeTypeName& type = arrays.edge_types[t];
        edges[nb::make_tuple(type.from, type.name, type.to)] =
            kept_array(std::move(arrays.edges[t]));
    }
    nb::dict ids;
    for (std::size_t t = 0; t < arrays.original_ids.size(); ++t) {
        ids[nb::cast(arrays.node_types[t].name)] = kept_array(std::move(arrays.original_ids[t]));
    }
    nb::dict made;
    made["edges"] = edges;
    made["original_ids"] = ids;
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
    Questions::get().close();
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

    bind_loaders(m);
    bind_own(m);
    bind_verbs(m);

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
    m.def(
        "write_weights",
        [](const std::string& run, const std::string& output, const FlatFloats& weights) {
            std::vector<float> values(weights.data(), weights.data() + weights.size());
            do_beside("a checkpoint", [=, values = std::move(values)]() mutable {
                write_weights({run, output, std::move(values)});
            });
        },
        nb::arg("run"), nb::arg("output"), nb::arg("weights"));
    m.def("graph_arrays", &arrays_of_graph, nb::arg("path"));
    m.def("typed_graph_arrays", &typed_arrays_of_graph, nb::arg("path"));
    m.def("described", &described, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>());
    m.def("use_mpi", &Job::use_mpi, nb::arg("communicator"), nb::arg("library"));
    m.def("shut_down", &shut_down, nb::arg("failure"));
}

}  // namespace rudder::python
