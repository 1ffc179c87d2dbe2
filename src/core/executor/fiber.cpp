#include "fiber.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace rudder {

namespace ctx = boost::context;

/// The two sides of a switch, with what the sanitizers must be told of each.
struct Fiber::State {
    std::function<void()> body;
    ctx::fiber inside;   ///< the fiber, while it is suspended
    ctx::fiber outside;  ///< whoever resumed it, while it runs
    bool done = false;
#if defined(__SANITIZE_ADDRESS__)
    const void* stack_bottom = nullptr;
    std::size_t stack_size = 0;
    const void* outer_bottom = nullptr;
    std::size_t outer_size = 0;
    void* outer_fake = nullptr;
    void* inner_fake = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
    void* inner_tsan = nullptr;
    void* outer_tsan = nullptr;
#endif

#if defined(__SANITIZE_THREAD__)
    State() = default;
    State(State&&) = delete;
    ~State() {
        __tsan_destroy_fiber(inner_tsan);
    }
#endif

    void entered() {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(inner_fake, &outer_bottom, &outer_size);
#endif
    }
    void before_leaving([[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(for_good ? nullptr : &inner_fake, outer_bottom, outer_size);
#endif
#if defined(__SANITIZE_THREAD__)
        __tsan_switch_to_fiber(outer_tsan, 0);
#endif
    }
    void before_entering() {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(&outer_fake, stack_bottom, stack_size);
#endif
#if defined(__SANITIZE_THREAD__)
        outer_tsan = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(inner_tsan, 0);
#endif
    }
    void left() {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(outer_fake, nullptr, nullptr);
#endif
    }
};

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.body = std::move(body);
    ctx::protected_fixedsize_stack allocator(stack_bytes);
    const ctx::stack_context stack = allocator.allocate();
#if defined(__SANITIZE_ADDRESS__)
    s.stack_bottom = static_cast<const char*>(stack.sp) - stack.size;
    s.stack_size = stack.size;
    // Boost enters the new stack already here. What it has there must not lie on the fake stack of
    // whoever makes the fiber, who may end first.
    s.before_entering();
#elif defined(__SANITIZE_THREAD__)
    s.inner_tsan = __tsan_create_fiber(0);
#endif
    s.inside = ctx::fiber(std::allocator_arg, ctx::preallocated(stack.sp, stack.size, stack),
                          allocator, [&s](ctx::fiber&& resumer) {
                              s.outside = std::move(resumer);
                              s.entered();
                              s.body();
                              s.body = nullptr;
                              s.done = true;
                              s.before_leaving(true);
                              return std::move(s.outside);
                          });
#if defined(__SANITIZE_ADDRESS__)
    s.left();
#endif
}

Fiber::~Fiber() = default;

void Fiber::resume() {
    State& s = *state_;
    s.before_entering();
    s.inside = std::move(s.inside).resume();
    s.left();
}

void Fiber::suspend() {
    State& s = *state_;
    s.before_leaving(false);
    s.outside = std::move(s.outside).resume();
    s.entered();
}

bool Fiber::done() const noexcept {
    return state_->done;
}

}  // namespace rudder
