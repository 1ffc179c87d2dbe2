#include "safetensors.hpp"

#include <bit>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder::train {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

namespace {

/// A longer header is taken for damage.
constexpr std::uint64_t longest_header = 64U << 20;
constexpr const char* metadata_key = "__metadata__";

Error damaged_tensors(const std::filesystem::path& file, const std::string& what) {
    return input_error(fmt::format("no whole safetensors file: {}", what), file.string(),
                       "use another checkpoint, or write it again");
}

std::string make_header(std::span<const TensorToWrite> tensors,
                        const std::map<std::string, std::string>& notes) {
    Json header = Json::object();
    if (!notes.empty()) header[metadata_key] = notes;
    std::uint64_t offset = 0;
    for (const TensorToWrite& tensor : tensors) {
        const std::uint64_t end = offset + tensor.values.size_bytes();
        header[tensor.name] = {
            {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
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

Safetensors::Safetensors(const std::filesystem::path& file) : file_(file) {
    const File in = File::open(file);
    const std::uint64_t size = in.size();
    std::uint64_t length = 0;
    if (in.read_at(0, std::as_writable_bytes(std::span(&length, 1))) != sizeof(length))
        throw damaged_tensors(file, "it ends in its first 8 bytes");
    if (length > longest_header || length > size - sizeof(length))
        throw damaged_tensors(file, fmt::format("its header would have {} bytes", length));
    std::string text(length, '\0');
    in.read_at(sizeof(length), std::as_writable_bytes(std::span(text)));
    const Json header = parse_json(text, file.string());
    if (!header.is_object()) throw damaged_tensors(file, "its header must be an object");
    const std::uint64_t bytes = size - sizeof(length) - length;
    if (bytes % sizeof(float) != 0)
        throw damaged_tensors(file, "its size must be a multiple of 4 bytes");
    data_.resize(bytes / sizeof(float));
    in.read_at(sizeof(length) + length, std::as_writable_bytes(std::span(data_)));
    for (const auto& [name, entry] : header.items()) {
        const std::string where = fmt::format("{}, '{}'", file.string(), name);
        if (name == metadata_key) {
            for (const auto& [key, note] : entry.items())
                notes_[key] = note.is_string() ? note.get<std::string>() : note.dump();
            continue;
        }
        if (json_string(entry, "dtype", where) != "F32")
            throw damaged_tensors(file, name + " is not F32");
        Tensor tensor;
        std::uint64_t count = 1;
        for (const Json& side : json_field(entry, "shape", where)) {
            if (!side.is_number_unsigned() || side.get<std::uint64_t>() >> 63U != 0)
                throw damaged_tensors(file, "a shape of no whole numbers");
            tensor.shape.push_back(side.get<std::int64_t>());
            count = checked_mul(count, side.get<std::uint64_t>(), "tensor size");
        }
        const Json& offsets = json_field(entry, "data_offsets", where);
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned()) {
            throw damaged_tensors(file, "data_offsets must be a pair");
        }
        const auto begin = offsets[0].get<std::uint64_t>();
        const auto end = offsets[1].get<std::uint64_t>();
        if (begin > end || end > bytes || begin % sizeof(float) != 0 ||
            (end - begin) / sizeof(float) != count || (end - begin) % sizeof(float) != 0) {
            throw damaged_tensors(file, fmt::format("'{}' lies outside of it", name));
        }
        tensor.values = std::span<const float>(data_).subspan(begin / sizeof(float), count);
        tensors_.emplace(name, std::move(tensor));
    }
}

std::span<const float> Safetensors::tensor(const std::string& name,
                                           std::span<const std::int64_t> shape) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        throw input_error(fmt::format("no tensor '{}'", name), file_.string(),
                          "the file is of another model");
    }
    if (!std::ranges::equal(found->second.shape, shape)) {
        throw input_error(fmt::format("tensor '{}' has another shape than the model's", name),
                          file_.string(), "the file is of another model");
    }
    return found->second.values;
}

}  // namespace rudder::train
