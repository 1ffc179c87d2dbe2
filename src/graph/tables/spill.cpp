#include "spill.hpp"

#include <algorithm>
#include <cstring>

#include "rudder/core/check.hpp"

namespace rudder::graph {

namespace {

constexpr std::uint64_t spill_chunk = std::uint64_t{4} << 20;

}  // namespace

void Spill::add_chunk() {
    SpillChunk& chunk = chunks_.emplace_back();
    if (room_->bytes_left >= spill_chunk) {
        room_->bytes_left -= spill_chunk;
        chunk.memory = Array<std::byte>::uninitialised(spill_chunk);
        return;
    }
    if (!file_) file_.emplace(room_->folder);
    chunk.file_at = file_end_;
    file_end_ += spill_chunk;
}

void Spill::clear() {
    for (const SpillChunk& chunk : chunks_) {
        if (!chunk.memory.empty()) room_->bytes_left += spill_chunk;
    }
    chunks_.clear();
    file_.reset();
    file_end_ = 0;
    size_ = 0;
}

void Spill::append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::uint64_t inside = size_ % spill_chunk;
        if (inside == 0) add_chunk();
        const std::size_t now = std::min<std::size_t>(bytes.size(), spill_chunk - inside);
        SpillChunk& chunk = chunks_.back();
        if (chunk.memory.empty()) {
            file_->write_at(chunk.file_at + inside, bytes.first(now));
        } else {
            std::memcpy(chunk.memory.data() + inside, bytes.data(), now);
        }
        size_ += now;
        bytes = bytes.subspan(now);
    }
}

void Spill::copy(std::uint64_t at, std::span<std::byte> out) const {
    while (!out.empty()) {
        const std::uint64_t inside = at % spill_chunk;
        const std::size_t now = std::min<std::size_t>(out.size(), spill_chunk - inside);
        const SpillChunk& chunk = chunks_[at / spill_chunk];
        if (chunk.memory.empty()) {
            file_->read_at(chunk.file_at + inside, out.first(now));
        } else {
            std::memcpy(out.data(), chunk.memory.data() + inside, now);
        }
        at += now;
        out = out.subspan(now);
    }
}

std::span<const std::byte> Spill::view(std::uint64_t at, std::size_t count,
                                       std::vector<std::byte>& scratch) const {
    RUDDER_CHECK(at + count <= size_);
    if (count == 0) return {};
    const SpillChunk& chunk = chunks_[at / spill_chunk];
    if (at / spill_chunk == (at + count - 1) / spill_chunk && !chunk.memory.empty())
        return {chunk.memory.data() + at % spill_chunk, count};
    scratch.resize(count);
    copy(at, scratch);
    return scratch;
}

}  // namespace rudder::graph
