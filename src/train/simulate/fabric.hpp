// The network of a simulation: links of hosts, a core, and messages on their way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/link_clock.hpp"

#include "cluster_model.hpp"
#include "events.hpp"
#include "kept_values.hpp"

namespace rudder::train {

/// A question for rows, or its answer.
struct RowMessage {
    std::uint32_t group = 0;  ///< that asks
    std::uint32_t link = 0;   ///< number of what it fetches
    std::int32_t owner = 0;   ///< rank that is asked
    std::uint32_t rows = 0;
    std::uint32_t bytes = 0;  ///< of the question
    bool answer = false;
    bool ahead = false;  ///< for the buffer alone
};

/// Messages leave a host at the rate of its link, those of a class before the others (comm's
/// LinkClock, one for each direction); where the core is narrower than all links together they
/// share it; at their receiver they come in at the rate of its link again.
class Fabric {
public:
    Fabric(const ClusterModel& cluster, EventQueue& events);

    /// A message of so many bytes enters the link of a host now. `end` of its number follows, and
    /// `arrived` is then true once it has come. Within a host it has come at once.
    std::uint32_t send(int from, int to, comm::LinkClass which, std::uint64_t bytes,
                       const RowMessage& message);
    /// The event `leave` of a message.
    void leave(std::uint32_t number);
    /// The event `end`: whether it has come; it is then forgotten, and `message` is what it was.
    [[nodiscard]] bool arrived(std::uint32_t number, RowMessage& message);

    /// Bytes that go before all rows: when the last has left a host, and come to another. In the
    /// order of calls.
    [[nodiscard]] Duration left_first(int from, Duration when, std::uint64_t bytes);
    [[nodiscard]] Duration come_first(int to, Duration left, std::uint64_t bytes);

private:
    struct Flight {
        RowMessage message;
        int from = 0;
        int to = 0;
        std::uint64_t bytes = 0;
        comm::LinkClass which = comm::LinkClass::first;
        comm::LinkStamp stamp{};
        bool near = false;  ///< within a host
    };
    [[nodiscard]] Duration transfer(std::uint64_t bytes) const;
    [[nodiscard]] Duration through_core(comm::LinkClass which, Duration left, std::uint64_t bytes);
    void enter(Flight& flight, std::uint32_t number);
    [[nodiscard]] static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

    NetworkModel network_;
    int hosts_;
    EventQueue& events_;
    std::vector<comm::LinkClock> out_;
    std::vector<comm::LinkClock> in_;
    comm::LinkClock core_{};
    std::vector<std::uint32_t> coming_;  ///< messages on their way to a host
    KeptValues<Flight> flights_;
};

}  // namespace rudder::train
