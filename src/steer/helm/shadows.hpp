// Shadow buffers by name, all on the same sample of the ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buffer/shadow_buffer.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::steer {

/// One buffer that runs beside the real one.
struct Shadow {
    std::string name;
    Setting setting;
    std::uint64_t opened = 0;      ///< the step it began with
    buffer::Decision decision{};   ///< for the next step
    buffer::RowAccounts base{};    ///< what it had counted when it was opened
    buffer::RowAccounts marked{};  ///< what it had counted at the last mark
    std::unique_ptr<buffer::ShadowBuffer> buffer{};

    [[nodiscard]] const buffer::RowAccounts& counted() const { return buffer->counted(); }
};

/// A set of them. Each is told of every step, and takes it when `advance` is called.
class Shadows {
public:
    /// `slots` is the largest capacity any of them may have.
    Shadows(const buffer::PolicyFacts& facts, std::uint32_t sample, buffer::SlotId slots,
            std::uint64_t first_step);

    /// The rows of a step that is coming.
    void publish(std::uint64_t step, std::span<const buffer::RowKey> rows);
    /// All take the next step.
    void advance();

    /// Starts one, empty, or anew under the same name.
    Shadow& open(const std::string& name, const Setting& setting);
    /// Starts one as another is now.
    Shadow& copy(const std::string& name, const Shadow& from);
    /// Changes what of its setting concerns ids. A usage Error leaves it as it was.
    void set(Shadow& shadow, const Setting& setting);
    void close(std::string_view name);
    /// Null if there is none of that name.
    [[nodiscard]] Shadow* find(std::string_view name);

    [[nodiscard]] std::span<const std::unique_ptr<Shadow>> all() const { return all_; }
    /// The longest of their horizons.
    [[nodiscard]] std::uint64_t horizon() const;
    [[nodiscard]] std::uint64_t next_step() const { return next_; }
    /// Real rows per row that is followed, so far.
    [[nodiscard]] double scale() const;
    [[nodiscard]] std::uint64_t bytes() const;

private:
    std::shared_ptr<buffer::ShadowFeed> feed_;
    buffer::SlotId slots_;
    std::vector<std::unique_ptr<Shadow>> all_;
    std::uint64_t next_;
    double needed_ = 0;  ///< rows of all steps, and those of them that were followed
    double followed_ = 0;
};

/// a - b, field by field.
[[nodiscard]] buffer::RowAccounts since(const buffer::RowAccounts& a,
                                        const buffer::RowAccounts& b) noexcept;
/// Counts of a sample, scaled to all rows.
[[nodiscard]] buffer::RowAccounts scaled(const buffer::RowAccounts& counted, double scale) noexcept;

}  // namespace rudder::steer
