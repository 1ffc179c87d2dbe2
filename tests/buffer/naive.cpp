#include "naive.hpp"

#include <bit>
#include <list>
#include <map>
#include <set>

#include "rudder/core/check.hpp"

namespace rudder::test {

namespace {

using Step = std::vector<VertexId>;

/// Rows are numbered halo first, then as first seen; the rules break ties by that number.
std::map<VertexId, std::uint64_t> numbers_of(const PlainTrace& trace) {
    std::map<VertexId, std::uint64_t> number;
    for (const VertexId v : trace.halo)
        number.emplace(v, number.size());
    for (const Step& step : trace.steps) {
        for (const VertexId v : step)
            number.emplace(v, number.size());
    }
    return number;
}

bool contains(const Step& step, VertexId v) {
    return std::find(step.begin(), step.end(), v) != step.end();
}

/// A policy: what it holds, and what it does after a step whose hits were counted.
class Naive {
public:
    Naive(const PlainTrace& trace, const buffer::PolicySpec& spec, std::uint64_t capacity)
        : trace_(trace), spec_(spec), capacity_(capacity), number_(numbers_of(trace)) {}
    virtual ~Naive() = default;
    Naive(const Naive&) = delete;
    Naive& operator=(const Naive&) = delete;

    [[nodiscard]] virtual bool holds(VertexId v) const = 0;
    virtual void after(std::size_t t, const Step& step) = 0;
    std::uint64_t replacement = 0;

protected:
    const PlainTrace& trace_;
    const buffer::PolicySpec& spec_;
    std::uint64_t capacity_;
    std::map<VertexId, std::uint64_t> number_;
};

class NaiveSet : public Naive {
public:
    using Naive::Naive;
    [[nodiscard]] bool holds(VertexId v) const override { return held_.contains(v); }
    void after(std::size_t /*t*/, const Step& /*step*/) override {}

protected:
    /// Keeps, of what is held and the step, the first by `before`.
    template <class Before>
    void keep_best(const Step& step, Before before) {
        std::vector<VertexId> all(held_.begin(), held_.end());
        for (const VertexId v : step) {
            if (!held_.contains(v)) all.push_back(v);
        }
        std::sort(all.begin(), all.end(), before);
        if (all.size() > capacity_) all.resize(capacity_);
        held_ = {all.begin(), all.end()};
    }
    std::set<VertexId> held_;
};

/// Static: the halo by descending weight, then ascending id.
class NaiveStatic : public NaiveSet {
public:
    NaiveStatic(const PlainTrace& trace, const buffer::PolicySpec& spec, std::uint64_t capacity)
        : NaiveSet(trace, spec, capacity) {
        std::vector<std::pair<double, VertexId>> order;
        for (std::size_t i = 0; i < trace.halo.size(); ++i)
            order.emplace_back(-weight(i), trace.halo[i]);
        std::sort(order.begin(), order.end());
        for (std::size_t i = 0; i < order.size() && i < capacity; ++i)
            held_.insert(order[i].second);
        replacement = held_.size();
    }

private:
    [[nodiscard]] double weight(std::size_t i) const {
        return spec_.name() == "static-vip" ? trace_.inclusion[i] : trace_.degree[i];
    }
};

class NaiveLru : public Naive {
public:
    using Naive::Naive;
    [[nodiscard]] bool holds(VertexId v) const override {
        return std::find(order_.begin(), order_.end(), v) != order_.end();
    }
    void after(std::size_t /*t*/, const Step& step) override {
        for (const VertexId v : step) {
            order_.remove(v);
            order_.push_back(v);
        }
        while (order_.size() > capacity_)
            order_.pop_front();
    }

private:
    std::list<VertexId> order_;
};

class NaiveLfu : public NaiveSet {
public:
    using NaiveSet::NaiveSet;
    void after(std::size_t /*t*/, const Step& step) override {
        for (const VertexId v : step)
            uses_[v] = {uses_[v].first + 1, ++clock_};
        keep_best(step, [&](VertexId a, VertexId b) { return uses_.at(a) > uses_.at(b); });
    }

private:
    std::map<VertexId, std::pair<int, int>> uses_;
    int clock_ = 0;
};

class NaiveClock : public Naive {
public:
    using Naive::Naive;
    [[nodiscard]] bool holds(VertexId v) const override {
        return std::any_of(ring_.begin(), ring_.end(), [&](const Place& p) { return p.v == v; });
    }
    void after(std::size_t /*t*/, const Step& step) override {
        for (Place& place : ring_) {
            if (contains(step, place.v)) place.used = true;
        }
        for (const VertexId v : step) {
            if (holds(v)) continue;
            if (ring_.size() < capacity_) {
                ring_.push_back({v, true});
            } else if (std::any_of(ring_.begin(), ring_.end(),
                                   [&](const Place& p) { return !contains(step, p.v); })) {
                for (;; hand_ = (hand_ + 1) % ring_.size()) {
                    if (contains(step, ring_[hand_].v)) continue;
                    if (!ring_[hand_].used) break;
                    ring_[hand_].used = false;
                }
                ring_[hand_] = {v, true};
                hand_ = (hand_ + 1) % ring_.size();
            }
        }
    }

private:
    struct Place {
        VertexId v;
        bool used;
    };
    std::vector<Place> ring_;
    std::size_t hand_ = 0;
};

/// The published rules, slot by slot, sentinels included.
class NaivePublished : public Naive {
public:
    NaivePublished(const PlainTrace& trace, const buffer::PolicySpec& spec, std::uint64_t capacity)
        : Naive(trace, spec, capacity) {
        const bool periodic = spec.name() == "periodic";
        period_ = spec.number(periodic ? "delta" : "period");
        Step fill;
        if (periodic) {
            fill = trace.halo;
            std::stable_sort(fill.begin(), fill.end(),
                             [&](VertexId a, VertexId b) { return degree(a) > degree(b); });
            if (fill.size() > capacity) fill.resize(capacity);
            replacement = fill.size();
        }
        for (std::uint64_t i = 0; i < capacity; ++i)
            slots_.push_back({i < fill.size() ? fill[i] : trace.vertices + i, 1, 0});
    }
    [[nodiscard]] bool holds(VertexId v) const override {
        return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.v == v; });
    }
    void after(std::size_t t, const Step& step) override {
        for (Slot& slot : slots_) {
            if (!contains(step, slot.v)) ++slot.idle;
        }
        if (yes(t) && replace()) return;
        for (const VertexId v : step) {
            if (!holds(v) && contains(trace_.halo, v)) missed_[v] += 1;
        }
    }

private:
    struct Slot {
        VertexId v;
        double first;
        int idle;
    };
    [[nodiscard]] std::uint32_t degree(VertexId v) const {
        const auto at = std::find(trace_.halo.begin(), trace_.halo.end(), v) - trace_.halo.begin();
        return trace_.degree[static_cast<std::size_t>(at)];
    }
    [[nodiscard]] bool yes(std::size_t t) const {
        if (spec_.has("delta")) return (t + 1) % spec_.whole("delta") == 0;
        if (spec_.given("listed")) return trace_.listed[t] != 0;
        return spec_.given("every") && (t + 1) % spec_.whole("every") == 0;
    }
    [[nodiscard]] double score(const Slot& slot) const {
        return slot.first * std::pow(1 - spec_.number("alpha"), slot.idle);
    }
    bool replace() {
        const double threshold =
            std::round(std::pow(1 - spec_.number("alpha"), period_) * 1000) / 1000;
        std::vector<std::pair<VertexId, std::size_t>> out;
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (score(slots_[i]) < threshold) out.emplace_back(slots_[i].v, i);
        }
        std::sort(out.begin(), out.end());
        std::vector<std::pair<double, VertexId>> in;
        for (const auto& [v, count] : missed_) {
            if (count > 0 && !holds(v)) in.emplace_back(-count, v);
        }
        std::sort(in.begin(), in.end());
        const std::size_t k = std::min(out.size(), in.size());
        for (std::size_t i = 0; i < k; ++i) {
            Slot& slot = slots_[out[i].second];
            if (slot.v < trace_.vertices) missed_[slot.v] = score(slot);
            slot = {in[i].second, -in[i].first, 0};
            missed_[slot.v] = 0;
        }
        replacement += k;
        return k != 0;
    }

    double period_;
    std::vector<Slot> slots_;
    std::map<VertexId, double> missed_;
};

