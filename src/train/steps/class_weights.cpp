#include "class_weights.hpp"

#include <algorithm>
#include <cstdint>

#include "rudder/core/error.hpp"

namespace rudder::train {

std::vector<std::string_view> class_weight_names() {
    return {"none", "balanced"};
}

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
    std::vector<std::uint64_t> sums;
    for (const auto& theirs : comm.all_gather(std::span<const std::uint64_t>(counts))) {
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

std::vector<float> class_weights(std::string_view name, const comm::Communicator& comm,
                                 std::span<const partition::Part> own,
                                 const graph::DatasetInfo& info) {
    if (name == "none") return {};
    if (info.targets.kind != graph::TargetKind::classes) {
        throw usage_error("only classes can be balanced, and this data set has other targets",
                          "--class-weights", "leave it out");
    }
    return balanced_class_weights(comm, own);
}

}  // namespace rudder::train
