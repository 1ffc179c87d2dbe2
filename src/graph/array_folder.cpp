#include "rudder/graph/array_folder.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"

namespace rudder::graph {

static_assert(std::endian::native == std::endian::little, "arrays are little-endian on disk");

namespace {

constexpr const char* remake = "make the data set again, or restore it from a copy";

ArrayInfo array_info(const Json& entry, const std::string& where) {
    ArrayInfo info;
    info.file = json_string(entry, "file", where);
    if (info.file.empty() || info.file.find('/') != std::string::npos || info.file == "..") {
        throw input_error(fmt::format("invalid file name: '{}'", info.file), where, remake);
    }
    const std::string type = json_string(entry, "type", where);
    const auto known = element_type(type);
    if (!known) throw input_error(fmt::format("unknown type '{}'", type), where, remake);
    info.type = *known;
    const Json& shape = json_field(entry, "shape", where);
    if (!shape.is_array() || shape.empty() || shape.size() > 2) {
        throw input_error("a shape has one or two numbers", where, remake);
    }
    for (const Json& extent : shape) {
        if (!extent.is_number_unsigned()) {
            throw input_error("a shape holds whole numbers from 0 on", where, remake);
        }
        info.shape.push_back(extent.get<std::uint64_t>());
    }
    info.checksum = from_hex(json_string(entry, "checksum", where), where);
    return info;
}

}  // namespace

std::uint64_t ArrayInfo::count() const {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : shape)
        product = checked_mul(product, extent, "array shape");
    return product;
}

std::uint64_t ArrayInfo::bytes() const {
    return checked_mul<std::uint64_t>(count(), element_size(type), "array size");
}

// ---- writing -----------------------------------------------------------------------------------

ArrayStream::ArrayStream(ArrayFolderWriter& folder, std::string name, ArrayInfo info, File file)
    : folder_(&folder), name_(std::move(name)), info_(std::move(info)), file_(std::move(file)) {}

void ArrayStream::append(std::span<const std::byte> bytes) {
    file_.write(bytes);
    checksum_.update(bytes);
    written_ += bytes.size();
}

void ArrayStream::finish() {
    if (growing_) info_.shape = {written_ / element_size(info_.type)};
    RUDDER_CHECK(written_ == info_.bytes());
    file_.sync_and_close();
    info_.checksum = checksum_.finish();
    folder_->arrays_[name_] = info_;
}

void ArrayFolderWriter::write(const std::string& name, ElementType type,
                              std::vector<std::uint64_t> shape, std::span<const std::byte> bytes) {
    ArrayInfo info{name + ".bin", type, std::move(shape), 0};
    RUDDER_CHECK(info.bytes() == bytes.size());
    File file = File::create(folder_ / info.file);
    std::vector<std::uint64_t> blocks(chunk_count(bytes.size(), checksum_block));
    parallel_chunks(bytes.size(), checksum_block, [&](const Chunk& chunk) {
        const auto block = bytes.subspan(chunk.begin, chunk.end - chunk.begin);
        blocks[chunk.index] = hash_bytes(block);
        file.write_at(chunk.begin, block);
    });
    file.sync_and_close();
    info.checksum = hash_bytes(std::as_bytes(std::span(blocks)));
    arrays_[name] = std::move(info);
}

ArrayStream ArrayFolderWriter::stream(const std::string& name, ElementType type,
                                      std::vector<std::uint64_t> shape) {
    ArrayInfo info{name + ".bin", type, std::move(shape), 0};
    File file = File::create(folder_ / info.file);
    return {*this, name, std::move(info), std::move(file)};
}

ArrayStream ArrayFolderWriter::growing(const std::string& name, ElementType type) {
    ArrayStream made = stream(name, type, {0});
    made.growing_ = true;
    return made;
}

ArrayStream ArrayFolderWriter::growing_after(const std::string& name, ElementType type,
                                             std::uint64_t count) {
    ArrayInfo info{name + ".bin", type, {count}, 0};
    const auto path = folder_ / info.file;
    const std::uint64_t bytes = info.bytes();
    ChecksumStream checksum;
    {
        const Region before = Region::map(path);
        if (before.size() < bytes) {
            throw input_error(fmt::format("the file has {} bytes of {}", before.size(), bytes),
                              path.string(), remake);
        }
        checksum.update({before.data(), bytes});
    }
    ArrayStream made(*this, name, std::move(info), File::append(path, bytes));
    made.checksum_ = std::move(checksum);
    made.written_ = bytes;
    made.growing_ = true;
    return made;
}

