// One stackful fiber (Boost.Context behind it), known to the sanitizers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace rudder {

/// A function with a stack of its own. `resume` runs it until it suspends or returns; `suspend`
/// goes back to whoever resumed. The function must not let exceptions out.
class Fiber {
public:
    explicit Fiber(std::function<void()> body, std::size_t stack_bytes = std::size_t{512} << 10);
    ~Fiber();

    void resume();
    /// Called inside the fiber.
    void suspend();
    [[nodiscard]] bool done() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder
