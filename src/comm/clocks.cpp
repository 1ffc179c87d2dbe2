#include "clocks.hpp"

#include <limits>

namespace rudder::comm {

namespace {

constexpr Channel clock_channel = channel_of(Talk::clocks);
constexpr int tries = 16;

ClockReading compare_with(const Communicator& comm, int rank, FunctionRef<std::uint64_t()> clock) {
    ClockReading best;
    best.round_trip = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < tries; ++i) {
        std::uint64_t theirs = 0;
        Request answer = comm.receive(rank, clock_channel, std::span(&theirs, 1), Kind::control);
        const std::uint64_t asked = clock();
        Request question =
            comm.send(rank, clock_channel, Kind::control, std::span<const std::byte>{});
        answer.wait();
        const std::uint64_t answered = clock();
        question.wait();
        if (answered - asked >= best.round_trip) continue;
        best.round_trip = answered - asked;
        best.ahead = static_cast<std::int64_t>(theirs - (asked + best.round_trip / 2));
    }
    // Within half a round trip the clocks may as well be the same, as those of one machine are.
    const auto doubt = static_cast<std::int64_t>((best.round_trip + 1) / 2);
    if (best.ahead >= -doubt && best.ahead <= doubt) best.ahead = 0;
    return best;
}

}  // namespace

std::vector<ClockReading> compare_clocks(const Communicator& comm,
                                         FunctionRef<std::uint64_t()> clock) {
    if (comm.rank() != 0) {
        for (int i = 0; i < tries; ++i) {
            comm.receive(0, clock_channel, std::span<std::byte>{}, Kind::control).wait();
            const std::uint64_t now = clock();
            comm.send(0, clock_channel, Kind::control, std::span(&now, 1)).wait();
        }
        return {};
    }
    std::vector<ClockReading> readings(1);
    for (int rank = 1; rank < comm.size(); ++rank)
        readings.push_back(compare_with(comm, rank, clock));
    return readings;
}

}  // namespace rudder::comm
