// rf and xgb: a sum of trees in flat arrays.
#include <algorithm>
#include <limits>

#include "classifiers.hpp"

namespace rudder::steer {

namespace {

/// 12 bytes. Children lie side by side, so that one index serves both: left, then right.
struct Node {
    float split;           ///< goes left if the feature is below it; of leaves, the value
    std::int32_t feature;  ///< of leaves -1
    std::uint32_t child;   ///< the left one; a leaf points at itself, so that walks may go on
};

class Trees final : public Classifier {
public:
    Trees(const Model& model, const std::string& where);
    [[nodiscard]] double probability(std::span<const float> x) override;

private:
    struct Source {
        std::span<const std::int32_t> left, right, feature;
        std::span<const float> split;
    };
    struct Copied {
        std::size_t depth;
        std::size_t nodes;
    };
    /// Lays out one tree so that siblings are neighbours.
    Copied copy_tree(const Source& from, std::size_t begin, std::size_t end, std::size_t features,
                     const std::string& where);

    static constexpr std::size_t lanes = 8;  ///< trees walked side by side: their misses overlap
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> roots_;
    std::vector<std::uint32_t> depths_;  ///< by group of `lanes` trees
    double base_;
    bool logistic_;
};

Trees::Trees(const Model& model, const std::string& where) {
    const Source from{wholes(model, "left", where), wholes(model, "right", where),
                      wholes(model, "feature", where),
                      floats(model, "split", model.array("left", where).shape, where)};
    const auto begins = wholes(model, "roots", where);
    const std::size_t count = from.left.size();
    if (from.right.size() != count || from.feature.size() != count || begins.empty() ||
        begins[0] != 0 || count > std::numeric_limits<std::int32_t>::max()) {
        refuse_model("the arrays of its trees do not fit together", where);
    }
    const auto facts = floats(model, "sum", {2}, where);
    base_ = static_cast<double>(facts[0]);
    logistic_ = facts[1] != 0;
    nodes_.reserve(count + 2 * begins.size());
    for (std::size_t t = 0; t < begins.size(); ++t) {
        const auto begin = static_cast<std::size_t>(begins[t]);
        const std::size_t end =
            t + 1 < begins.size() ? static_cast<std::size_t>(begins[t + 1]) : count;
        if (begin >= end || end > count) refuse_model("its trees are out of order", where);
        roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
        const Copied made = copy_tree(from, begin, end, model.mean.size(), where);
        if (t % lanes == 0) depths_.push_back(0);
        depths_.back() = std::max(depths_.back(), static_cast<std::uint32_t>(made.depth));
    }
}

Trees::Copied Trees::copy_tree(const Source& from, std::size_t begin, std::size_t end,
                               std::size_t features, const std::string& where) {
    struct Place {
        std::size_t source;
        std::size_t at;
        std::size_t depth;
    };
    std::vector<Place> open{{begin, nodes_.size(), 0}};
    nodes_.push_back({});
    Copied made{0, 1};
    std::vector<bool> reached(end - begin, false);  // each node of a tree has one parent
    while (!open.empty()) {
        const Place place = open.back();
        open.pop_back();
        made.depth = std::max(made.depth, place.depth);
        const std::int32_t left = from.left[place.source];
        const std::int32_t right = from.right[place.source];
        if (left < 0) {
            nodes_[place.at] = {from.split[place.source], -1, static_cast<std::uint32_t>(place.at)};
            continue;
        }
        const std::int32_t feature = from.feature[place.source];
        const auto enter = [&](std::int32_t child) {
            const auto at = static_cast<std::size_t>(child);
            if (child <= 0 || at >= end - begin || reached[at]) return false;
            reached[at] = true;
            return true;
        };
        if (!enter(left) || !enter(right) || feature < 0 ||
            static_cast<std::size_t>(feature) >= features) {
            refuse_model("one of its trees is broken", where);
        }
        const std::size_t child = nodes_.size();
        nodes_.resize(child + 2);
        made.nodes += 2;
        nodes_[place.at] = {from.split[place.source], feature, static_cast<std::uint32_t>(child)};
        open.push_back({begin + static_cast<std::size_t>(left), child, place.depth + 1});
        open.push_back({begin + static_cast<std::size_t>(right), child + 1, place.depth + 1});
    }
    return made;
}

double Trees::probability(std::span<const float> x) {
    double sum = base_;
    for (std::size_t first = 0; first < roots_.size(); first += lanes) {
        const std::size_t width = std::min(lanes, roots_.size() - first);
        std::array<std::uint32_t, lanes> at{};
        for (std::size_t i = 0; i < width; ++i)
            at[i] = roots_[first + i];
        for (std::uint32_t level = 0; level < depths_[first / lanes]; ++level) {
            for (std::size_t i = 0; i < width; ++i) {
                const Node& node = nodes_[at[i]];
                const bool leaf = node.feature < 0;
                const float value = x[leaf ? 0 : static_cast<std::size_t>(node.feature)];
                at[i] = node.child + static_cast<std::uint32_t>(!leaf && !(value < node.split));
            }
        }
        for (std::size_t i = 0; i < width; ++i)
            sum += static_cast<double>(nodes_[at[i]].split);
    }
    return logistic_ ? sigmoid(sum) : std::clamp(sum, 0.0, 1.0);
}

}  // namespace

std::unique_ptr<Classifier> make_trees(const Model& model, const std::string& where) {
    return std::make_unique<Trees>(model, where);
}

}  // namespace rudder::steer
