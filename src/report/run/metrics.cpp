// metrics.jsonl, read by chunks on all threads and folded into buckets of steps as it is read.
#include <algorithm>
#include <optional>

#include "report/catalogue.hpp"
#include "report/run_data.hpp"

#include "line_chunks.hpp"
#include "metrics_fold.hpp"
#include "read_parts.hpp"

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

void RankSeries::coarsen(std::size_t most) {
    while (buckets() > std::max<std::size_t>(most, 1)) {
        const std::size_t count = (buckets() + 1) / 2;
        for (std::size_t b = 0; b < count; ++b) {
            for (std::size_t g = 0; g < groups; ++g) {
                RankCell joined = at(2 * b, g);
                if (2 * b + 1 < buckets()) joined += at(2 * b + 1, g);
                cells[b * groups + g] = joined;
            }
        }
        cells.resize(count * groups);
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

namespace {

constexpr std::uint64_t most_groups = 64;
/// No line is shorter; so a file of n bytes has less than n / this steps.
constexpr std::uint64_t least_line = 20;
/// About as many bytes of a file are read for averages.
constexpr std::uint64_t averaged_bytes = std::uint64_t{128} << 20;

/// Looks at the end of the file: the last step there, and the highest rank.
FoldShape find_shape(const std::filesystem::path& file, std::uint64_t bytes) {
    constexpr std::uint64_t tail = 1U << 20;
    const std::uint64_t most_steps = bytes / least_line;
    FoldShape shape;
    bool found = false;
    MetricsLineParser parser;
    MetricsLine line;
    const auto look = [&](const TextLine& text) {
        if (!parser.parse(text.text, line) || line.step > most_steps) return;
        found = true;
        shape.last_step = std::max(shape.last_step, line.step);
        shape.ranks = std::max({shape.ranks, line.rank + 1, std::uint64_t{line.by_owner.size()}});
    };
    for_each_line(file, bytes > tail ? bytes - tail : 0, bytes, look);
    if (!found) {
        shape.last_step = most_steps;
        shape.ranks = most_groups;
    }
    while (shape.last_step / shape.width >= most_buckets)
        shape.width *= 2;
    shape.ranks_per_group = (shape.ranks + most_groups - 1) / most_groups;
    shape.groups = (shape.ranks + shape.ranks_per_group - 1) / shape.ranks_per_group;
    return shape;
}

}  // namespace

MetricsData read_metrics(const std::filesystem::path& file, ReadDepth depth) {
    const std::uint64_t bytes = std::filesystem::file_size(file);
    const LineChunks chunks = LineChunks::of(bytes);
    const FoldShape shape = find_shape(file, bytes);
    const std::uint64_t apart =
        depth == ReadDepth::whole ? 1 : std::max<std::uint64_t>(1, bytes / averaged_bytes);
    std::vector<std::optional<MetricsFold>> folds(chunks.count());
    for_each_chunk(file, chunks, [&](std::size_t chunk, LineSource& lines) {
        if (chunk % apart != 0) return;
        MetricsFold& fold = folds[chunk].emplace(shape);
        MetricsLineParser parser;
        MetricsLine line;
        lines.for_each([&](const TextLine& text) {
            if (parser.parse(text.text, line)) {
                fold.add(line);
            } else {
                fold.add_damaged(text.whole);
            }
        });
    });
    MetricsFold all(shape);
    for (auto& fold : folds) {
        if (fold) all.join(std::move(*fold));
        fold.reset();
    }
    MetricsData data = all.finish();
    data.bytes = bytes;
    return data;
}

}  // namespace rudder::report
