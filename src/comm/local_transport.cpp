#include "local_transport.hpp"

#include "rudder/core/check.hpp"

#include "window.hpp"

namespace rudder::comm {

void LocalTransport::wait(Operation& operation) {
    const std::string what = operation.name().text();
    Monitor::Lock lock(monitor_);
    monitor_.wait(lock, what, [&] { return operation.done(); });
}

std::shared_ptr<std::span<std::byte>> LocalTransport::share(std::size_t bytes,
                                                            std::uint64_t /*key*/) {
    return private_window(bytes);
}

void LocalTransport::do_send(int /*to*/, Tag /*tag*/, Kind /*kind*/,
                             std::span<const std::byte> /*bytes*/,
                             std::shared_ptr<Operation> /*operation*/) {
    fail_check("a single rank has no peers", __FILE__, __LINE__);
}

}  // namespace rudder::comm
