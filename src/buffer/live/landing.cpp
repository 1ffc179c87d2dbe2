#include "landing.hpp"

#include <algorithm>

namespace rudder::buffer {

std::shared_ptr<Landing> LandingPool::take(std::size_t rows) {
    std::unique_ptr<Landing> landing;
    {
        const std::scoped_lock lock(mutex_);
        if (!free_.empty()) {
            // The largest: so small ones do not grow while large ones lie idle.
            const auto largest = std::ranges::max_element(
                free_, {}, [](const auto& free) { return free->memory.size(); });
            landing = std::move(*largest);
            free_.erase(largest);
        }
    }
    if (landing == nullptr) landing = std::make_unique<Landing>();
    const std::size_t size = checked_mul(rows, row_bytes_, "size of rows under way");
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
