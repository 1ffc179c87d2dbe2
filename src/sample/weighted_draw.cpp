#include "weighted_draw.hpp"

#include <algorithm>
#include <bit>
#include <numbers>

namespace rudder::sample {

namespace {

/// Above 0 and below 1.
double open_uniform(std::uint64_t word) noexcept {
    return static_cast<double>(2 * (word >> 12) + 1) * 0x1.0p-53;
}

/// 2^exponent, for exponents of normal numbers.
double power_of_two(int exponent) noexcept {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

}  // namespace

double minus_log(double u) noexcept {
    // u = m 2^e with m between sqrt(1/2) and sqrt(2); log m = 2 (z + z^3 / 3 + z^5 / 5 + ...) with
    // z = (m - 1) / (m + 1), whose square is below 0.0295: twelve terms are as good as all.
    const auto bits = std::bit_cast<std::uint64_t>(u);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFU) | 0x3FF0000000000000U);
    if (m > std::numbers::sqrt2) {
        m = m / 2;
        ++exponent;
    }
    const double z = (m - 1) / (m + 1);
    const double square = z * z;
    constexpr int terms = 12;
    double sum = 0;
    for (int k = terms - 1; k >= 0; --k)
        sum = sum * square + 1.0 / (2 * k + 1);
    return -(exponent * std::numbers::ln2 + 2 * z * sum);
}

double one_minus_exp(double x) noexcept {
    constexpr double small = 1e-3;
    constexpr double large = 40;  // from here on less than a rounding is left
    if (x >= large) return 1;
    if (x < small) return x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
    // exp(-x) = 2^-n exp(r) with r between 0 and log 2.
    const int n = static_cast<int>(x / std::numbers::ln2) + 1;
    const double r = n * std::numbers::ln2 - x;
    constexpr int terms = 18;
    double power = 1;
    for (int k = terms; k > 0; --k)
        power = 1 + r / k * power;
    return 1 - power * power_of_two(-n);
}

void WeightedDraw::draw(const RandomStream& stream, VertexId vertex, std::span<const float> weights,
                        std::int32_t fanout, bool with_replacement) {
    if (fanout < 0) return take(weights, 0, weights.size());
    const auto wanted = static_cast<std::size_t>(fanout);
    with_replacement ? draw_again(stream, vertex, weights, wanted)
                     : race(stream, vertex, weights, wanted);
}

void WeightedDraw::take(std::span<const float> weights, EdgeIndex first, EdgeIndex last) {
    positions_.clear();
    counts_.clear();
    for (EdgeIndex e = first; e < last; ++e) {
        if (!(weights[e] > 0)) continue;
        positions_.push_back(e);
        counts_.push_back(static_cast<double>(weights[e]));
    }
    share_out();
}

void WeightedDraw::race(const RandomStream& stream, VertexId vertex, std::span<const float> weights,
                        std::size_t wanted) {
    Draws draws(stream, vertex);
    arrivals_.clear();
    for (EdgeIndex e = 0; e < weights.size(); ++e) {
        const std::uint64_t word = draws.next64();
        if (!(weights[e] > 0)) continue;
        arrivals_.push_back({minus_log(open_uniform(word)) / static_cast<double>(weights[e]), e});
    }
    if (arrivals_.size() <= wanted) return take(weights, 0, weights.size());
    const auto before = [](const Arrival& a, const Arrival& b) {
        return a.time != b.time ? a.time < b.time : a.position < b.position;
    };
    const auto end = arrivals_.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::nth_element(arrivals_.begin(), end, arrivals_.end(), before);
    const double last = end->time;
    arrivals_.erase(end, arrivals_.end());
    std::ranges::sort(arrivals_, {}, &Arrival::position);
    positions_.clear();
    counts_.clear();
    for (const Arrival& arrival : arrivals_) {
        const auto weight = static_cast<double>(weights[arrival.position]);
        positions_.push_back(arrival.position);
        counts_.push_back(weight / one_minus_exp(weight * last));
    }
    share_out();
}

void WeightedDraw::draw_again(const RandomStream& stream, VertexId vertex,
                              std::span<const float> weights, std::size_t wanted) {
    positions_.clear();
    shares_.clear();
    counts_.clear();
    double sum = 0;
    for (const float weight : weights)
        counts_.push_back(sum += static_cast<double>(weight));
    if (!(sum > 0)) return;
    Draws draws(stream, vertex);
    for (std::size_t j = 0; j < wanted; ++j) {
        // The last entry of weight 0 or more that is reached: a product rounded up to the sum of
        // all would be beyond it.
        const double aim = open_uniform(draws.next64()) * sum;
        auto found = std::ranges::upper_bound(counts_, aim);
        if (found == counts_.end()) found = std::ranges::lower_bound(counts_, sum);
        positions_.push_back(static_cast<EdgeIndex>(found - counts_.begin()));
        shares_.push_back(1.F / static_cast<float>(wanted));
    }
}

void WeightedDraw::share_out() {
    double sum = 0;
    for (const double count : counts_)
        sum += count;
    shares_.clear();
    for (const double count : counts_)
        shares_.push_back(static_cast<float>(count / sum));
}

}  // namespace rudder::sample
