// A reference to a callable, for parameters: no allocation, no ownership.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace rudder {

template <class Signature>
class FunctionRef;

/// Refers to a callable that must outlive the reference; two words, one indirect call.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
public:
    // Made to convert; the constraint keeps it from taking the place of the copy.
    // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload)
    template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> &&
             std::is_invocable_r_v<R, F&, Args...>) FunctionRef(F&& f)
    noexcept
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
          call_([](void* object, Args... args) -> R {
              return (*static_cast<std::remove_reference_t<F>*>(object))(
                  std::forward<Args>(args)...);
          }) {}
    // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)

    R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

private:
    void* object_;
    R (*call_)(void*, Args...);
};

}  // namespace rudder
