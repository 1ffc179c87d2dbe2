#include "landing.hpp"

#include <algorithm>
#include <limits>

namespace rudder::buffer {

std::shared_ptr<Landing> LandingPool::take(std::size_t rows) {
    const std::size_t size = checked_mul(rows, row_bytes_, "size of rows under way");
    std::unique_ptr<Landing> landing;
    {
        const std::scoped_lock lock(mutex_);
        if (!free_.empty()) {
            // The smallest that is large enough, else the largest: so that few have to grow.
            const auto best = std::ranges::min_element(free_, {}, [&](const auto& free) {
                const std::size_t has = free->memory.size();
                return has >= size ? has - size : std::numeric_limits<std::size_t>::max() - has;
            });
            landing = std::move(*best);
            std::swap(*best, free_.back());
            free_.pop_back();
        }
    }
    if (landing == nullptr) landing = std::make_unique<Landing>();
    if (landing->memory.size() < size) {
        const std::size_t before = landing->memory.size();
        landing->memory = Array<std::byte>::uninitialised(size + size / 4);
        const std::scoped_lock lock(mutex_);
        bytes_ += landing->memory.size() - before;
    }
    landing->ids.resize(rows);
    landing->rows = landing->memory.span().subspan(0, size);
    return {landing.release(), [pool = shared_from_this()](Landing* back) {
                pool->give_back(std::unique_ptr<Landing>(back));
            }};
}

void LandingPool::give_back(std::unique_ptr<Landing> landing) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(landing));
}

std::uint64_t LandingPool::bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
}

}  // namespace rudder::buffer
