// Values of a table that come slot by slot and end in one array.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "rudder/core/array.hpp"

namespace rudder::graph {

/// Values that come slot by slot and end in one array: a list of pieces, joined once.
template <class T>
class Pieces {
public:
    void take(std::vector<T>& values) {
        count_ += values.size();
        if (!values.empty()) pieces_.push_back(std::move(values));
        values = {};
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Joins them; each is given back as soon as it is copied.
    [[nodiscard]] Array<T> join() {
        auto all = Array<T>::uninitialised(count_);
        T* out = all.data();
        for (std::vector<T>& piece : pieces_) {
            std::memcpy(out, piece.data(), piece.size() * sizeof(T));
            out += piece.size();
            piece = {};
        }
        return all;
    }

private:
    std::vector<std::vector<T>> pieces_;
    std::size_t count_ = 0;
};

}  // namespace rudder::graph
