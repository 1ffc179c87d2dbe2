#include "class_weights.hpp"

#include <algorithm>
#include <cstdint>

#include "rudder/core/error.hpp"

namespace rudder::train {

std::vector<std::string_view> class_weight_names() {
    return {"none", "balanced"};
}

namespace {

/// From how often each class is there on this rank.
std::vector<float> balanced_weights(const comm::Communicator& comm,
                                    std::span<const std::uint64_t> counts) {
    std::vector<std::uint64_t> sums;
    for (const auto& theirs : comm.all_gather(counts)) {
        sums.resize(std::max(sums.size(), theirs.size()));
        for (std::size_t c = 0; c < theirs.size(); ++c)
            sums[c] += theirs[c];
    }
    std::uint64_t all = 0;
    std::uint64_t appearing = 0;
    for (const std::uint64_t count : sums) {
        all += count;
        appearing += count != 0 ? 1U : 0U;
    }
    std::vector<float> weights;
    for (const std::uint64_t count : sums) {
        const double even = static_cast<double>(all) / static_cast<double>(appearing);
        weights.push_back(count == 0 ? 0.F : static_cast<float>(even / static_cast<double>(count)));
    }
    return weights;
}

void refuse_unless_classes(graph::TargetKind kind) {
    if (kind == graph::TargetKind::classes) return;
    throw usage_error("only classes can be balanced, and this data set has other targets",
                      "--class-weights", "leave it out");
}

}  // namespace

std::vector<float> balanced_class_weights(const comm::Communicator& comm,
                                          std::span<const partition::Part> own) {
    std::vector<std::uint64_t> counts;
    for (const partition::Part& part : own) {
        counts.resize(part.info().targets.count);
        const auto roles = part.roles();
        const auto labels = part.targets().classes;
        for (std::size_t v = 0; v < roles.size(); ++v) {
            if (roles[v] == graph::Role::train && labels[v] >= 0)
                ++counts[static_cast<std::size_t>(labels[v])];
        }
    }
    return balanced_weights(comm, counts);
}

std::vector<float> class_weights(std::string_view name, const comm::Communicator& comm,
                                 std::span<const partition::Part> own,
                                 const graph::DatasetInfo& info) {
    if (name == "none") return {};
    refuse_unless_classes(info.targets.kind);
    return balanced_class_weights(comm, own);
}

std::vector<float> edge_class_weights(std::string_view name, const comm::Communicator& comm,
                                      std::span<const partition::Part> own,
                                      std::span<const sample::PartLinks> edges) {
    if (name == "none") return {};
    std::vector<std::uint64_t> counts;
    for (std::size_t p = 0; p < own.size(); ++p) {
        refuse_unless_classes(own[p].info().edge_targets.kind);
        counts.resize(own[p].info().edge_targets.count);
        const auto labels = own[p].edge_data().targets.classes;
        for (const EdgeIndex e : edges[p].train.entries)
            ++counts[static_cast<std::size_t>(labels[e])];
    }
    return balanced_weights(comm, counts);
}

}  // namespace rudder::train
