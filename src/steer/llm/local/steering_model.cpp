#include "steering_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/http.hpp"

namespace rudder::steer {

namespace {

constexpr const char* other_file = "use another model file";

Error bad_model(const std::string& what, const std::string& where) {
    return input_error("invalid model: " + what, where, other_file);
}

/// A size of the model by its name in `config`, and the largest it may have.
struct SizeRule {
    const char* name;
    std::size_t ModelShape::*size;
    std::uint64_t least;
    std::uint64_t most;
};
constexpr SizeRule size_rules[]{
    {"layers", &ModelShape::layers, 1, 128},
    {"width", &ModelShape::width, 2, 8192},
    {"heads", &ModelShape::heads, 1, 256},
    {"kv_heads", &ModelShape::kv_heads, 1, 256},
    {"hidden", &ModelShape::hidden, 1, 32768},
    {"context", &ModelShape::context, 16, 65536},
    {"vocabulary", &ModelShape::vocabulary, Vocabulary::first_piece, 262144}};

ModelShape shape_of(const Json& config, const std::string& where) {
    if (!config.is_object()) throw bad_model("config must be an object", where);
    ModelShape shape;
    for (const SizeRule& rule : size_rules) {
        const std::uint64_t size = json_u64(config, rule.name, where);
        if (size < rule.least || size > rule.most) {
            throw bad_model(
                fmt::format("{} is {}, not {} to {}", rule.name, size, rule.least, rule.most),
                where);
        }
        shape.*rule.size = size;
    }
    if (shape.width % shape.heads != 0 || shape.head() % 2 != 0)
        throw bad_model("width must be an even multiple of heads", where);
    if (shape.heads % shape.kv_heads != 0)
        throw bad_model("heads must be a multiple of kv_heads", where);
    shape.rope_base = json_number(config, "rope_base", where);
    if (!(shape.rope_base > 1 && shape.rope_base <= 1e12))
        throw bad_model("rope_base must be above 1 and up to 1e12", where);
    shape.norm_eps = json_number(config, "norm_eps", where);
    if (!(shape.norm_eps >= 1e-12 && shape.norm_eps <= 1))
        throw bad_model("norm_eps must be from 1e-12 to 1", where);
    // Keys and values of a whole context, which are allocated.
    const double cache = 8.0 * static_cast<double>(shape.layers * shape.kv_heads * shape.head()) *
                         static_cast<double>(shape.context);
    if (cache > 4e9) throw bad_model("its context takes over 4 GB of keys and values", where);
    return shape;
}

std::vector<std::string> pieces_of(const Json& tokens, const std::string& where) {
    if (!tokens.is_array()) throw bad_model("tokens must be a list", where);
    std::vector<std::string> pieces;
    pieces.reserve(tokens.size());
    for (const Json& token : tokens) {
        if (!token.is_string()) {
            throw bad_model(fmt::format("invalid token {}: it must be a text", pieces.size()),
                            where);
        }
        pieces.push_back(token.get<std::string>());
    }
    return pieces;
}

const std::string& note_of(const Safetensors& file, const char* key, const std::string& where) {
    const auto found = file.notes().find(key);
    if (found == file.notes().end())
        throw bad_model(fmt::format("its metadata lacks '{}'", key), where);
    return found->second;
}

void check_notes(const Safetensors& file, const std::string& where) {
    if (const std::string& format = note_of(file, "format", where);
        format != SteeringModel::format) {
        throw bad_model(fmt::format("its format is '{}', not '{}'", printable(format, 40),
                                    SteeringModel::format),
                        where);
    }
    if (const std::string& version = note_of(file, "version", where);
        version != SteeringModel::version) {
        throw bad_model(fmt::format("its version is '{}', not '{}'", printable(version, 40),
                                    SteeringModel::version),
                        where);
    }
    const std::string checksum = to_hex(array_checksum(file.data()));
    if (note_of(file, "checksum", where) != checksum) {
        throw bad_model(fmt::format("its checksum is {}, of its weights {}",
                                    printable(note_of(file, "checksum", where), 20), checksum),
                        where);
    }
    const auto words = file.notes().find("header_checksum");
    if (words != file.notes().end() &&
        words->second !=
            words_checksum(note_of(file, "config", where), note_of(file, "tokens", where))) {
        throw bad_model("its header_checksum does not match its config and tokens", where);
    }
}

/// Nothing but the model's tensors, each once, and no bytes between them.
void check_tensors(const Safetensors& file, const std::vector<ModelTensor>& tensors,
                   const std::string& where) {
    std::uint64_t bytes = 0;
    for (const ModelTensor& tensor : tensors) {
        const auto found = file.tensors().find(tensor.name);
        if (found == file.tensors().end())
            throw bad_model(fmt::format("no tensor '{}'", tensor.name), where);
        if (!std::ranges::equal(found->second.shape, tensor.shape)) {
            throw bad_model(
                fmt::format("tensor '{}' is of shape [{}], not [{}]", tensor.name,
                            fmt::join(found->second.shape, ", "), fmt::join(tensor.shape, ", ")),
                where);
        }
        bytes += found->second.bytes.size();
    }
    for (const auto& [name, tensor] : file.tensors()) {
        if (std::ranges::find(tensors, name, &ModelTensor::name) == tensors.end()) {
            throw bad_model(fmt::format("unknown tensor '{}'", printable(name, 60)), where);
        }
    }
    if (bytes != file.data().size())
        throw bad_model("its tensors overlap, or leave bytes unused", where);
}

constexpr TensorRules model_rules{
    .bfloat16 = true, .most_bytes = SteeringModel::most_file_bytes, .noun = "model file"};

SteeringModel model_of(const Safetensors& file, const std::string& name, const std::string& where) {
    check_notes(file, where);
    SteeringModel model;
    model.name = printable(name, 80);
    model.shape = shape_of(parse_json(note_of(file, "config", where), where + ", config"), where);
    model.pieces = pieces_of(parse_json(note_of(file, "tokens", where), where + ", tokens"), where);
    if (model.pieces.size() != model.shape.vocabulary) {
        throw bad_model(fmt::format("it has {} tokens, and a vocabulary of {}", model.pieces.size(),
                                    model.shape.vocabulary),
                        where);
    }
    const Vocabulary words(model.pieces, where);  // refuses what will not do
    const std::vector<ModelTensor> tensors = model_tensors(model.shape);
    check_tensors(file, tensors, where);
    model.layers.resize(model.shape.layers);
    for (const ModelTensor& tensor : tensors) {
        std::vector<float>& values = tensor.of(model);
        values = file.widened(tensor.name, tensor.shape);
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
            throw bad_model(fmt::format("tensor '{}' holds NaN or infinity", tensor.name), where);
        }
    }
    return model;
}

}  // namespace