void ArrayFolderWriter::finish(Json header) {
    Json& arrays = header["arrays"] = Json::object();
    for (const auto& [name, info] : arrays_) {
        arrays[name] = json_object({{"file", info.file},
                                    {"type", to_string(info.type)},
                                    {"shape", info.shape},
                                    {"checksum", to_hex(info.checksum)}});
    }
    write_text(folder_ / "manifest.json", header.dump(2) + "\n");
}

// ---- reading -----------------------------------------------------------------------------------

ArrayFolder::ArrayFolder(std::filesystem::path folder, std::string_view format,
                         std::uint64_t version)
    : folder_(std::move(folder)) {
    const std::string where = manifest_path();
    if (!std::filesystem::exists(where)) {
        // Formats are named "rudder dataset", "rudder part", ...
        throw input_error(fmt::format("not a Rudder {} (manifest.json missing)",
                                      format.substr(format.find(' ') + 1)),
                          folder_.string(),
                          "check the path, or make one with 'rudder import' or 'rudder generate'");
    }
    check_inside(folder_, where);
    manifest_ = std::make_shared<const Json>(read_json(where));
    const std::string found = json_string(*manifest_, "format", where);
    if (found != format) {
        throw input_error(fmt::format("this is a '{}', not a '{}'", found, format), where,
                          "give the other folder");
    }
    const std::uint64_t made = json_u64(*manifest_, "version", where);
    if (made > version || made == 0) {
        throw input_error(
            fmt::format("format version {} is not one this program reads (1 to {})", made, version),
            where, "use a newer rudder, or make the data set again");
    }
    for (const auto& [name, entry] : json_field(*manifest_, "arrays", where).items()) {
        const std::string place = fmt::format("{}, array '{}'", where, name);
        const ArrayInfo info = array_info(entry, place);
        const auto file = folder_ / info.file;
        check_inside(folder_, file);
        std::error_code code;
        const std::uintmax_t size = std::filesystem::file_size(file, code);
        if (code) {
            throw input_error(fmt::format("the file of array '{}' is missing", name), file.string(),
                              remake);
        }
        if (size != info.bytes()) {
            throw input_error(
                fmt::format("the file has {} bytes, its manifest says {}", size, info.bytes()),
                fmt::format("{}, array '{}'", file.string(), name), remake);
        }
        arrays_.emplace(name, info);
    }
}

const ArrayInfo& ArrayFolder::expect(const std::string& name,
                                     std::span<const std::uint64_t> shape) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) {
        throw input_error(fmt::format("array '{}' is missing", name), manifest_path(), remake);
    }
    if (!std::equal(shape.begin(), shape.end(), found->second.shape.begin(),
                    found->second.shape.end())) {
        throw input_error(fmt::format("the array has shape [{}] where [{}] is expected",
                                      fmt::join(found->second.shape, ", "), fmt::join(shape, ", ")),
                          fmt::format("{}, array '{}'", manifest_path(), name), remake);
    }
    return found->second;
}

Region ArrayFolder::map(const std::string& name) const {
    return Region::map(folder_ / arrays_.at(name).file);
}

void ArrayFolder::check_type(const std::string& name, const ArrayInfo& info,
                             ElementType type) const {
    if (info.type == type) return;
    throw input_error(
        fmt::format("the array is of type {}, not {}", to_string(info.type), to_string(type)),
        fmt::format("{}, array '{}'", manifest_path(), name), remake);
}

void ArrayFolder::verify_checksums() const {
    for (const auto& [name, info] : arrays_) {
        const Region bytes = map(name);
        const std::uint64_t sum = array_checksum({bytes.data(), bytes.size()});
        if (sum == info.checksum) continue;
        throw input_error(fmt::format("the checksum is {}, the manifest says {}", to_hex(sum),
                                      to_hex(info.checksum)),
                          fmt::format("{}, array '{}'", (folder_ / info.file).string(), name),
                          remake);
    }
}

bool ArrayFolder::is(const std::filesystem::path& folder, std::string_view format) {
    const auto file = folder / "manifest.json";
    if (!std::filesystem::exists(file)) return false;
    const Json manifest = read_json(file);
    return manifest.is_object() && manifest.value("format", "") == format;
}

}  // namespace rudder::graph
