#include "byte_stream.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "rudder/core/check.hpp"
#include "rudder/core/file.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t buffer_bytes = 1 << 18;

class FileBytes final : public ByteStream {
public:
    explicit FileBytes(const std::filesystem::path& path) : file_(File::open(path)) {}

    std::size_t read(std::span<std::byte> out) override {
        const std::size_t got = file_.read_at(offset_, out);
        offset_ += got;
        return got;
    }

private:
    File file_;
    std::uint64_t offset_ = 0;
};

/// Inflates a gzip file, which may have several members one after the other.
class GzipBytes final : public ByteStream {
public:
    explicit GzipBytes(const std::filesystem::path& path) : file_(path), path_(path) {
        constexpr int gzip_window = 15 + 16;
        RUDDER_CHECK(inflateInit2(&zip_, gzip_window) == Z_OK);
    }
    GzipBytes(GzipBytes&&) = delete;
    ~GzipBytes() override { inflateEnd(&zip_); }

    std::size_t read(std::span<std::byte> out) override {
        std::size_t done = 0;
        while (done < out.size() && !finished_) {
            const std::size_t room = std::min(out.size() - done, std::size_t{1} << 30);
            zip_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
            zip_.avail_out = static_cast<uInt>(room);
            step();
            done += room - zip_.avail_out;
        }
        return done;
    }

private:
    void step() {
        if (zip_.avail_in == 0 && !refill()) {
            if (!between_members_) throw damaged("the gzip file ends too early");
            finished_ = true;
            return;
        }
        between_members_ = false;
        const int code = inflate(&zip_, Z_NO_FLUSH);
        if (code == Z_STREAM_END) {
            between_members_ = true;
            inflateReset(&zip_);
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            throw damaged(fmt::format("the gzip data are damaged ({})",
                                      zip_.msg == nullptr ? "bad stream" : zip_.msg));
        }
    }

    bool refill() {
        const std::size_t got = file_.read(input_);
        zip_.next_in = reinterpret_cast<Bytef*>(input_.data());
        zip_.avail_in = static_cast<uInt>(got);
        return got != 0;
    }

    [[nodiscard]] Error damaged(std::string what) const {
        return input_error(std::move(what), path_.string(), "fetch or make the file again");
    }

    FileBytes file_;
    std::filesystem::path path_;
    std::vector<std::byte> input_ = std::vector<std::byte>(buffer_bytes);
    z_stream zip_{};
    bool between_members_ = false;
    bool finished_ = false;
};

bool is_zstd(const std::filesystem::path& file) {
    constexpr std::array magic{std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
    std::array<std::byte, magic.size()> start{};
    return File::open(file).read_at(0, start) == start.size() && start == magic;
}

}  // namespace

bool is_gzip(const std::filesystem::path& file) {
    std::array<std::byte, 2> magic{};
    return File::open(file).read_at(0, magic) == 2 && magic[0] == std::byte{0x1f} &&
           magic[1] == std::byte{0x8b};
}

std::unique_ptr<ByteStream> plain_bytes(const std::filesystem::path& file) {
    return std::make_unique<FileBytes>(file);
}

std::unique_ptr<ByteStream> open_bytes(const std::filesystem::path& file) {
    if (is_gzip(file)) return std::make_unique<GzipBytes>(file);
    if (is_zstd(file)) return zstd_bytes(file);
    return std::make_unique<FileBytes>(file);
}

}  // namespace rudder::graph
