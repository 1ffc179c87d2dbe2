// The catalogue of what a step is measured by: one list that every sink and reader goes by.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rudder::report {

/// One number of a step of a rank.
struct MetricInfo {
    enum class Kind {
        count,    ///< of this step; sums over steps and ranks mean something
        seconds,  ///< of this step; likewise
        value,    ///< as it was then
    };
    std::string_view path;  ///< its place in a line of metrics.jsonl, such as "rows.hit"
    Kind kind;
    std::string_view help;  ///< one sentence, without its full stop

    /// Whether it is written without a fraction.
    [[nodiscard]] constexpr bool whole() const noexcept {
        return kind == Kind::count || path.starts_with("knobs.");
    }
};

/// How many there are.
inline constexpr std::size_t metric_count = 27;

/// All of them, in the order of a line of metrics.jsonl. What identifies a line (step, epoch, rank)
/// and what is no number (bytes_by_owner, the policy among the knobs) is not among them.
[[nodiscard]] std::span<const MetricInfo> metric_catalogue() noexcept;

/// The place of a metric in the catalogue; a path that is not in it is a bug.
[[nodiscard]] std::size_t metric_index(std::string_view path);

/// The name in TensorBoard: "rows/hit".
[[nodiscard]] std::string tensorboard_tag(const MetricInfo& metric);

/// The name in Prometheus: "rudder_rows_hit_total", "rudder_seconds_stall_total", "rudder_loss".
[[nodiscard]] std::string prometheus_name(const MetricInfo& metric);

}  // namespace rudder::report
