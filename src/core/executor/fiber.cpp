#include "fiber.hpp"

#include <utility>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cxxabi.h>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace rudder {

namespace ctx = boost::context;

namespace {

/// What the language keeps of exceptions that are being thrown or have been caught, as the ABI lays
/// it out. It is the thread's, and must be the fiber's: one may wait while it is being unwound.
struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    void exchange() noexcept {
        std::swap(*this, *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()));
    }
};

}  // namespace

#if defined(__SANITIZE_ADDRESS__)

namespace {

struct StackBounds {
    const void* bottom = nullptr;
    std::size_t size = 0;
};

StackBounds stack_of_thread() {
    pthread_attr_t attributes;
    void* bottom = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
    pthread_attr_getstack(&attributes, &bottom, &size);
    pthread_attr_destroy(&attributes);
    return {bottom, size};
}

/// The stack that this thread runs on.
StackBounds& current_stack() {
    thread_local StackBounds bounds = stack_of_thread();
    return bounds;
}

/// A stack that has ended leaves its marks behind, where the next file may be mapped.
struct FiberStack : ctx::protected_fixedsize_stack {
    using ctx::protected_fixedsize_stack::protected_fixedsize_stack;
    void deallocate(ctx::stack_context& stack) noexcept {
        __asan_unpoison_memory_region(static_cast<const char*>(stack.sp) - stack.size, stack.size);
        ctx::protected_fixedsize_stack::deallocate(stack);
    }
};

}  // namespace

#else

using FiberStack = ctx::protected_fixedsize_stack;

#endif

/// The two sides of a switch, with what the sanitizers must be told of each.
struct Fiber::State {
    std::function<void()> body;
    ctx::fiber inside;   ///< the fiber, while it is suspended
    ctx::fiber outside;  ///< whoever resumed it, while it runs
    bool done = false;
    Exceptions exceptions;  ///< the fiber's while it is suspended, its resumer's while it runs
#if defined(__SANITIZE_ADDRESS__)
    StackBounds stack;
    StackBounds outer_stack;
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
        outer_stack = std::exchange(current_stack(), stack);
        __sanitizer_start_switch_fiber(&outer_fake, stack.bottom, stack.size);
#endif
#if defined(__SANITIZE_THREAD__)
        outer_tsan = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(inner_tsan, 0);
#endif
    }
    void left() {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(outer_fake, nullptr, nullptr);
        current_stack() = outer_stack;
#endif
    }
#if defined(__SANITIZE_ADDRESS__)
    /// Boost enters the new stack while a fiber is made, and returns. What it has there must not
    /// lie on the fake stack of whoever makes the fiber, who may end first; the stack stays the
    /// maker's.
    void before_making() {
        const StackBounds own = current_stack();
        __sanitizer_start_switch_fiber(&outer_fake, own.bottom, own.size);
    }
    void made() {
        __sanitizer_finish_switch_fiber(outer_fake, nullptr, nullptr);
    }
#endif
};

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.body = std::move(body);
    FiberStack allocator(stack_bytes);
    const ctx::stack_context stack = allocator.allocate();
#if defined(__SANITIZE_ADDRESS__)
    s.stack = {static_cast<const char*>(stack.sp) - stack.size, stack.size};
    s.before_making();
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
    s.made();
#endif
}

Fiber::~Fiber() = default;

void Fiber::resume() {
    State& s = *state_;
    s.exceptions.exchange();
    s.before_entering();
    s.inside = std::move(s.inside).resume();
    s.left();
    s.exceptions.exchange();
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
