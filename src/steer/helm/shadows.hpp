// Shadow buffers, all on the same sample of the ids.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buffer/shadow_buffer.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::steer {

/// What a shadow is for: it does what the real buffer does; it follows the built-in rule; it is
/// one side of a decision under judgement; or an agent has asked for it.
enum class ShadowRole : std::uint8_t { twin, built_in, trial, agent };

/// One buffer that runs beside the real one. Its address stays until it is closed.
struct Shadow {
    ShadowRole role;
    std::string name{};  ///< of an agent's: as the agent calls it
    Setting setting;
    std::uint64_t opened = 0;     ///< the step it began with
    buffer::Decision decision{};  ///< for the next step
    Rows base{};                  ///< what it had counted when it was opened
    Rows marked{};                ///< what it had counted at the last mark
    std::uint64_t ahead = 0;      ///< steps that it may be ahead of the real buffer
    /// Fetched in each step since the last mark; of an agent's.
    std::vector<std::uint64_t> by_step{};
    std::unique_ptr<buffer::ShadowBuffer> buffer{};

    [[nodiscard]] const Rows& counted() const { return buffer->counted(); }
    /// The step that it takes next.
    [[nodiscard]] std::uint64_t next_step() const { return buffer->next_step(); }
};

/// A set of them. Each is told of every step, and takes it when `advance` is called. Those that may
/// be ahead take steps that are known before the real buffer does: several at a time until they are
/// as far ahead as they may be, and only where all of them see as far as they look, so that those
/// that began together stay together.
class Shadows {
public:
    /// `slots` is the largest capacity any of them may have.
    Shadows(const buffer::PolicyFacts& facts, std::uint32_t sample, buffer::SlotId slots,
            std::uint64_t first_step);

    /// Adds the CPU time (nanoseconds) of an agent's to a sum, which must outlive it.
    void meter(std::atomic<std::uint64_t>& cpu) { cpu_ = &cpu; }
    /// The rows of a step that is coming.
    void publish(std::uint64_t step, std::span<const buffer::RowKey> rows);
    /// All take the next step.
    void advance();

    /// Starts one, empty; an agent's anew under the same name.
    Shadow& open(ShadowRole role, const Setting& setting, const std::string& name = {},
                 std::uint64_t ahead = 0);
    /// Starts one as another is now, likewise.
    Shadow& copy(ShadowRole role, const Shadow& from, const std::string& name = {},
                 std::uint64_t ahead = 0);
    /// Changes what of its setting concerns ids. A usage Error leaves it as it was.
    void set(Shadow& shadow, const Setting& setting);
    void close(const Shadow& shadow);
    /// The agent's shadow of that name; null if there is none.
    [[nodiscard]] Shadow* find(std::string_view name);

    [[nodiscard]] std::span<const std::unique_ptr<Shadow>> all() const { return all_; }
    /// How many steps after the next one they want to see.
    [[nodiscard]] std::uint64_t horizon() const;
    [[nodiscard]] std::uint64_t next_step() const { return next_; }
    /// Real rows per row that is followed, so far.
    [[nodiscard]] double scale() const;
    [[nodiscard]] std::uint64_t bytes() const;
    /// For whoever publishes to several feeds at once, in place of `publish`.
    [[nodiscard]] const std::shared_ptr<buffer::ShadowFeed>& feed() const { return feed_; }

private:
    Shadow& add(std::unique_ptr<Shadow> made);
    /// The next step as the real buffer takes it, and those ahead of it.
    void advance(Shadow& shadow, std::uint64_t known);
    /// The longest horizon of those that may be ahead.
    [[nodiscard]] std::uint64_t horizon_ahead() const;
    /// From this step on, one of those ahead would see less than it looks for.
    [[nodiscard]] std::uint64_t known_ahead() const;
    /// Where it is to be after `advance`, if enough is known.
    [[nodiscard]] std::uint64_t wanted(const Shadow& shadow) const;

    std::shared_ptr<buffer::ShadowFeed> feed_;
    buffer::SlotId slots_;
    std::vector<std::unique_ptr<Shadow>> all_;
    std::uint64_t next_;
    double needed_ = 0;  ///< rows of all steps, and those of them that were followed
    double followed_ = 0;
    std::atomic<std::uint64_t>* cpu_ = nullptr;
};

/// Counts of a sample, scaled to all rows.
[[nodiscard]] Rows scaled(const Rows& counted, double scale) noexcept;

}  // namespace rudder::steer
