// What a step and an epoch are measured by: lists that every sink and reader go by.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rudder/train/records.hpp"

#include "sink.hpp"

namespace rudder::report {

/// One number of a step of a rank.
struct MetricInfo {
    std::string path;  ///< its place in a line of metrics.jsonl, such as "rows.hit"
    FieldKind kind;
    std::string_view help;  ///< one sentence, without its full stop

    /// Whether it is written without a fraction.
    [[nodiscard]] bool whole() const noexcept {
        return kind == FieldKind::count || kind == FieldKind::setting;
    }
    /// Whether it is of the moment, so that sums over steps mean nothing.
    [[nodiscard]] bool momentary() const noexcept {
        return kind == FieldKind::value || kind == FieldKind::setting;
    }
};

/// Of the knobs, but the policy's: how far it looks ahead.
inline constexpr Field<train::StepRecord, std::uint64_t> window_metric{
    "window", nullptr, FieldKind::setting, "Steps the buffer looks ahead"};

/// Calls `visit(group, field, value)` with every number of a step, in the order of a line; `group`
/// is the name of the field it is part of, or empty.
template <class Visit>
constexpr void for_each_metric(const train::StepRecord& record, Visit&& visit) {
    for_each_field<train::StepRecord>([&]<class M>(const Field<train::StepRecord, M>& group) {
        if constexpr (std::is_same_v<M, buffer::Knobs>) {
            visit(group.name, window_metric, record.window());
        }
        if constexpr (Listed<M>) {
            for_each_field<M>([&]<class V>(const Field<M, V>& f) {
                if constexpr (std::is_arithmetic_v<V>) {
                    if (f.kind != FieldKind::inner)
                        visit(group.name, f, (record.*group.member).*f.member);
                }
            });
        } else if constexpr (std::is_arithmetic_v<M>) {
            if (group.kind > FieldKind::plain)
                visit(std::string_view{}, group, record.*group.member);
        }
    });
}

/// How many there are.
inline constexpr std::size_t metric_count = [] {
    std::size_t count = 1;  // the window
    const auto add = [&](FieldKind kind) { count += kind > FieldKind::plain ? 1 : 0; };
    for_each_field<train::StepRecord>([&]<class M>(const Field<train::StepRecord, M>& group) {
        add(group.kind);
        if constexpr (Listed<M>) for_each_field<M>([&](const auto& f) { add(f.kind); });
    });
    return count;
}();

/// All of them, in the order of a line of metrics.jsonl. What identifies a line (step, epoch, rank)
/// and what is no number (bytes_by_owner, the policy among the knobs) is not among them.
[[nodiscard]] std::span<const MetricInfo> metric_catalogue() noexcept;

/// The numbers of a step, in the order of the catalogue.
[[nodiscard]] std::array<double, metric_count> metric_values(const train::StepRecord& record);

/// The place of a metric in the catalogue; a path that is not in it is a bug.
[[nodiscard]] std::size_t metric_index(std::string_view path);

/// The name in TensorBoard: "rows/hit".
[[nodiscard]] std::string tensorboard_tag(const MetricInfo& metric);

/// The name in Prometheus: "rudder_rows_hit_total", "rudder_seconds_stall_total", "rudder_loss".
[[nodiscard]] std::string prometheus_name(const MetricInfo& metric);

struct EpochMetric {
    std::string_view tag;     ///< in TensorBoard
    std::string_view name;    ///< in Prometheus
    std::string_view labels;  ///< there; may be empty
    std::string_view help;    ///< one sentence, without its full stop
    /// Nothing: it is not known of this epoch.
    std::optional<double> (*value)(const train::EpochRecord& epoch);
};

/// All of them; those of one name in Prometheus stand together.
[[nodiscard]] std::span<const EpochMetric> epoch_metrics() noexcept;

}  // namespace rudder::report
