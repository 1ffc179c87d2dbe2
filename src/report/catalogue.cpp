#include "catalogue.hpp"

#include <algorithm>
#include <array>

#include "rudder/core/check.hpp"

namespace rudder::report {

namespace {

using Kind = MetricInfo::Kind;

constexpr std::array catalogue{
    MetricInfo{"loss", Kind::value, "Loss of the step over all parts"},
    MetricInfo{"seconds.step", Kind::seconds, "From one step's end to the next's"},
    MetricInfo{"seconds.sample", Kind::seconds, "Drawing the step's blocks, beside training"},
    MetricInfo{"seconds.fetch", Kind::seconds,
               "From the first request to the last row in place, beside training"},
    MetricInfo{"seconds.stall", Kind::seconds, "Waiting for rows with nothing else to do"},
    MetricInfo{"seconds.compute", Kind::seconds, "Forward, backward and update"},
    MetricInfo{"seconds.reduce", Kind::seconds, "Waiting for gradients after the backward pass"},
    MetricInfo{"rows.needed", Kind::count, "Input rows the step read"},
    MetricInfo{"rows.local", Kind::count, "Of these, rows of the host itself"},
    MetricInfo{"rows.hit", Kind::count, "Of these, rows found in the buffer"},
    MetricInfo{"rows.demand", Kind::count, "Of these, rows fetched for this step alone"},
    MetricInfo{"rows.replacement", Kind::count, "Rows fetched by a replacement"},
    MetricInfo{"rows.ahead", Kind::count, "Rows fetched ahead of their use"},
    MetricInfo{"rows.wasted", Kind::count, "Rows fetched for the buffer and dropped unused"},
    MetricInfo{"rows.saved", Kind::count, "Further uses of rows within the step, which count once"},
    MetricInfo{"bytes.features", Kind::count, "Bytes of feature rows received"},
    MetricInfo{"bytes.requests", Kind::count, "Bytes of requests received"},
    MetricInfo{"bytes.topology", Kind::count, "Bytes of neighbour lists received"},
    MetricInfo{"bytes.gradients", Kind::count, "Bytes of gradients received"},
    MetricInfo{"bytes.evaluation", Kind::count, "Bytes received for evaluation"},
    MetricInfo{"bytes.control", Kind::count, "All other bytes received"},
    MetricInfo{"edges", Kind::count, "Edges sampled"},
    MetricInfo{"knobs.window", Kind::value, "Steps the buffer looks ahead"},
    MetricInfo{"knobs.capacity", Kind::value, "Rows the buffer may hold"},
    MetricInfo{"knobs.bulk", Kind::value, "Most rows per message; 0: about 256 KiB"},
    MetricInfo{"knobs.sample_threads", Kind::value, "Tasks that sample"},
    MetricInfo{"knobs.fetch_threads", Kind::value, "Tasks that fetch"},
};

static_assert(catalogue.size() == metric_count);

std::string with(std::string_view path, char separator) {
    std::string name(path);
    std::ranges::replace(name, '.', separator);
    return name;
}

}  // namespace

std::span<const MetricInfo> metric_catalogue() noexcept {
    return catalogue;
}

std::size_t metric_index(std::string_view path) {
    const auto* const found = std::ranges::find(catalogue, path, &MetricInfo::path);
    RUDDER_CHECK(found != catalogue.end());
    return static_cast<std::size_t>(found - catalogue.begin());
}

std::string tensorboard_tag(const MetricInfo& metric) {
    return with(metric.path, '/');
}

std::string prometheus_name(const MetricInfo& metric) {
    return "rudder_" + with(metric.path, '_') + (metric.kind == Kind::value ? "" : "_total");
}

}  // namespace rudder::report