std::uint64_t SteeringModel::parameters() const noexcept {
    std::uint64_t count = 0;
    for (const ModelTensor& tensor : model_tensors(shape)) {
        std::int64_t values = 1;
        for (const std::int64_t side : tensor.shape)
            values *= side;
        count += static_cast<std::uint64_t>(values);
    }
    return count;
}

std::vector<ModelTensor> model_tensors(const ModelShape& shape) {
    const auto side = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    const std::int64_t width = side(shape.width);
    const std::int64_t hidden = side(shape.hidden);
    const std::int64_t kept = side(shape.kv_heads * shape.head());
    using L = LayerWeights;
    struct Of {
        const char* name;
        std::vector<std::int64_t> shape;
        std::vector<float> L::*part;
    };
    const std::vector<Of> parts{{"attn_norm", {width}, &L::attn_norm},
                                {"attn_q", {width, width}, &L::query},
                                {"attn_k", {kept, width}, &L::key},
                                {"attn_v", {kept, width}, &L::value},
                                {"attn_output", {width, width}, &L::attn_output},
                                {"ffn_norm", {width}, &L::ffn_norm},
                                {"ffn_gate", {hidden, width}, &L::gate},
                                {"ffn_up", {hidden, width}, &L::up},
                                {"ffn_down", {width, hidden}, &L::down}};
    std::vector<ModelTensor> tensors{
        {"token_embd.weight", {side(shape.vocabulary), width}, &SteeringModel::embedding},
        {"output_norm.weight", {width}, &SteeringModel::output_norm}};
    for (std::size_t layer = 0; layer < shape.layers; ++layer) {
        for (const Of& of : parts) {
            tensors.push_back({fmt::format("blk.{}.{}.weight", layer, of.name), of.shape, nullptr,
                               of.part, layer});
        }
    }
    return tensors;
}

std::string shape_text(const ModelShape& shape) {
    Json config = Json::object();
    for (const SizeRule& rule : size_rules)
        config[rule.name] = shape.*rule.size;
    config["rope_base"] = shape.rope_base;
    config["norm_eps"] = shape.norm_eps;
    return config.dump();
}

std::string words_checksum(const std::string& config, const std::string& tokens) {
    const std::string both = config + "\n" + tokens;
    return to_hex(hash_bytes(std::as_bytes(std::span(both))));
}

SteeringModel read_steering_model(const std::filesystem::path& path) {
    return model_of(Safetensors(path, model_rules), path.filename().string(), path.string());
}

SteeringModel read_steering_model(std::span<const std::byte> bytes, const std::string& name) {
    return model_of(Safetensors(bytes, name, model_rules), name, name);
}

}  // namespace rudder::steer
