// How a policy is copied onto other residents.
#pragma once

#include <memory>

#include "rudder/buffer/policy.hpp"

namespace rudder::buffer {

/// What policies derive from, so that each can be cloned by its copy constructor.
template <class Derived>
class ClonedPolicy : public Policy {
public:
    [[nodiscard]] std::unique_ptr<Policy> clone(const PolicyFacts& facts,
                                                Residents& residents) const final {
        auto copy = std::make_unique<Derived>(static_cast<const Derived&>(*this));
        copy->bind(facts, residents);
        return copy;
    }

protected:
    using Policy::Policy;
};

}  // namespace rudder::buffer
