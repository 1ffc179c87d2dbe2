#include "learned_rows.hpp"

#include "rudder/core/check.hpp"

namespace rudder::store {

graph::DatasetInfo with_learned(graph::DatasetInfo info, std::span<const std::uint64_t> widths) {
    if (widths.empty()) return info;
    const auto learn = [](graph::FeatureInfo& features, std::uint64_t width) {
        if (width != 0) features = {.width = width, .type = ElementType::f32};
    };
    if (!info.types.present()) {
        learn(info.features, widths.front());
        return info;
    }
    RUDDER_CHECK(widths.size() == info.types.vertices.size());
    for (std::size_t t = 0; t < widths.size(); ++t)
        learn(info.types.vertices[t].features, widths[t]);
    return info;
}

LearnedSet::LearnedSet(const partition::PartitionedDataset& data,
                       std::span<const std::uint64_t> widths) {
    const bool typed = data.info().types.present();
    const auto add = [&](PartId part, partition::PartitionBook::Range range, std::uint64_t width) {
        if (width == 0 || range.begin == range.end) return;
        stretches_.push_back({range.begin, range.end, width, part});
        if (!ranges_.empty() && ranges_.back().end == range.begin) {
            ranges_.back().end = range.end;
        } else {
            ranges_.push_back({range.begin, range.end});
        }
    };
    for (PartId p = 0; p < data.parts(); ++p) {
        for (std::size_t t = 0; t < widths.size(); ++t)
            add(p, typed ? data.types().range(p, t) : data.book().range(p), widths[t]);
    }
}

}  // namespace rudder::store
