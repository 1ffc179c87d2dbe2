// A pilot that changes its buffer at random, runs a shadow, and sees to the order of its calls.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "buffer/shadow_buffer.hpp"
#include "rudder/buffer/pilot.hpp"
#include "rudder/core/executor/executor.hpp"

namespace rudder::test {

class RandomPilot final : public buffer::BufferPilot {
public:
    RandomPilot(std::uint64_t seed, std::vector<std::string> policies)
        : engine_(seed), policies_(std::move(policies)), horizon_(below(6)) {}

    void start(const buffer::PolicyFacts& facts, const buffer::BufferControl& control) override {
        feed_ = std::make_shared<buffer::ShadowFeed>(facts, buffer::ShadowOptions{2, 0});
        shadow_ = std::make_unique<buffer::ShadowBuffer>(buffer::PolicySpec::parse("lru"), feed_,
                                                         control.slots(), control.capacity());
    }
    [[nodiscard]] std::uint64_t horizon() const override { return horizon_; }
    void published(std::uint64_t step, std::span<const buffer::RowKey> rows) override {
        EXPECT_FALSE(busy_);
        EXPECT_EQ(step, known_++);
        feed_->publish(step, rows);
        shown_.push_back({rows, {rows.begin(), rows.end()}});
    }
    void prepare(std::uint64_t step) override {
        EXPECT_EQ(step, prepared_++);
        EXPECT_GT(known_, step);
        busy_ = true;
        Executor& executor = Executor::current();
        for (std::uint64_t i = below(3); i != 0; --i)
            executor.sleep_until(executor.now() + std::chrono::microseconds(50));
        busy_ = false;
    }
    buffer::Decision before(std::uint64_t step, buffer::BufferControl& control) override {
        EXPECT_EQ(step + 1, prepared_);
        EXPECT_EQ(step, control.buffer().next_step());
        if (below(3) == 0)
            control.set_policy(buffer::PolicySpec::parse(policies_[below(policies_.size())]));
        if (below(3) == 0)
            control.set_capacity(static_cast<buffer::SlotId>(below(control.slots() + 1)));
        return {below(2) == 0, 1};
    }
    void after(std::uint64_t step, const buffer::RowAccounts& accounts) override {
        EXPECT_EQ(accounts.steps, step + 1);
        const auto& [rows, copy] = shown_.front();
        EXPECT_TRUE(std::ranges::equal(rows, copy));
        shown_.pop_front();
        shadow_->advance();
        feed_->forget(step + 1);
        ++taken_;
    }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

private:
    struct Shown {
        std::span<const buffer::RowKey> rows;
        std::vector<buffer::RowKey> copy;
    };
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

    std::mt19937_64 engine_;
    std::vector<std::string> policies_;
    std::uint64_t horizon_;
    std::shared_ptr<buffer::ShadowFeed> feed_;
    std::unique_ptr<buffer::ShadowBuffer> shadow_;
    std::deque<Shown> shown_;
    std::uint64_t known_ = 0;
    std::uint64_t prepared_ = 0;
    std::uint64_t taken_ = 0;
    bool busy_ = false;
};

}  // namespace rudder::test
