// libzip pulls: while the archive is closed it asks each entry's callback for bytes, which come
// from the entry's producer, block by block.
#include <cstring>
#include <exception>
#include <list>

#include <fmt/format.h>
#include <zip.h>

#include "core/interrupt.hpp"
#include "rudder/core/check.hpp"

#include "npz.hpp"

namespace rudder::graph {

namespace {

/// One array on its way into the archive.
struct Pending {
    std::string header;
    std::uint64_t data_bytes = 0;
    NpzWriter::Producer producer;
    std::exception_ptr* failure = nullptr;
    zip_error_t error{};
    std::vector<std::byte> block{};
    std::size_t at = 0;
    std::uint64_t given = 0;
    bool ended = false;

    void begin() {
        const auto bytes = std::as_bytes(std::span(header));
        block.assign(bytes.begin(), bytes.end());
        at = 0;
        given = 0;
        ended = false;
    }
    std::size_t read(std::byte* out, std::size_t size) {
        std::size_t done = 0;
        while (done < size) {
            if (at == block.size() && !refill()) break;
            const std::size_t now = std::min(size - done, block.size() - at);
            std::memcpy(out + done, block.data() + at, now);
            at += now;
            done += now;
        }
        return done;
    }

private:
    bool refill() {
        if (ended) return false;
        throw_if_interrupted();
        at = 0;
        block.clear();
        if (given < data_bytes && producer(block)) {
            given += block.size();
            RUDDER_CHECK(given <= data_bytes);
        } else {
            RUDDER_CHECK(given == data_bytes);
            ended = true;
        }
        return !ended;
    }
};

zip_int64_t give(Pending& pending, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
        case ZIP_SOURCE_OPEN:
            pending.begin();
            return 0;
        case ZIP_SOURCE_READ:
            return static_cast<zip_int64_t>(pending.read(static_cast<std::byte*>(data), size));
        case ZIP_SOURCE_STAT: {
            auto* status = static_cast<zip_stat_t*>(data);
            zip_stat_init(status);
            status->size = pending.header.size() + pending.data_bytes;
            status->mtime = 315532800;  // the first day zip knows: the same file for the same data
            status->valid = ZIP_STAT_SIZE | ZIP_STAT_MTIME;
            return sizeof(*status);
        }
        case ZIP_SOURCE_ERROR:
            return zip_error_to_data(&pending.error, data, size);
        case ZIP_SOURCE_SUPPORTS:
            return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ,
                                                  ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                                  ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
        default:
            return 0;
    }
}

/// Exceptions must not cross libzip: they wait in the writer until `finish`.
zip_int64_t callback(void* user, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    auto& pending = *static_cast<Pending*>(user);
    try {
        return give(pending, data, size, command);
    } catch (...) {
        *pending.failure = std::current_exception();
        zip_error_set(&pending.error, ZIP_ER_READ, EIO);
        return -1;
    }
}

Error zip_failure(zip_error_t* error, const std::string& where) {
    const int code = zip_error_code_system(error);
    if (zip_error_system_type(error) == ZIP_ET_SYS && code != 0) {
        return system_error("cannot write the archive", where, code);
    }
    return {ErrorKind::failed,
            fmt::format("cannot write the archive: {}", zip_error_strerror(error)), where,
            "check the path and the disk"};
}

std::vector<std::uint32_t> code_points(std::string_view text) {
    std::vector<std::uint32_t> codes;
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        std::uint32_t code = length == 1 ? lead : lead & (0x7fU >> length);
        for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
            code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
        codes.push_back(code);
        i += length;
    }
    return codes;
}

}  // namespace

struct NpzWriter::State {
    zip_t* zip = nullptr;
    std::list<Pending> arrays{};
    std::exception_ptr failure{};
    ~State() {
        if (zip != nullptr) zip_discard(zip);
    }
};

NpzWriter::NpzWriter(std::filesystem::path file)
    : path_(std::move(file)), state_(std::make_unique<State>()) {
    int code = 0;
    state_->zip = zip_open(path_.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (state_->zip != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    Error failure = zip_failure(&error, path_.string());
    zip_error_fini(&error);
    throw failure;
}

NpzWriter::~NpzWriter() = default;

void NpzWriter::add(const std::string& name, const NpyHeader& header, Producer producer) {
    Pending& pending = state_->arrays.emplace_back(
        Pending{make_npy_header(header), header.bytes(), std::move(producer), &state_->failure});
    zip_error_init(&pending.error);
    zip_source_t* source = zip_source_function(state_->zip, callback, &pending);
    const std::string file_name = name + ".npy";
    const zip_int64_t index =
        source == nullptr ? -1
                          : zip_file_add(state_->zip, file_name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        throw zip_failure(zip_get_error(state_->zip), path_.string());
    }
    zip_set_file_compression(state_->zip, static_cast<std::uint64_t>(index), ZIP_CM_STORE, 0);
}

void NpzWriter::add_copy(const std::string& name, const NpyHeader& header,
                         std::span<const std::byte> bytes) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    RUDDER_CHECK(header.bytes() == copy.size());
    add(name, header, [copy = std::move(copy)](std::vector<std::byte>& block) {
        block = copy;
        return true;
    });
}

void NpzWriter::add_texts(const std::string& name, const std::vector<std::string>& texts) {
    const auto copy = std::make_shared<const std::vector<std::string>>(texts);
    add_texts(name, copy->size(), [copy](std::uint64_t i) { return std::string_view((*copy)[i]); });
}

void NpzWriter::add_texts(const std::string& name, std::uint64_t count,
                          std::function<std::string_view(std::uint64_t)> text) {
    std::size_t longest = 1;
    for (std::uint64_t i = 0; i < count; ++i)
        longest = std::max(longest, code_points(text(i)).size());
    const NpyHeader header{
        ElementType::u32, false, narrow<std::uint32_t>(longest, "the length of a name"), {count}};
    add(name, header,
        [count, longest, text = std::move(text),
         i = std::uint64_t{0}](std::vector<std::byte>& block) mutable {
            constexpr std::size_t enough = 1 << 18;
            for (; i < count && block.size() < enough; ++i) {
                auto codes = code_points(text(i));
                codes.resize(longest, 0);
                const auto bytes = std::as_bytes(std::span(codes));
                block.insert(block.end(), bytes.begin(), bytes.end());
            }
            return !block.empty();
        });
}

void NpzWriter::finish() {
    if (zip_close(state_->zip) == 0) {
        state_->zip = nullptr;
        return;
    }
    if (state_->failure) std::rethrow_exception(state_->failure);
    throw zip_failure(zip_get_error(state_->zip), path_.string());
}

}  // namespace rudder::graph
