#include "epoch_metrics.hpp"

#include <array>

namespace rudder::report {

namespace {

using Value = std::optional<double>;

constexpr std::string_view accuracy_help = "Share of right answers in the last epoch";

constexpr std::array metrics{
    EpochMetric{"accuracy/train", "rudder_accuracy", "set=\"train\"", accuracy_help,
                [](const train::EpochRecord& e) { return e.train(); }},
    EpochMetric{"accuracy/valid", "rudder_accuracy", "set=\"valid\"", accuracy_help,
                [](const train::EpochRecord& e) { return e.valid(); }},
    EpochMetric{"accuracy/test", "rudder_accuracy", "set=\"test\"", accuracy_help,
                [](const train::EpochRecord& e) { return e.test(); }},
    EpochMetric{"epoch/loss", "rudder_epoch_loss", "", "Mean loss of the last epoch's steps",
                [](const train::EpochRecord& e) { return Value(e.loss); }},
    EpochMetric{"epoch/seconds", "rudder_epoch_seconds", "",
                "Time of the last epoch, evaluation excluded",
                [](const train::EpochRecord& e) { return Value(e.seconds); }},
    EpochMetric{"epoch/evaluation_seconds", "rudder_epoch_evaluation_seconds", "",
                "Time that training waited for the last epoch's evaluation",
                [](const train::EpochRecord& e) { return Value(e.evaluation_seconds); }},
};

}  // namespace

std::span<const EpochMetric> epoch_metrics() noexcept {
    return metrics;
}

}  // namespace rudder::report
