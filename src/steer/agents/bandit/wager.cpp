#include "wager.hpp"

#include <algorithm>
#include <cmath>

namespace rudder::steer {

namespace {

/// Of what is left, and how much is bet that way: most of it as if nearly every number would win,
/// the rest for differences that are small beside their noise.
struct Stake {
    double share;
    double part;
};
constexpr std::array<Stake, 8> stakes{{{31.0 / 32, 0.25},
                                       {7.0 / 8, 0.25},
                                       {3.0 / 4, 0.2},
                                       {1.0 / 2, 0.15},
                                       {1.0 / 4, 0.06},
                                       {1.0 / 8, 0.03},
                                       {1.0 / 16, 0.03},
                                       {1.0 / 32, 0.03}}};

}  // namespace

Wager::Wager(const std::vector<std::size_t>& beginnings) {
    for (const std::size_t begins : beginnings) {
        Bet& bet = bets_.emplace_back(Bet{begins, {}});
        for (std::size_t i = 0; i < shares; ++i)
            bet.capital[i] = stakes[i].part / static_cast<double>(beginnings.size());
    }
}

void Wager::add(double x) {
    const double clipped = std::clamp(x, -1.0, 1.0);
    for (Bet& bet : bets_) {
        if (count_ < bet.begins) continue;
        for (std::size_t i = 0; i < shares; ++i)
            bet.capital[i] *= 1 - stakes[i].share * clipped;
    }
    ++count_;
}

double Wager::capital() const noexcept {
    double all = 0;
    for (const Bet& bet : bets_) {
        for (const double part : bet.capital)
            all += part;
    }
    return all;
}

void Alarm::add(double x) noexcept {
    const double clipped = std::clamp(x, -1.0, 1.0);
    constexpr double most = 1e12;  // of use to nobody, and soon lost again
    for (std::size_t i = 0; i < capital_.size(); ++i) {
        const double grown = (capital_[i] + stakes[i].part) * (1 - stakes[i].share * clipped);
        capital_[i] = std::min(grown, most);
    }
}

double Alarm::sum() const noexcept {
    double all = 0;
    for (const double part : capital_)
        all += part;
    return all;
}

void Scale::add(double x) noexcept {
    sum_ += std::abs(x);
    ++count_;
}

double Scale::now() const noexcept {
    if (count_ == 0) return most_;
    return std::clamp(times_ * sum_ / static_cast<double>(count_), least_, most_);
}

}  // namespace rudder::steer