class NaiveScored : public NaiveSet {
public:
    using NaiveSet::NaiveSet;
    void after(std::size_t /*t*/, const Step& step) override {
        for (auto& [v, count] : counts_)
            count *= spec_.number("decay");
        for (const VertexId v : step)
            counts_[v] += 1;
        keep_best(step, [&](VertexId a, VertexId b) {
            return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : number_[a] < number_[b];
        });
    }

private:
    std::map<VertexId, double> counts_;
};

/// Window and, with all steps known, optimal.
class NaiveWindow : public NaiveSet {
public:
    using NaiveSet::NaiveSet;
    void after(std::size_t t, const Step& step) override {
        const bool window = spec_.name() == "window";
        const double decay = window ? spec_.number("decay") : 1;
        for (auto& [v, count] : counts_)
            count *= decay;
        for (const VertexId v : step)
            counts_[v] += 1;
        std::size_t last = trace_.steps.size() - 1;  // that is known
        if (window) {
            const std::size_t w = spec_.whole("window");
            const std::size_t d = std::min<std::size_t>(spec_.whole("distance"),
                                                        w / (spec_.given("distance") ? 2 : 8));
            last = std::min(last, (t > d ? t - d : 0) + w);
        }
        std::map<VertexId, std::size_t> next;
        for (std::size_t s = last; s > t; --s) {
            for (const VertexId v : trace_.steps[s])
                next[v] = s;
        }
        const auto key = [&](VertexId v) {
            const auto use = next.find(v);
            return use != next.end()
                       ? std::tuple(0, static_cast<double>(use->second), number_.at(v))
                       : std::tuple(1, -counts_[v], number_.at(v));
        };
        keep_best(step, [&](VertexId a, VertexId b) { return key(a) < key(b); });
    }

private:
    std::map<VertexId, double> counts_;
};

