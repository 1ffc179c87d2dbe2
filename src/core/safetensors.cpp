#include "safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

/// A longer header is taken for damage.
constexpr std::uint64_t longest_header = 64U << 20;
constexpr const char* metadata_key = "__metadata__";

Error damaged_tensors(const std::filesystem::path& file, const TensorRules& rules,
                      const std::string& what) {
    return input_error(fmt::format("invalid safetensors file: {}", what), file.string(),
                       fmt::format("use another {}, or write it again", rules.noun));
}

/// Values of one tensor in the file: what its header says, checked.
struct TensorPlace {
    Safetensors::Tensor tensor;
    std::uint64_t begin = 0;
    std::uint64_t count = 1;
};

TensorPlace place_of_tensor(const Json& entry, const std::string& name,
                            const std::filesystem::path& file, const TensorRules& rules,
                            std::uint64_t bytes) {
    const std::string where = fmt::format("{}, '{}'", file.string(), name);
    TensorPlace place;
    const std::string type = json_string(entry, "dtype", where);
    if (type != "F32" && !(rules.bfloat16 && type == "BF16")) {
        throw damaged_tensors(
            file, rules, fmt::format("{} is not F32{}", name, rules.bfloat16 ? " or BF16" : ""));
    }
    place.tensor.type = type == "F32" ? TensorType::float32 : TensorType::bfloat16;
    const std::uint64_t each = type == "F32" ? 4 : 2;
    for (const Json& side : json_field(entry, "shape", where)) {
        if (!side.is_number_unsigned() || side.get<std::uint64_t>() >> 63U != 0)
            throw damaged_tensors(file, rules, "invalid shape: not all whole numbers");
        place.tensor.shape.push_back(side.get<std::int64_t>());
        place.count = checked_mul(place.count, side.get<std::uint64_t>(), "tensor size");
    }
    const Json& offsets = json_field(entry, "data_offsets", where);
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
        throw damaged_tensors(file, rules, "data_offsets must be a pair");
    }
    place.begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (place.begin > end || end > bytes || place.begin % each != 0 ||
        (end - place.begin) / each != place.count || (end - place.begin) % each != 0) {
        throw damaged_tensors(file, rules, fmt::format("'{}' lies outside of it", name));
    }
    return place;
}

std::string make_header(std::span<const TensorToWrite> tensors,
                        const std::map<std::string, std::string>& notes) {
    Json header = Json::object();
    if (!notes.empty()) header[metadata_key] = notes;
    std::uint64_t offset = 0;
    for (const TensorToWrite& tensor : tensors) {
        const std::uint64_t end = offset + tensor.values.size_bytes();
        header[tensor.name] =
            json_object({{"dtype", "F32"},
                         {"shape", tensor.shape},
                         {"data_offsets", std::vector<std::uint64_t>{offset, end}}});
        offset = end;
    }
    std::string text = header.dump();
    // Padded with spaces, so that the tensors begin aligned.
    text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
    return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& notes) {
    const std::string header = make_header(tensors, notes);
    const std::uint64_t length = header.size();
    File out = File::create(file);
    out.write(std::as_bytes(std::span(&length, 1)));
    out.write(std::as_bytes(std::span(header)));
    for (const TensorToWrite& tensor : tensors)
        out.write(std::as_bytes(tensor.values));
    out.sync_and_close();
}

Safetensors::Safetensors(const std::filesystem::path& file, const TensorRules& rules)
    : file_(file) {
    const File in = File::open(file);
    take(
        in.size(),
        [&](std::uint64_t at, std::span<std::byte> to) -> std::uint64_t {
            return in.read_at(at, to);
        },
        rules);
}

Safetensors::Safetensors(std::span<const std::byte> bytes, const std::string& name,
                         const TensorRules& rules)
    : file_(name) {
    take(
        bytes.size(),
        [&](std::uint64_t at, std::span<std::byte> to) -> std::uint64_t {
            const auto rest = bytes.subspan(std::min<std::uint64_t>(at, bytes.size()));
            std::ranges::copy(rest.first(std::min(rest.size(), to.size())), to.begin());
            return std::min(rest.size(), to.size());
        },
        rules);
}

void Safetensors::take(std::uint64_t size, ReadAt read, const TensorRules& rules) {
    const std::filesystem::path& file = file_;
    if (size > rules.most_bytes) {
        throw damaged_tensors(file, rules,
                              fmt::format("it has {} bytes, more than {}", size, rules.most_bytes));
    }
    std::uint64_t length = 0;
    if (read(0, std::as_writable_bytes(std::span(&length, 1))) != sizeof(length))
        throw damaged_tensors(file, rules, "it ends in its first 8 bytes");
    if (length > longest_header || length > size - sizeof(length))
        throw damaged_tensors(file, rules, fmt::format("its header would have {} bytes", length));
    std::string text(length, '\0');
    read(sizeof(length), std::as_writable_bytes(std::span(text)));
    const Json header = parse_json(text, file.string());
    if (!header.is_object()) throw damaged_tensors(file, rules, "its header must be an object");
    bytes_ = size - sizeof(length) - length;
    const std::uint64_t each = rules.bfloat16 ? 2 : 4;
    if (bytes_ % each != 0) {
        throw damaged_tensors(file, rules,
                              fmt::format("its size must be a multiple of {} bytes", each));
    }
    data_.resize((bytes_ + sizeof(float) - 1) / sizeof(float));
    read(sizeof(length) + length, std::as_writable_bytes(std::span(data_)).first(bytes_));
    for (const auto& [name, entry] : header.items()) {
        if (name == metadata_key) {
            for (const auto& [key, note] : entry.items())
                notes_[key] = note.is_string() ? note.get<std::string>() : note.dump();
            continue;
        }
        auto [tensor, begin, count] = place_of_tensor(entry, name, file, rules, bytes_);
        const bool whole = tensor.type == TensorType::float32;
        tensor.bytes = data().subspan(begin, count * (whole ? 4 : 2));
        if (whole)
            tensor.values = std::span<const float>(data_).subspan(begin / sizeof(float), count);
        tensors_.emplace(name, std::move(tensor));
    }
}

const Safetensors::Tensor& Safetensors::found(const std::string& name,
                                              std::span<const std::int64_t> shape) const {
    const auto at = tensors_.find(name);
    if (at == tensors_.end()) {
        throw input_error(fmt::format("no tensor '{}'", name), file_.string(),
                          "give the file of this model");
    }
    if (!std::ranges::equal(at->second.shape, shape)) {
        throw input_error(fmt::format("tensor '{}' has another shape than the model's", name),
                          file_.string(), "give the file of this model");
    }
    return at->second;
}

std::span<const float> Safetensors::tensor(const std::string& name,
                                           std::span<const std::int64_t> shape) const {
    const Tensor& tensor = found(name, shape);
    if (tensor.type != TensorType::float32) {
        throw input_error(fmt::format("tensor '{}' is not F32", name), file_.string(),
                          "give the file of this model");
    }
    return tensor.values;
}

std::vector<float> Safetensors::widened(const std::string& name,
                                        std::span<const std::int64_t> shape) const {
    const Tensor& tensor = found(name, shape);
    if (tensor.type == TensorType::float32) return {tensor.values.begin(), tensor.values.end()};
    std::vector<float> values(tensor.bytes.size() / 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t upper = 0;
        std::memcpy(&upper, tensor.bytes.data() + 2 * i, sizeof(upper));
        values[i] = std::bit_cast<float>(std::uint32_t{upper} << 16U);
    }
    return values;
}

}  // namespace rudder
