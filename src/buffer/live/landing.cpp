#include "landing.hpp"

#include <limits>
#include <utility>

namespace rudder::buffer {

LandingPool::~LandingPool() {
    // One after the other: a chain that ends by itself would need a stack as deep as it is long.
    while (waiting_ != nullptr)
        waiting_ = std::move(waiting_->next);
}

std::unique_ptr<Landing> LandingPool::take_waiting(std::size_t size) {
    // The smallest that is large enough, else the largest: so that few have to grow.
    const auto misfit = [size](const Landing& landing) {
        const std::size_t has = landing.memory.size();
        return has >= size ? has - size : std::numeric_limits<std::size_t>::max() - has;
    };
    const std::scoped_lock lock(mutex_);
    if (waiting_ == nullptr) return nullptr;
    std::unique_ptr<Landing>* best = &waiting_;
    for (auto* at = &waiting_->next; *at != nullptr; at = &(*at)->next) {
        if (misfit(**at) < misfit(**best)) best = at;
    }
    std::unique_ptr<Landing> taken = std::move(*best);
    *best = std::move(taken->next);
    return taken;
}

std::shared_ptr<Landing> LandingPool::take(std::size_t rows) {
    const std::size_t size = checked_mul(rows, row_bytes_, "size of rows under way");
    std::unique_ptr<Landing> found = take_waiting(size);
    if (found == nullptr) found = std::make_unique<Landing>();
    // From here on it comes back to the pool whatever fails.
    std::shared_ptr<Landing> landing(found.release(), [pool = shared_from_this()](Landing* back) {
        pool->give_back(std::unique_ptr<Landing>(back));
    });
    if (landing->memory.size() < size) {
        const std::size_t before = landing->memory.size();
        landing->memory = Array<std::byte>::uninitialised(size + size / 4);
        const std::scoped_lock lock(mutex_);
        bytes_ += landing->memory.size() - before;
    }
    landing->ids.resize(rows);
    landing->rows = landing->memory.span().subspan(0, size);
    return landing;
}

void LandingPool::give_back(std::unique_ptr<Landing> landing) noexcept {
    const std::scoped_lock lock(mutex_);
    landing->next = std::move(waiting_);
    waiting_ = std::move(landing);
}

std::uint64_t LandingPool::bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
}

}  // namespace rudder::buffer
