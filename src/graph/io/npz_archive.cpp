#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include "rudder/core/file.hpp"

#include "npz.hpp"

namespace rudder::graph {

namespace {

constexpr std::int64_t max_entries = 1 << 16;
/// Deflate cannot pack better than 1032 to 1; a directory that says so lies.
constexpr std::uint64_t max_ratio = 1032;
constexpr std::uint64_t ratio_slack = 1024;
constexpr const char* fetch_archive_again = "fetch or make the file again";

/// An entry of the archive as a stream. libzip compares checksum and size when the end is read.
class EntryBytes final : public ByteStream {
public:
    EntryBytes(std::shared_ptr<void> keep, zip_file_t* entry, std::string where)
        : keep_(std::move(keep)), entry_(entry), where_(std::move(where)) {}
    EntryBytes(EntryBytes&&) = delete;
    ~EntryBytes() override { zip_fclose(entry_); }

    std::size_t read(std::span<std::byte> out) override {
        std::size_t done = 0;
        while (done < out.size()) {
            const zip_int64_t got = zip_fread(entry_, out.data() + done, out.size() - done);
            if (got < 0) {
                throw input_error(
                    fmt::format("the archive is damaged ({})", zip_file_strerror(entry_)), where_,
                    fetch_archive_again);
            }
            if (got == 0) break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

private:
    std::shared_ptr<void> keep_;
    zip_file_t* entry_;
    std::string where_;
};

zip_t* open_container(const std::filesystem::path& path) {
    static_cast<void>(File::open(path));  // says what is wrong with the path, if something is
    int code = 0;
    zip_t* zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (zip != nullptr) return zip;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw input_error(fmt::format("not a complete NPZ archive ({})", text), path.string(),
                      "fetch or make the file again; it may be truncated");
}

}  // namespace

struct NpzArchive::Container {
    explicit Container(const std::filesystem::path& path) : zip(open_container(path)) {}
    Container(Container&&) = delete;
    ~Container() { zip_discard(zip); }
    zip_t* zip;
};

NpzArchive::NpzArchive(std::filesystem::path file)
    : path_(std::move(file)), container_(std::make_shared<Container>(path_)) {
    const std::int64_t count = zip_get_num_entries(container_->zip, 0);
    if (count > max_entries) {
        throw input_error(
            fmt::format("the archive has {} entries, more than {}", count, max_entries),
            path_.string(), "keep the arrays of one graph only");
    }
    std::uint64_t packed = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        zip_stat_t status{};
        const auto index = static_cast<std::uint64_t>(i);
        if (zip_stat_index(container_->zip, index, 0, &status) != 0) continue;
        const std::string_view file_name = status.name;
        constexpr std::string_view suffix = ".npy";
        if (!file_name.ends_with(suffix)) continue;
        const std::string name(file_name.substr(0, file_name.size() - suffix.size()));
        const bool plain =
            status.encryption_method == ZIP_EM_NONE &&
            (status.comp_method == ZIP_CM_STORE || status.comp_method == ZIP_CM_DEFLATE);
        packed = checked_add(packed, std::uint64_t{status.comp_size}, "the archive's size");
        if (!entries_.emplace(name, Entry{index, status.size, status.comp_size, plain}).second) {
            throw input_error("the archive has two arrays of one name", where(name),
                              fetch_archive_again);
        }
    }
    const std::uint64_t size = std::filesystem::file_size(path_);
    if (packed > size) {
        throw input_error(
            fmt::format("the archive's entries claim {} bytes in a file of {}", packed, size),
            path_.string(), fetch_archive_again);
    }
}

std::string NpzArchive::first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
        if (has(name)) return name;
    }
    return {};
}

std::vector<std::string> NpzArchive::names() const {
    std::vector<std::string> all;
    for (const auto& [name, entry] : entries_)
        all.push_back(name);
    return all;
}

std::string NpzArchive::where(const std::string& array) const {
    return fmt::format("{}, array '{}'", path_.string(), array);
}

NpyReader NpzArchive::open(const std::string& array) const {
    const auto found = entries_.find(array);
    if (found == entries_.end()) {
        throw input_error(fmt::format("array '{}' is missing", array), path_.string(),
                          fmt::format("it has: {}", fmt::join(names(), ", ")));
    }
    const Entry& entry = found->second;
    if (!entry.readable) {
        throw input_error("the array is encrypted or packed in an unusual way", where(array),
                          "write it with numpy.savez or numpy.savez_compressed");
    }
    const std::uint64_t most =
        checked_add(checked_mul(entry.packed_bytes, max_ratio, "the archive's size"), ratio_slack,
                    "the archive's size");
    if (entry.bytes > most) {
        throw input_error(fmt::format("the array claims {} bytes, packed in {}: that cannot be",
                                      entry.bytes, entry.packed_bytes),
                          where(array), fetch_archive_again);
    }
    zip_file_t* opened = zip_fopen_index(container_->zip, entry.index, 0);
    if (opened == nullptr) {
        throw input_error(fmt::format("the archive is damaged ({})", zip_strerror(container_->zip)),
                          where(array), fetch_archive_again);
    }
    return {std::make_unique<EntryBytes>(container_, opened, where(array)), entry.bytes,
            where(array)};
}

}  // namespace rudder::graph
