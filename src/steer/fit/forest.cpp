#include "forest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

#include "flat_trees.hpp"

namespace rudder::steer {

namespace {

using ClassWeights = std::array<double, 2>;

/// What a part of the rows adds to the sum that the best split makes largest: weight less impurity.
double purity(const ClassWeights& w) {
    const double sum = w[0] + w[1];
    return sum > 0 ? (w[0] * w[0] + w[1] * w[1]) / sum : 0;
}

struct ForestSplit {
    bool found = false;
    std::int32_t feature = 0;
    float at = 0;  ///< rows below it go left
    double purity = 0;
};

/// One tree, without a root's place.
struct GrownTree : FlatTrees {
    std::vector<double> gain;  ///< by feature

    std::int32_t add() {
        left.push_back(-1);
        right.push_back(-1);
        feature.push_back(0);
        split.push_back(0);
        return static_cast<std::int32_t>(left.size() - 1);
    }
};

void append_tree(FlatTrees& all, const GrownTree& tree) {
    const auto put = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    all.roots.push_back(static_cast<std::int32_t>(all.left.size()));
    put(all.left, tree.left);
    put(all.right, tree.right);
    put(all.feature, tree.feature);
    put(all.split, tree.split);
}

/// Grows one tree; what is drawn depends on the seed and the tree's number alone.
class TreeGrower {
public:
    TreeGrower(const FitData& data, const ForestOptions& options, std::uint64_t seed,
               std::size_t tree)
        : data_(data),
          o_(options),
          draws_(RandomStream({.purpose = Purpose::steer, .seed = seed, .layer = 2}), tree),
          weight_(data.rows(), 0),
          order_(data.columns) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        tried_ = o_.tried != 0 ? o_.tried
                               : std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(
                                                              static_cast<double>(data.columns))));
        draw_rows();
    }

    [[nodiscard]] GrownTree grow() {
        GrownTree tree;
        tree.gain.assign(data_.columns, 0);
        std::vector<Part> open{{tree.add(), 0, rows_.size()}};
        while (!open.empty()) {
            const Part part = open.back();
            open.pop_back();
            const auto at = static_cast<std::size_t>(part.node);
            const ClassWeights sums = sums_of(part);
            const ForestSplit best = best_split(part, sums);
            if (!best.found) {
                const double sum = sums[0] + sums[1];
                tree.split[at] = static_cast<float>((sum > 0 ? sums[1] / sum : 0) /
                                                    static_cast<double>(o_.trees));
                continue;
            }
            const auto column = static_cast<std::size_t>(best.feature);
            const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(part.begin);
            const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(part.end);
            const auto middle = std::partition(
                begin, end, [&](std::uint32_t row) { return value(row, column) < best.at; });
            const auto cut = static_cast<std::size_t>(middle - rows_.begin());
            const std::int32_t left = tree.add();
            const std::int32_t right = tree.add();
            tree.left[at] = left;
            tree.right[at] = right;
            tree.feature[at] = best.feature;
            tree.split[at] = best.at;
            tree.gain[column] += best.purity - purity(sums);
            open.push_back({left, part.begin, cut});
            open.push_back({right, cut, part.end});
        }
        return tree;
    }

private:
    /// Rows of a node that is still to be looked at.
    struct Part {
        std::int32_t node;
        std::size_t begin;
        std::size_t end;
        [[nodiscard]] std::size_t rows() const noexcept { return end - begin; }
    };

    [[nodiscard]] float value(std::uint32_t row, std::size_t column) const {
        return data_.x[row * data_.columns + column];
    }

    /// How often each row is in the tree, times its weight, both classes alike.
    void draw_rows() {
        const std::size_t count = data_.rows();
        for (std::size_t i = 0; i < count; ++i)
            weight_[o_.bootstrap ? draws_.below(count) : i] += 1;
        ClassWeights sums{};
        for (std::size_t i = 0; i < count; ++i) {
            weight_[i] *= static_cast<double>(data_.weight[i]);
            sums[data_.y[i]] += weight_[i];
            if (weight_[i] > 0) rows_.push_back(static_cast<std::uint32_t>(i));
        }
        for (const std::uint32_t row : rows_)
            weight_[row] *= (sums[0] + sums[1]) / (2 * sums[data_.y[row]]);
        column_.reserve(rows_.size());
    }

    [[nodiscard]] ClassWeights sums_of(const Part& part) const {
        ClassWeights sums{};
        for (std::size_t i = part.begin; i < part.end; ++i)
            sums[data_.y[rows_[i]]] += weight_[rows_[i]];
        return sums;
    }

    /// The best of the features that are drawn; more are, while all so far are constant here.
    [[nodiscard]] ForestSplit best_split(const Part& part, const ClassWeights& sums) {
        ForestSplit best;
        if (part.rows() < 2 * o_.leaf || sums[0] <= 0 || sums[1] <= 0) return best;
        std::size_t constant = 0;
        for (std::size_t k = 0; k < order_.size(); ++k) {
            if (k >= tried_ && constant < k) break;
            std::swap(order_[k], order_[k + draws_.below(order_.size() - k)]);
            sort_column(part, order_[k]);
            if (column_.front().first == column_.back().first) {
                ++constant;
                continue;
            }
            scan_column(order_[k], sums, best);
        }
        return best;
    }

    void sort_column(const Part& part, std::size_t column) {
        column_.clear();
        for (std::size_t i = part.begin; i < part.end; ++i)
            column_.emplace_back(value(rows_[i], column), rows_[i]);
        std::ranges::sort(column_);
    }

    /// All cuts of the sorted column that leave enough rows on both sides.
    void scan_column(std::size_t column, const ClassWeights& sums, ForestSplit& best) const {
        ClassWeights left{};
        for (std::size_t i = 0; i + o_.leaf < column_.size(); ++i) {
            const auto [here, row] = column_[i];
            left[data_.y[row]] += weight_[row];
            const float next = column_[i + 1].first;
            if (i + 1 < o_.leaf || here == next) continue;
            const ClassWeights right{sums[0] - left[0], sums[1] - left[1]};
            const double both = purity(left) + purity(right);
            if (best.found && both <= best.purity) continue;
            const float middle = here + (next - here) / 2;
            best = {true, static_cast<std::int32_t>(column), middle > here ? middle : next, both};
        }
    }

    const FitData& data_;
    const ForestOptions& o_;
    Draws draws_;
    std::vector<double> weight_;       ///< by row of the data; 0: not in the tree
    std::vector<std::uint32_t> rows_;  ///< of the tree, those of a node side by side
    std::vector<std::size_t> order_;   ///< features, drawn from the front
    std::size_t tried_ = 1;
    std::vector<std::pair<float, std::uint32_t>> column_;  ///< of a node, sorted; scratch
};

}  // namespace

void fit_forest(Model& model, const FitData& data, std::uint64_t seed, std::vector<double>& gain,
                const ForestOptions& options) {
    std::vector<GrownTree> trees(options.trees);
    parallel_chunks(trees.size(), 1, [&](const Chunk& chunk) {
        trees[chunk.index] = TreeGrower(data, options, seed, chunk.index).grow();
    });
    gain.assign(data.columns, 0);
    FlatTrees all;
    for (const GrownTree& tree : trees) {
        append_tree(all, tree);
        for (std::size_t c = 0; c < data.columns; ++c)
            gain[c] += tree.gain[c];
    }
    model.arrays = std::move(all).arrays(0, false);
}

}  // namespace rudder::steer
