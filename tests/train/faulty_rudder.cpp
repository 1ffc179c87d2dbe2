// rudder with five agents at fault: one throws, one answers nonsense, one never answers, one runs
// out of memory where nothing may be thrown, one hoards memory.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "rudder/cli/program.hpp"
#include "rudder/steer/agent_registry.hpp"

namespace {

namespace steer = rudder::steer;

class Throws final : public steer::Agent {
    steer::Answer decide(const steer::Observation& /*seen*/) override {
        throw std::runtime_error("planted: no idea");
    }
};

/// No two of its answers are wrong in the same way.
class Nonsense final : public steer::Agent {
    steer::Answer decide(const steer::Observation& seen) override {
        using steer::Action;
        using steer::KnobId;
        using steer::Reason;
        switch (seen.sequence % 4) {
            case 0:
                return {.action = Action::set({{KnobId::policy, "widow"}}, Reason::none)};
            case 1:
                return {.action = Action::set({{KnobId::capacity, -5.0}}, Reason::none)};
            case 2:
                return {.action = Action::set({{KnobId::bulk, 1e300}}, Reason::none)};
            default:
                return {.action = Action::replace(Reason::none, 7)};
        }
    }
};

/// Waits outside the executor, as for a server that has gone, until nobody wants an answer.
class Silent final : public steer::Agent {
    steer::Answer decide(const steer::Observation& /*seen*/) override {
        std::unique_lock lock(mutex_);
        unwanted_.wait(lock, [this] { return cancelled_; });
        throw std::runtime_error("planted: nobody waits any more");
    }
    void cancel() noexcept override {
        const std::scoped_lock lock(mutex_);
        cancelled_ = true;
        unwanted_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable unwanted_;
    bool cancelled_ = false;
};

/// As libraries do.
class Fatal final : public steer::Agent {
    steer::Answer decide(const steer::Observation& seen) override {
        if (seen.sequence == 3) must_not_throw();
        return {};
    }
    static void must_not_throw() noexcept { run_out(); }
    static void run_out() { throw std::bad_alloc(); }
};

/// Takes 8 MiB more with each of its first answers, 480 MiB in all.
class Hoards final : public steer::Agent {
    steer::Answer decide(const steer::Observation& /*seen*/) override {
        if (hoard_.size() < 60) hoard_.emplace_back(std::size_t{8} << 20, 'x');
        return {.action = steer::Action::keep(steer::Reason::none)};
    }
    std::vector<std::string> hoard_;
};

template <class T>
std::unique_ptr<steer::Agent> make(const steer::AgentSpec& /*spec*/,
                                   const steer::AgentFacts& /*facts*/) {
    return std::make_unique<T>();
}

steer::AgentInfo about(const char* name) {
    return {{name, "Is at fault, for tests."}, "nothing", "nothing", /*decides=*/true};
}

}  // namespace

int main(int argc, char** argv) {
    static const steer::AgentInfo throws = about("throws");
    static const steer::AgentInfo nonsense = about("nonsense");
    static const steer::AgentInfo silent = about("silent");
    steer::register_agent(throws, make<Throws>);
    steer::register_agent(nonsense, make<Nonsense>);
    static const steer::AgentInfo fatal = about("fatal");
    static const steer::AgentInfo hoards = about("hoards");
    steer::register_agent(silent, make<Silent>);
    steer::register_agent(fatal, make<Fatal>);
    steer::register_agent(hoards, make<Hoards>);
    return rudder::cli::run_program({argv + 1, argv + argc});
}
