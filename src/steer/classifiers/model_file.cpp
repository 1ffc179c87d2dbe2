// The file of a model: a magic word, a JSON header with lengths and names, then the arrays.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/staging.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "classifiers.hpp"

namespace rudder::steer {

namespace {

constexpr std::string_view magic = "RUDMODEL";
constexpr std::uint64_t most_model_bytes = std::uint64_t{1} << 30;

template <class T>
void append(std::string& to, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Json names_json(FeatureSet set) {
    Json list = Json::array();
    for (const std::string_view name : feature_names(set))
        list.push_back(name);
    return list;
}

Json header_json(const Model& model, const std::string& payload) {
    Json arrays = Json::array();
    for (const ModelArray& array : model.arrays) {
        arrays.push_back({{"name", array.name},
                          {"type", array.wholes.empty() ? "float32" : "int32"},
                          {"shape", array.shape}});
    }
    return {{"format", "rudder classifier"},
            {"version", model_version},
            {"kind", model.kind},
            {"label", to_string(model.label)},
            {"features",
             {{"set", to_string(model.features)},
              {"version", feature_version},
              {"names", names_json(model.features)}}},
            {"arrays", std::move(arrays)},
            {"checksum", to_hex(hash_bytes(std::as_bytes(std::span(payload))))},
            {"report", model.report.empty() ? Json() : Json::parse(model.report)}};
}

/// Takes values one after the other from the bytes behind the header.
class Reader {
public:
    Reader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

    template <class T>
    std::vector<T> take(std::uint64_t count) {
        if (count > bytes_.size() / sizeof(T)) refuse_model("the model is cut short", where_);
        std::vector<T> values(count);
        if (count != 0) std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
        bytes_.remove_prefix(count * sizeof(T));
        return values;
    }
    [[nodiscard]] bool done() const noexcept { return bytes_.empty(); }

private:
    std::string_view bytes_;
    std::string where_;
};

void expect_finite(std::span<const float> values, const std::string& name,
                   const std::string& where) {
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); }))
        refuse_model(fmt::format("array '{}' contains NaN or infinity", name), where);
}

ModelArray read_array(const Json& entry, Reader& reader, const std::string& where) {
    ModelArray array;
    array.name = json_string(entry, "name", where);
    std::uint64_t size = 1;
    const Json& shape = json_field(entry, "shape", where);
    for (const Json& extent : shape) {
        if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > most_model_bytes)
            refuse_model(fmt::format("array '{}' has a broken shape", array.name), where);
        array.shape.push_back(extent.get<std::uint64_t>());
        size *= std::max<std::uint64_t>(1, array.shape.back());
        if (array.shape.back() == 0 || size > most_model_bytes)
            refuse_model(fmt::format("array '{}' has a broken shape", array.name), where);
    }
    const std::string type = json_string(entry, "type", where);
    if (type == "int32") {
        array.wholes = reader.take<std::int32_t>(size);
    } else if (type == "float32") {
        array.values = reader.take<float>(size);
        expect_finite(array.values, array.name, where);
    } else {
        refuse_model(fmt::format("array '{}' is of unknown type '{}'", array.name, type), where);
    }
    return array;
}

FeatureSet read_features(const Json& features, const std::string& where) {
    const std::string name = json_string(features, "set", where);
    for (const FeatureSet set : {FeatureSet::repaired, FeatureSet::faithful}) {
        if (name != to_string(set)) continue;
        if (json_u64(features, "version", where) != feature_version ||
            json_field(features, "names", where) != names_json(set)) {
            refuse_model(fmt::format("the model was fitted to another list of {} features than "
                                     "version {} of this program",
                                     name, feature_version),
                         where);
        }
        return set;
    }
    refuse_model(fmt::format("unknown feature list '{}'", name), where);
}

Model read_header(const Json& header, const std::string& where) {
    if (!header.contains("format") || header["format"] != "rudder classifier")
        refuse_model("not a classifier file", where);
    const std::uint64_t version = json_u64(header, "version", where);
    if (version != model_version) {
        refuse_model(fmt::format("the model is of version {}, this program reads version {}",
                                 version, model_version),
                     where);
    }
    Model model;
    model.kind = json_string(header, "kind", where);
    const std::string label = json_string(header, "label", where);
    model.label =
        label == to_string(LabelKind::paper) ? LabelKind::paper : LabelKind::counterfactual;
    if (label != to_string(model.label)) refuse_model("unknown label '" + label + "'", where);
    model.features = read_features(json_field(header, "features", where), where);
    return model;
}

}  // namespace

void write_model(const Model& model, const std::filesystem::path& path, bool force) {
    std::string payload;
    append(payload, std::span(model.mean));
    append(payload, std::span(model.spread));
    for (const ModelArray& array : model.arrays) {
        append(payload, std::span(array.values));
        append(payload, std::span(array.wholes));
    }
    const std::string header = header_json(model, payload).dump();
    const std::uint64_t length = header.size();
    std::string bytes(magic);
    append(bytes, std::span(&length, 1));
    bytes += header;
    bytes += payload;
    Staging staging = Staging::file(path, force ? Existing::replace : Existing::refuse);
    write_text(staging.path(), bytes);
    staging.commit();
}

Model read_model(const std::filesystem::path& path) {
    const std::string where = path.string();
    const std::string bytes = read_text(path, most_model_bytes);
    const std::string_view all = bytes;
    if (!all.starts_with(magic)) refuse_model("not a classifier file", where);
    Reader lengths(all.substr(magic.size()), where);
    const std::uint64_t length = lengths.take<std::uint64_t>(1)[0];
    const std::string_view rest = all.substr(magic.size() + sizeof length);
    if (length > rest.size()) refuse_model("the model is cut short", where);
    const Json header = parse_json(rest.substr(0, length), where);
    Model model = read_header(header, where);
    const std::string_view payload = rest.substr(length);
    if (json_string(header, "checksum", where) !=
        to_hex(hash_bytes(std::as_bytes(std::span(payload))))) {
        refuse_model("the model is cut short or was changed", where);
    }
    Reader reader(payload, where);
    const std::size_t count = feature_names(model.features).size();
    model.mean = reader.take<float>(count);
    model.spread = reader.take<float>(count);
    expect_finite(model.mean, "mean", where);
    expect_finite(model.spread, "spread", where);
    if (!std::ranges::all_of(model.spread, [](float s) { return s > 0; }))
        refuse_model("a feature has no spread", where);
    for (const Json& entry : json_field(header, "arrays", where))
        model.arrays.push_back(read_array(entry, reader, where));
    if (!reader.done()) refuse_model("the file goes on after the end of the model", where);
    if (const Json& report = json_field(header, "report", where); !report.is_null())
        model.report = report.dump();
    return model;
}

}  // namespace rudder::steer
