// The clairvoyant floor: the fewest rows any policy could fetch, counted step by step as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/huge_vector.hpp"
#include "rudder/buffer/trace.hpp"
#include "rudder/core/rows.hpp"

namespace rudder::buffer {

/// Counts what Belady's rule with bypass fetches (`optimal`), exactly and for each step, without
/// seeing the future: a row is a hit where a slot was free from the end of the step of its last use
/// to this step, beside all rows that are used again no later than now. Rows used again later never
/// have a better claim, so nothing that is decided changes. A step that had no slot left settles
/// all before it: no use of a row from before it can be a hit any more.
///
/// Keeps four bytes per row and sixteen per step since the last that was full, and no ids.
class FloorCounter {
public:
    explicit FloorCounter(std::uint64_t capacity) : capacity_(capacity) {}

    /// The next step, of distinct rows below `known`. How many of them must be fetched.
    std::uint64_t step(std::span<const RowKey> rows, RowKey known);
    /// Of all steps so far.
    [[nodiscard]] std::uint64_t fetched() const noexcept { return fetched_; }
    /// Memory held, in bytes.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    using Step = std::uint32_t;

    /// The end of a step, where rows are held for later ones. Of all ends those count beyond which
    /// no end has as many rows: *peaks*, fewer and fewer from the first to the last.
    struct End {
        Step peak;           ///< the peak that stands for it, by way of others; itself if it is one
        Step before;         ///< of a peak that is not the first: the one before
        std::uint32_t drop;  ///< rows fewer than there, at least one
        std::uint32_t wanted;  ///< rows of the step in hand that were last used in this one
    };

    [[nodiscard]] End& end_of(Step step) noexcept { return ends_[step - first_end_]; }
    [[nodiscard]] Step peak_of(Step step) noexcept;
    void append_end();
    /// Holds up to `count` rows from the end of a step until now; how many there are slots for.
    std::uint64_t hold(Step from, std::uint64_t count);
    void settle(Step full);
    void forget_settled();

    std::uint64_t capacity_;
    std::uint64_t fetched_ = 0;
    Step now_ = 0;
    HugeVector<Step> last_use_;  ///< by row: one more than its step; 0: none
    std::vector<End> ends_;      ///< of steps first_end_, first_end_ + 1, ... now_ - 1
    Step first_end_ = 0;
    Step open_ = 0;                  ///< ends before this one are settled
    Step first_peak_ = 0;            ///< where open_ < now_
    std::uint64_t highest_ = 0;      ///< rows held at the first peak
    std::uint64_t lowest_ = 0;       ///< and at the last, which is the last end
    std::vector<Step> wanted_from_;  ///< ends with rows wanted
};

/// What `optimal` comes to on a trace, and each step's fetches to `each` where given.
[[nodiscard]] Rows floor_rows(const HostTrace& trace, std::uint64_t capacity,
                              const std::function<void(std::uint64_t)>& each = {});

struct FloorSteps {
    std::uint64_t first_step = 0;
    std::vector<double> rows;  ///< of each step, over all hosts
};

/// Rows that `optimal` fetches with the buffer the run had. A usage Error if the trace does not say
/// how large that was.
[[nodiscard]] FloorSteps floor_steps(const Trace& trace);

}  // namespace rudder::buffer
