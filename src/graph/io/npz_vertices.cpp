// What an archive says of its vertices: features and the split.
#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "feature_sources.hpp"
#include "npz_reader.hpp"

namespace rudder::graph {

namespace {

std::unique_ptr<FeatureSource> read_sparse(const NpzArchive& archive, const std::string& prefix,
                                           VertexId vertices) {
    SparseRows sparse;
    sparse.rows = vertices;
    sparse.where = archive.where(prefix + "indices");
    if (archive.has("num_feats") && prefix == "feat_") {
        NpyReader reader = archive.open("num_feats");
        sparse.width = read_scalar(reader);
    } else {
        const std::string name = prefix + "shape";
        NpyReader reader = archive.open(name);
        const auto shape = read_integers(reader);
        if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) {
            throw input_error("a shape is two numbers", archive.where(name), "make it again");
        }
        if (std::cmp_not_equal(shape[0], vertices)) {
            throw input_error(
                fmt::format("there are {} rows of features for {} vertices", shape[0], vertices),
                archive.where(name), "give one for each vertex");
        }
        sparse.width = static_cast<std::uint64_t>(shape[1]);
    }
    NpyReader offsets = archive.open(prefix + "indptr");
    sparse.offsets = read_integers(offsets);
    NpyReader columns = archive.open(prefix + "indices");
    sparse.columns = read_ids(columns, columns.left(), sparse.width);
    for (const char* name : {"values", "data"}) {
        if (!archive.has(prefix + name)) continue;
        NpyReader values = archive.open(prefix + name);
        sparse.values = read_floats(values);
        if (sparse.values.size() != sparse.columns.size()) {
            throw input_error(fmt::format("there are {} values for {} entries",
                                          sparse.values.size(), sparse.columns.size()),
                              values.where(), "make the arrays again");
        }
        break;
    }
    return sparse_features(std::move(sparse));
}

void read_mask(NpyReader& reader, std::span<Role> roles, Role role) {
    if (reader.header().shape.size() != 1 || reader.left() != roles.size()) {
        throw input_error(
            fmt::format("the mask is {} for {} vertices", reader.header().describe(), roles.size()),
            reader.where(), "give one value for each vertex");
    }
    const auto mask = read_integers(reader);
    for (VertexId v = 0; v < mask.size(); ++v) {
        if (mask[v] != 0 && mask[v] != 1) {
            throw input_error(fmt::format("{} is neither 0 nor 1", mask[v]),
                              fmt::format("{}, position {}", reader.where(), v),
                              "give a mask of true and false");
        }
        if (mask[v] == 1) set_role(roles, v, role, reader.where(), v);
    }
}

void read_indices(NpyReader& reader, std::span<Role> roles, Role role) {
    const IdArray ids = read_ids(reader, reader.left(), roles.size());
    const IdSpan list = ids.span();
    for (std::size_t i = 0; i < list.size(); ++i)
        set_role(roles, list[i], role, reader.where(), i);
}

}  // namespace

void set_role(std::span<Role> roles, VertexId v, Role role, const std::string& where,
              std::uint64_t position) {
    if (roles[v] != Role::none && roles[v] != role) {
        throw input_error(fmt::format("vertex {} is in two sets of the split", v),
                          fmt::format("{}, position {}", where, position),
                          "let train, valid and test have no vertex in common");
    }
    roles[v] = role;
}

std::unique_ptr<FeatureSource> read_npz_features(const SharedArchive& archive, VertexId vertices) {
    if (const auto name = archive->first_of({"x", "feat", "features", "node_feat"});
        !name.empty()) {
        return dense_features([archive, name] { return archive->open(name); });
    }
    if (archive->has("x_int8")) {
        Array<float> scale;
        if (archive->has("x_scale")) {
            NpyReader reader = archive->open("x_scale");
            scale = read_floats(reader);
        }
        const NpyReader reader = archive->open("x_int8");
        if (reader.header().type != ElementType::i8) {
            throw input_error(
                fmt::format("the array is {} where int8 is expected", reader.header().describe()),
                reader.where(), "save it as int8, or call it 'x'");
        }
        return dense_features([archive] { return archive->open("x_int8"); }, std::move(scale));
    }
    for (const std::string prefix : {"feat_", "attr_"}) {
        if (archive->has(prefix + "indptr")) return read_sparse(*archive, prefix, vertices);
    }
    return nullptr;
}

std::optional<Array<Role>> read_npz_split(const NpzArchive& archive, VertexId vertices) {
    struct Names {
        Role role;
        std::array<const char*, 2> stems;
    };
    static constexpr std::array<Names, 3> sets{{{Role::train, {"train", "train"}},
                                                {Role::valid, {"val", "valid"}},
                                                {Role::test, {"test", "test"}}}};
    std::optional<Array<Role>> roles;
    for (const Names& set : sets) {
        std::string found;
        for (const char* stem : set.stems) {
            for (const char* end : {"", "_idx", "_index", "_mask"}) {
                const std::string name = std::string(stem) + end;
                if (found.empty() && archive.has(name)) found = name;
            }
        }
        if (found.empty()) continue;
        if (!roles) roles = Array<Role>::zeroed(vertices);
        NpyReader reader = archive.open(found);
        const bool mask = reader.header().boolean || found.ends_with("_mask");
        if (mask) {
            read_mask(reader, roles->span(), set.role);
        } else {
            read_indices(reader, roles->span(), set.role);
        }
    }
    return roles;
}

}  // namespace rudder::graph
