#include "pull_scratch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rudder::store {

void FirstPlaces::reset(std::size_t vertices) {
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(16, 2 * vertices));
    if (entries_.size() < size) entries_ = Array<Entry>::uninitialised(size);
    mask_ = size - 1;
    shift_ = 64 - std::countr_zero(size);
    std::memset(static_cast<void*>(entries_.data()), 0, size * sizeof(Entry));
}

void NumberSet::clear() noexcept {
    for (const std::uint64_t word : touched_)
        words_[word] = 0;
    touched_.clear();
}

void PullScratch::clear() noexcept {
    repeats.clear();
    seen.clear();
}

void PullScratch::order(std::size_t row_bytes, std::span<std::uint64_t> by_owner) {
    const std::size_t rows = wanted.order(by_owner);
    vertices.resize(rows);
    places.resize(rows);
    const std::size_t bytes = checked_mul(rows, row_bytes, "bytes of a pull");
    if (landing.size() < bytes) landing = Array<std::byte>::uninitialised(bytes + bytes / 8);
    wanted.walk([&](std::uint32_t place, const OwnerOrder<float*>::Row& row) {
        vertices[place] = row.vertex;
        places[place] = row.purpose;
    });
}

std::shared_ptr<PullScratch> ScratchPool::take() {
    {
        const Monitor::Lock lock(monitor_);
        if (!free_.empty()) {
            std::shared_ptr<PullScratch> scratch = std::move(free_.back());
            free_.pop_back();
            return scratch;
        }
    }
    return std::make_shared<PullScratch>(host_rows_);
}

void ScratchPool::give_back(std::shared_ptr<PullScratch> scratch) {
    scratch->clear();
    const Monitor::Lock lock(monitor_);
    free_.push_back(std::move(scratch));
}

}  // namespace rudder::store
