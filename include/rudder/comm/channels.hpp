// The one list of channels: who talks on which, so that no two conversations meet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rudder::comm {

/// Lines of conversation between the same ranks; messages of one channel keep their order.
using Channel = std::uint32_t;
inline constexpr Channel channel_limit = 64;
/// A Service takes this many: questions, and answers of training, of evaluation, and of what is
/// fetched ahead.
inline constexpr Channel service_channels = 4;

/// What is talked about.
enum class Talk : std::size_t {
    collectives,      ///< comm/collectives.cpp
    agreement,        ///< comm/collectives.cpp: which collective comes next (--paranoid)
    scatter,          ///< comm/reduction.cpp: contributions, one channel per reduction in flight
    sums,             ///< comm/reduction.cpp: their sums
    windows,          ///< comm/mpi_transport.cpp: who has opened shared memory
    clocks,           ///< comm/clocks.cpp
    figures,          ///< comm/measure.cpp: delay and rate of links
    topology,         ///< sample/part_exchange.hpp
    draws,            ///< sample/partitioned_source.cpp
    feature_rows,     ///< store/feature_store.cpp
    to_first,         ///< buffer/live/host_exchange.cpp: ranks of a host to its first
    from_first,       ///< buffer/live/host_exchange.cpp
    closing,          ///< train/steps/record_book.cpp
    even_layer_rows,  ///< train/evaluation/exact_input.cpp: rows of layers, in turn
    odd_layer_rows,   ///< train/evaluation/exact_input.cpp
    predictions,      ///< train/prediction/predictions.cpp
    others,           ///< programs that use the library; the rest of the channels
};

/// Reductions that may be in flight at once.
inline constexpr Channel reduction_channels = 8;

/// How many channels each talk takes, in the order of Talk.
inline constexpr std::array<Channel, static_cast<std::size_t>(Talk::others)> talk_widths{
    1,
    1,
    reduction_channels,
    reduction_channels,
    1,
    1,
    1,
    1,
    service_channels,
    service_channels,
    1,
    1,
    1,
    service_channels,
    service_channels,
    service_channels};

/// The first channel of a talk: they lie one after the other, so none is used twice.
[[nodiscard]] constexpr Channel channel_of(Talk talk) {
    Channel first = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(talk); ++i)
        first += talk_widths[i];
    return first;
}

/// Free for programs that use the library.
inline constexpr Channel user_channels = channel_of(Talk::others);
static_assert(talk_widths.back() != 0, "every talk has a width");
static_assert(user_channels + 4 * service_channels <= channel_limit, "channels are left for users");

}  // namespace rudder::comm
