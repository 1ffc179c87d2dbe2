#include "metrics.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <variant>

#include "rudder/core/check.hpp"

namespace rudder {

struct MetricsRegistry::State {
    // Metrics hold atomics and cannot move, so each lies in its own allocation.
    using Metric =
        std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Timer>>;

    template <class T>
    T& get(std::string_view name) {
        const std::scoped_lock lock(mutex);
        auto found = metrics.find(name);
        if (found == metrics.end()) {
            found = metrics.emplace(std::string(name), std::make_unique<T>()).first;
        }
        auto* held = std::get_if<std::unique_ptr<T>>(&found->second);
        RUDDER_CHECK(held != nullptr);
        return **held;
    }

    mutable std::mutex mutex;
    std::map<std::string, Metric, std::less<>> metrics;
};

MetricsRegistry::MetricsRegistry() : state_(new State) {}
MetricsRegistry::~MetricsRegistry() {
    delete state_;
}

Counter& MetricsRegistry::counter(std::string_view name) {
    return state_->get<Counter>(name);
}
Gauge& MetricsRegistry::gauge(std::string_view name) {
    return state_->get<Gauge>(name);
}
Timer& MetricsRegistry::timer(std::string_view name) {
    return state_->get<Timer>(name);
}

std::vector<MetricValue> MetricsRegistry::snapshot() const {
    struct Describe {
        MetricValue operator()(const std::unique_ptr<Counter>& c) const {
            return {"", MetricValue::Kind::counter, static_cast<double>(c->value()), c->value()};
        }
        MetricValue operator()(const std::unique_ptr<Gauge>& g) const {
            return {"", MetricValue::Kind::gauge, g->value(), 0};
        }
        MetricValue operator()(const std::unique_ptr<Timer>& t) const {
            return {"", MetricValue::Kind::timer, t->seconds(), t->count()};
        }
    };
    const std::scoped_lock lock(state_->mutex);
    std::vector<MetricValue> values;
    for (const auto& [name, metric] : state_->metrics) {
        values.push_back(std::visit(Describe{}, metric));
        values.back().name = name;
    }
    return values;
}

MetricsRegistry& MetricsRegistry::global() {
    // Never destroyed: threads may still count while the process exits.
    static auto* registry = new MetricsRegistry;
    return *registry;
}

}  // namespace rudder
