// The transport of a single rank: it can only talk to itself.
#pragma once

#include "core/executor/monitor.hpp"
#include "rudder/comm/transport.hpp"

namespace rudder::comm {

class LocalTransport final : public Transport {
public:
    LocalTransport() : Transport(0, 1) { set_hosts(HostMap::consecutive(1, 1)); }

    void wait(Operation& operation) override;
    void completed() override { monitor_.notify_all(); }
    [[nodiscard]] std::shared_ptr<std::span<std::byte>> share(std::size_t bytes,
                                                              std::uint64_t key) override;

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override;

private:
    Monitor monitor_;
};

}  // namespace rudder::comm
