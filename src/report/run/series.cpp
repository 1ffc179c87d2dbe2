// Buckets of steps, and where the numbers stand in them.
#include <algorithm>

#include "report/catalogue.hpp"
#include "report/run_data.hpp"

namespace rudder::report {

void Stat::add(double value) noexcept {
    sum += value;
    min = std::min(min, value);
    max = std::max(max, value);
    ++count;
}

void Stat::add(const Stat& other) noexcept {
    sum += other.sum;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    count += other.count;
}

std::size_t series_column(std::string_view metric_path) {
    return metric_index(metric_path);
}

std::size_t series_column(Derived derived) {
    return metric_catalogue().size() + static_cast<std::size_t>(derived);
}

std::size_t series_columns() {
    return metric_catalogue().size() + derived_count;
}

Stat StepSeries::total(std::size_t column) const {
    Stat all;
    for (std::size_t b = 0; b < buckets(); ++b)
        all.add(at(b, column));
    return all;
}

void StepSeries::coarsen(std::size_t most) {
    while (buckets() > std::max<std::size_t>(most, 1)) {
        const std::size_t count = (buckets() + 1) / 2;
        for (std::size_t b = 0; b < count; ++b) {
            for (std::size_t c = 0; c < columns; ++c) {
                Stat joined = at(2 * b, c);
                if (2 * b + 1 < buckets()) joined.add(at(2 * b + 1, c));
                stats[b * columns + c] = joined;
            }
        }
        stats.resize(count * columns);
        width *= 2;
    }
}

void add_floor(RunData& run, std::uint64_t first_step, const std::vector<double>& rows) {
    StepSeries& series = run.metrics.series;
    const std::size_t column = series_column(Derived::floor);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint64_t bucket = (first_step + i) / series.width;
        if (bucket < series.buckets()) series.stats[bucket * series.columns + column].add(rows[i]);
    }
}

}  // namespace rudder::report
