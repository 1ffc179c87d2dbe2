// A test that holds however often it is looked at: a wager against the hypothesis.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace rudder::steer {

/// Numbers of [-1, 1] come one by one; the hypothesis is that each, given all before it, has a mean
/// of at least 0. Whoever bets against that begins with 1 and stakes a fixed share of what is left
/// on every number: a number x makes 1 - share * x of it. If the hypothesis holds, the chance that
/// this ever reaches 1 / level is at most `level` (Ville 1939), for dependent numbers, too; and for
/// numbers whose means change, that it does while their mean so far is at least 0 (docs/agents.md
/// has the few lines of proof; Waudby-Smith and Ramdas 2024, Howard and others 2021 more). Several
/// shares, and several beginnings, are bet side by side: their mean is a wager, too.
class Wager {
public:
    /// `beginnings`: bets begin before the numbers with these positions, each with the same part of
    /// the 1. Later ones are for numbers that may improve.
    explicit Wager(const std::vector<std::size_t>& beginnings = {0});

    /// Clipped to [-1, 1].
    void add(double x);
    /// What is left, or was won.
    [[nodiscard]] double capital() const noexcept;
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    static constexpr std::size_t shares = 8;
    struct Bet {
        std::size_t begins;
        std::array<double, shares> capital;
    };
    std::vector<Bet> bets_;
    std::size_t count_ = 0;
};

/// Wagers against the same hypothesis that begin before every number, each with 1, added up: what
/// was good for long does not hide what comes then. As long as the hypothesis holds, it takes at
/// least n numbers on average until the sum reaches n, however numbers depend on each other, since
/// sum less count is a supermartingale (Shiryaev 1963, Roberts 1966; of wagers: Shin, Ramdas and
/// Rinaldo, "E-detectors", 2024).
class Alarm {
public:
    /// Clipped to [-1, 1].
    void add(double x) noexcept;
    [[nodiscard]] double sum() const noexcept;

private:
    std::array<double, 8> capital_{};
};

/// The chance of ever being wrong, dealt out over tests: phase p of a run has a share of
/// 1 / (p (p + 1)) of it, batch k of a phase 1 / (k (k + 1)) of that, and all tests of a batch,
/// which begin together, the same. So all of them together are wrong with a chance of at most
/// `all`, however many there are.
class ErrorBudget {
public:
    explicit ErrorBudget(double all) : all_(all) {}
    /// Of each test of the next batch.
    [[nodiscard]] double take(std::size_t tests = 1) noexcept {
        return all_ * part(phase_) * part(++taken_) / static_cast<double>(tests);
    }
    /// The last batch ended before any of its wagers was put to the test.
    void put_back() noexcept { --taken_; }
    /// What was learned holds no more, and much is tried again.
    void begin_phase() noexcept {
        ++phase_;
        taken_ = 0;
    }

private:
    static double part(double k) noexcept { return 1 / (k * (k + 1)); }

    double all_;
    double phase_ = 1;
    double taken_ = 0;
};

/// The size of numbers so far, as a bound for the next: it must not depend on that one.
class Scale {
public:
    Scale(double times, double least, double most) : times_(times), least_(least), most_(most) {}
    void add(double x) noexcept;
    /// So many times the mean size of those that were added, within the limits; the largest at
    /// first.
    [[nodiscard]] double now() const noexcept;

private:
    double times_;
    double least_;
    double most_;
    double sum_ = 0;
    std::size_t count_ = 0;
};

}  // namespace rudder::steer
