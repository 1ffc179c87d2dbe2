// metrics.jsonl, read by chunks on all threads and folded as it is read.
#include <algorithm>
#include <optional>

#include "line_chunks.hpp"
#include "metrics_fold.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

constexpr std::uint64_t most_groups = 64;
/// No line is shorter; so a file of n bytes has less than n / this steps.
constexpr std::uint64_t least_line = 20;

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

MetricsData read_metrics(const std::filesystem::path& file) {
    const std::uint64_t bytes = std::filesystem::file_size(file);
    const LineChunks chunks = LineChunks::of(bytes);
    const FoldShape shape = find_shape(file, bytes);
    std::vector<std::optional<MetricsFold>> folds(chunks.count());
    for_each_chunk(file, chunks, [&](std::size_t chunk, LineSource& lines) {
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
