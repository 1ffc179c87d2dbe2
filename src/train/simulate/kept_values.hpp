// Values that are on their way, by number.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace rudder::train {

/// Numbers are used again; memory grows to the most that were kept at a time.
template <class T>
class KeptValues {
public:
    std::uint32_t put(T value) {
        if (free_.empty()) {
            values_.push_back(std::move(value));
            return static_cast<std::uint32_t>(values_.size() - 1);
        }
        const std::uint32_t number = free_.back();
        free_.pop_back();
        values_[number] = std::move(value);
        return number;
    }
    [[nodiscard]] T& operator[](std::uint32_t number) noexcept { return values_[number]; }
    T take(std::uint32_t number) {
        free_.push_back(number);
        return std::move(values_[number]);
    }

private:
    std::vector<T> values_;
    std::vector<std::uint32_t> free_;
};

}  // namespace rudder::train