std::unique_ptr<Naive> make_naive(const PlainTrace& trace, const buffer::PolicySpec& spec,
                                  std::uint64_t capacity) {
    const auto name = spec.name();
    if (name == "none") return std::make_unique<NaiveSet>(trace, spec, capacity);
    if (name.starts_with("static-")) return std::make_unique<NaiveStatic>(trace, spec, capacity);
    if (name == "lru") return std::make_unique<NaiveLru>(trace, spec, capacity);
    if (name == "lfu") return std::make_unique<NaiveLfu>(trace, spec, capacity);
    if (name == "clock") return std::make_unique<NaiveClock>(trace, spec, capacity);
    if (name == "scored") return std::make_unique<NaiveScored>(trace, spec, capacity);
    if (name == "window" || name == "optimal") {
        return std::make_unique<NaiveWindow>(trace, spec, capacity);
    }
    return std::make_unique<NaivePublished>(trace, spec, capacity);
}

}  // namespace

Rows naive_replay(const PlainTrace& trace, const buffer::PolicySpec& policy,
                  std::uint64_t capacity) {
    const auto naive = make_naive(trace, policy, capacity);
    Rows rows;
    for (std::size_t t = 0; t < trace.steps.size(); ++t) {
        const Step& step = trace.steps[t];
        for (const VertexId v : step)
            ++(naive->holds(v) ? rows.hit : rows.demand);
        naive->after(t, step);
    }
    rows.steps = trace.steps.size();
    rows.needed = rows.hit + rows.demand;
    rows.replacement = naive->replacement;
    return rows;
}

std::uint64_t least_rows(const PlainTrace& trace, std::uint64_t capacity) {
    RUDDER_CHECK(trace.vertices <= 8);
    const unsigned sets = 1U << trace.vertices;
    constexpr std::uint64_t unreached = ~std::uint64_t{0};
    std::vector<std::uint64_t> best(sets, unreached);
    best[0] = 0;
    for (const Step& step : trace.steps) {
        unsigned needs = 0;
        for (const VertexId v : step)
            needs |= 1U << v;
        std::vector<std::uint64_t> after(sets, unreached);
        for (unsigned held = 0; held < sets; ++held) {
            if (best[held] == unreached) continue;
            const auto cost = best[held] + static_cast<unsigned>(std::popcount(needs & ~held));
            for (unsigned kept = 0; kept < sets; ++kept) {
                if ((kept & ~(held | needs)) != 0) continue;
                if (static_cast<unsigned>(std::popcount(kept)) > capacity) continue;
                after[kept] = std::min(after[kept], cost);
            }
        }
        best = std::move(after);
    }
    return *std::min_element(best.begin(), best.end());
}

}  // namespace rudder::test
