#include "shared_numbers.hpp"

#include "shared_kernels.hpp"

namespace rudder::sample {

SharedNumbers::SharedNumbers(const StreamKey& key, std::uint64_t redraw) noexcept
    : stream_({.purpose = key.purpose, .seed = key.seed, .layer = key.layer}),
      number_of_turn_(key.step / redraw),
      redraw_(static_cast<std::uint32_t>(redraw)),
      turn_{.now = keys(0, number_of_turn_),
            .next = keys(0, number_of_turn_ + 1),
            .last_now = least(redraw - key.step % redraw) - 1} {}

std::uint32_t SharedNumbers::number(VertexId t) const noexcept {
    const std::uint32_t h = static_cast<std::uint32_t>(t) * SharedMix::spread;
    const VertexId high = t >> 32;
    const bool further = h > turn_.last_now;
    if (high == 0) return SharedMix::word(h, further ? turn_.next : turn_.now);
    return SharedMix::word(h, keys(high, number_of_turn_ + (further ? 1 : 0)));
}

std::size_t SharedNumbers::collect(DrawCode code, const std::uint32_t* ids, std::size_t count,
                                   std::uint32_t limit, std::uint32_t* out_ids,
                                   std::uint32_t* out_numbers) const noexcept {
    return kernels_of(code).collect(turn_, ids, count, limit, out_ids, out_numbers);
}

std::size_t SharedNumbers::drop(DrawCode code, std::uint32_t first, std::uint32_t length,
                                std::uint32_t* ids, std::uint32_t* numbers,
                                std::size_t count) const noexcept {
    const std::uint64_t end = std::uint64_t{first} + length;
    const std::uint32_t least_h = least(first);
    const std::uint32_t end_h = least(end < redraw_ ? end : end - redraw_);
    return kernels_of(code).drop(least_h, end_h - least_h, ids, numbers, count);
}

bool SharedNumbers::keep_few(DrawCode code, const std::uint32_t* ids, std::size_t count,
                             std::size_t wanted, std::uint32_t* out) const noexcept {
    return kernels_of(code).few(turn_, ids, count, wanted, out);
}

bool keep_smallest(DrawCode code, const std::uint32_t* ids, const std::uint32_t* numbers,
                   std::size_t count, std::size_t wanted, std::uint32_t* out) noexcept {
    return kernels_of(code).keep(ids, numbers, count, wanted, out);
}

}  // namespace rudder::sample
