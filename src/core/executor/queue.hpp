// A bounded queue between tasks: a full one makes the producer wait, an empty one the consumer.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "rudder/core/check.hpp"

#include "monitor.hpp"

namespace rudder {

template <class T>
class BoundedQueue {
public:
    explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
        RUDDER_CHECK(capacity > 0);
    }

    /// Appends an item, waiting while the queue is full; false if the queue is closed.
    bool push(T item) {
        Monitor::Lock lock(monitor_);
        monitor_.wait(lock, "room in a queue",
                      [this] { return closed_ || items_.size() < capacity_; });
        if (closed_) return false;
        items_.push_back(std::move(item));
        monitor_.notify_all();
        return true;
    }
    /// Takes the first item, waiting for one; nothing once the queue is closed and empty.
    std::optional<T> pop() {
        Monitor::Lock lock(monitor_);
        monitor_.wait(lock, "an item of a queue", [this] { return closed_ || !items_.empty(); });
        if (items_.empty()) return std::nullopt;
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        monitor_.notify_all();
        return item;
    }
    /// No more items come in; those inside can still be taken.
    void close() {
        Monitor::Lock lock(monitor_);
        closed_ = true;
        monitor_.notify_all();
    }
    [[nodiscard]] std::size_t size() {
        Monitor::Lock lock(monitor_);
        return items_.size();
    }

private:
    std::size_t capacity_;
    Monitor monitor_;
    std::deque<T> items_;
    bool closed_ = false;
};

}  // namespace rudder
