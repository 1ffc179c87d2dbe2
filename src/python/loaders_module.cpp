// Loaders and stores in the module _rudder.
#include <algorithm>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "engine.hpp"
#include "row_reader.hpp"

namespace rudder::python {

namespace {

using Floats = nb::ndarray<nb::array_api, float, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<nb::array_api, std::int64_t, nb::c_contig, nb::device::cpu>;
using Held = std::shared_ptr<train::LoadedStep>;

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

/// Pairs that are asked about, and which of them are joined: the first ones.
void add_pairs(train::LoadedBatch& batch, const EngineFacts& facts, const nb::capsule& owner,
               nb::dict& made) {
    const std::size_t pairs = batch.pairs.size() / 2;
    const std::size_t links = pairs / facts.group;
    std::vector<float> joined(pairs, 0.0F);
    std::fill_n(joined.begin(), links, 1.0F);
    made["edge_label_index"] = integers(batch.pairs.data(), {2, pairs}, owner);
    made["edge_label"] = kept_array(std::move(joined));
    made["batch_size"] = links;
    made["input_id"] = integers(batch.positions.data(), {batch.positions.size()}, owner);
}

/// What is of the seeds alone: targets, where they stand, and their number.
void add_seeds(const sample::Batch& sampled, train::LoadedBatch& batch, const EngineFacts& facts,
               const nb::capsule& owner, nb::dict& made) {
    made["y"] = targets_of(batch.targets, sampled.seeds, facts);
    made["batch_size"] = sampled.seeds;
    made["input_id"] = integers(batch.positions.data(), {batch.positions.size()}, owner);
}

nb::tuple key_of(const EdgeTypeName& type) {
    return nb::make_tuple(type.from, type.name, type.to);
}

/// One part of a step of a graph of several types: a dictionary for each type.
nb::dict typed_batch_of(const Held& step, std::size_t part, const EngineFacts& facts) {
    train::LoadedBatch& batch = step->batches[part];
    const nb::capsule owner = owner_of(step);
    nb::dict nodes;
    for (std::size_t t = 0; t < facts.node_types.size(); ++t) {
        train::LoadedVertices& own = batch.types.vertices[t];
        const NodeType& type = facts.node_types[t];
        nb::dict made;
        if (type.width != 0)
            made["x"] = Floats(own.rows.data(), {own.ids.size(), type.width}, owner);
        made["n_id"] = integers(own.ids.data(), {own.ids.size()}, owner);
        made["num_sampled_nodes"] = own.per_hop;
        if (!facts.links && t == facts.seed_type)
            add_seeds(step->sampled.batches[part], batch, facts, owner, made);
        nodes[nb::cast(type.name)] = made;
    }
    nb::dict edges;
    for (std::size_t t = 0; t < facts.edge_types.size(); ++t) {
        train::LoadedEdges& own = batch.types.edges[t];
        nb::dict made;
        made["edge_index"] = integers(own.ends.data(), {2, own.count()}, owner);
        if (facts.edge_numbers)
            made["e_id"] = integers(own.numbers.data(), {own.numbers.size()}, owner);
        made["num_sampled_edges"] = own.per_hop;
        if (facts.links && t == facts.link_type) add_pairs(batch, facts, owner, made);
        edges[key_of(facts.edge_types[t])] = made;
    }
    nb::dict made;
    made["nodes"] = nodes;
    made["edges"] = edges;
    return made;
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
    if (facts.links) {
        add_pairs(batch, facts, owner, made);
    } else {
        add_seeds(sampled, batch, facts, owner, made);
    }
    if (facts.edge_numbers)
        made["e_id"] = integers(batch.edge_numbers.data(), {batch.edge_numbers.size()}, owner);
    made["edge_index"] = integers(batch.edges.data(), {2, edges}, owner);
    made["n_id"] =
        integers(reinterpret_cast<std::int64_t*>(sampled.vertices.data()), {vertices}, owner);
    made["num_sampled_nodes"] = new_vertices;
    made["num_sampled_edges"] = new_edges;
    return made;
}

void make_engine(Engine* place, const std::string& path, const std::string& options,
                 const std::string& role, bool shuffled, bool floor, bool edge_ids,
                 const std::string& out, bool force, const std::vector<std::string>& command) {
    const nb::gil_scoped_release unlocked;
    new (place) Engine({.path = path,
                        .options = options,
                        .role = role,
                        .shuffled = shuffled,
                        .floor = floor,
                        .edge_numbers = edge_ids,
                        .folder = {.path = out, .force = force, .command = command}},
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
    const EngineFacts& facts = engine.facts();
    for (std::size_t part = 0; part < step->batches.size(); ++part) {
        batches.append(facts.node_types.empty() ? batch_of(step, part, facts)
                                                : typed_batch_of(step, part, facts));
    }
    return batches;
}

nb::dict facts_of(const Engine& engine) {
    const EngineFacts& facts = engine.facts();
    nb::dict made;
    nb::dict widths;
    for (const NodeType& type : facts.node_types)
        widths[nb::cast(type.name)] = type.width;
    made["widths"] = widths;
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

using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A negative id is one too large for any graph.
std::vector<VertexId> vertices_of(const Ids& ids) {
    return {ids.data(), ids.data() + ids.size()};
}

void make_reader(RowReader* place, const std::string& path, const std::string& options) {
    const nb::gil_scoped_release unlocked;
    new (place) RowReader({.path = path, .options = options}, signals_taken);
}

nb::dict facts_of_reader(const RowReader& reader) {
    const RowReaderFacts& facts = reader.facts();
    nb::dict made;
    made["num_nodes"] = facts.vertices;
    made["num_features"] = facts.width;
    made["path"] = facts.path;
    made["rank"] = facts.rank;
    made["world_size"] = facts.size;
    return made;
}

Floats rows_of(RowReader& reader, const Ids& ids) {
    auto wanted = vertices_of(ids);
    const std::size_t count = wanted.size();
    std::shared_ptr<rudder::Array<float>> rows;
    {
        const nb::gil_scoped_release unlocked;
        rows = reader.rows(std::move(wanted), signals_taken);
    }
    using Kept = std::shared_ptr<rudder::Array<float>>;
    float* const data = rows->span().data();
    const nb::capsule owner(new Kept(std::move(rows)),
                            [](void* held) noexcept { delete static_cast<Kept*>(held); });
    return {data, {count, reader.facts().width}, owner};
}

}  // namespace

void bind_loaders(nb::module_& module) {
    nb::class_<Engine>(module, "Engine")
        .def("__init__", &make_engine, nb::arg("path"), nb::arg("options"), nb::arg("role"),
             nb::arg("shuffled"), nb::arg("floor"), nb::arg("edge_ids"), nb::arg("out"),
             nb::arg("force"), nb::arg("command"))
        .def("facts", &facts_of)
        .def_prop_ro("step", &Engine::step)
        .def("next", &next_of)
        .def(
            "pause", [](Engine& self) { self.pause(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def("note_loss", &Engine::note_loss, nb::arg("part"), nb::arg("loss"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("leave_epoch", &Engine::leave_epoch, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "skip_epoch", [](Engine& self) { self.skip_epoch(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "stats", [](Engine& self) { return self.stats(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "close", [](Engine& self) { self.close(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>());

    nb::class_<RowReader>(module, "RowReader")
        .def("__init__", &make_reader, nb::arg("path"), nb::arg("options"))
        .def("facts", &facts_of_reader)
        .def(
            "announce",
            [](RowReader& self, const Ids& ids) {
                auto wanted = vertices_of(ids);
                const nb::gil_scoped_release unlocked;
                self.announce(std::move(wanted), signals_taken);
            },
            nb::arg("ids"))
        .def("rows", &rows_of, nb::arg("ids"))
        .def(
            "stats", [](RowReader& self) { return self.stats(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "close", [](RowReader& self) { self.close(signals_taken); },
            nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace rudder::python
