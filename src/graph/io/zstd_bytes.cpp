// Zstandard files as bytes, which may have several frames one after the other.
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <zstd.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"

#include "byte_stream.hpp"

namespace rudder::graph {

namespace {

class ZstdBytes final : public ByteStream {
public:
    explicit ZstdBytes(const std::filesystem::path& path)
        : file_(plain_bytes(path)), path_(path), zip_(ZSTD_createDStream()) {
        RUDDER_CHECK(zip_ != nullptr);
    }

    std::size_t read(std::span<std::byte> out) override {
        ZSTD_outBuffer room{out.data(), out.size(), 0};
        while (room.pos < room.size) {
            const bool ended = input_.pos == input_.size && !refill();
            if (ended && !open_) break;
            const std::size_t before = room.pos;
            const std::size_t code = ZSTD_decompressStream(zip_.get(), &room, &input_);
            if (ZSTD_isError(code) != 0) {
                throw damaged(
                    fmt::format("the Zstandard data are damaged ({})", ZSTD_getErrorName(code)));
            }
            open_ = code != 0;
            if (ended && open_ && room.pos == before)
                throw damaged("the Zstandard file ends too early");
        }
        return room.pos;
    }

private:
    struct Free {
        void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };

    bool refill() {
        input_ = {packed_.data(), file_->read(packed_), 0};
        return input_.size != 0;
    }

    [[nodiscard]] Error damaged(std::string what) const {
        return input_error(std::move(what), path_.string(), "fetch or make the file again");
    }

    std::unique_ptr<ByteStream> file_;
    std::filesystem::path path_;
    std::unique_ptr<ZSTD_DStream, Free> zip_;
    std::vector<std::byte> packed_ = std::vector<std::byte>(ZSTD_DStreamInSize());
    ZSTD_inBuffer input_{nullptr, 0, 0};
    bool open_ = false;  ///< inside a frame
};

}  // namespace

std::unique_ptr<ByteStream> zstd_bytes(const std::filesystem::path& file) {
    return std::make_unique<ZstdBytes>(file);
}

}  // namespace rudder::graph
