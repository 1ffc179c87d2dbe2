// A pilot that changes its buffer at random, runs a shadow, and sees to the order of its calls.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "buffer/shadow_buffer.hpp"
#include "core/executor/executor.hpp"
#include "core/executor/monitor.hpp"
#include "rudder/buffer/pilot.hpp"

namespace rudder::test {

class RandomPilot final : public buffer::BufferPilot {
public:
    /// One that is not `restless` makes only the changes that it is handed.
    RandomPilot(std::uint64_t seed, std::vector<std::string> policies, bool restless)
        : engine_(seed),
          policies_(std::move(policies)),
          restless_(restless),
          horizon_(restless ? below(6) : 0) {}

    /// From any task: a change for the next step that begins.
    void hand(buffer::BufferChange change) {
        Monitor::Lock lock(monitor_);
        handed_.push_back(std::move(change));
    }

    void start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) override {
        feed_ = std::make_shared<buffer::ShadowFeed>(facts, buffer::ShadowOptions{2, 0});
        shadow_ = std::make_unique<buffer::ShadowBuffer>(buffer::PolicySpec::parse("lru"), feed_,
                                                         buffer.residents().slots(),
                                                         buffer.residents().capacity());
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
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& buffer) override {
        EXPECT_EQ(step + 1, prepared_);
        EXPECT_EQ(step, buffer.next_step());
        // Nobody may hold a lock that another task could want while a pilot is asked.
        Executor::current().sleep_until(Executor::current().now() + std::chrono::microseconds(1));
        EXPECT_EQ(step, buffer.next_step());
        buffer::PilotOrder order;
        {
            Monitor::Lock lock(monitor_);
            order.changes.swap(handed_);
        }
        if (!restless_) return order;
        buffer::BufferChange change;
        if (below(3) == 0)
            change.policy = buffer::PolicySpec::parse(policies_[below(policies_.size())]);
        if (below(3) == 0)
            change.capacity =
                static_cast<buffer::SlotId>(below(buffer.residents().slots() + std::uint64_t{1}));
        order.changes.push_back(change);
        order.decision = {below(2) == 0, 1};
        return order;
    }
    void after(std::uint64_t step, const Rows& accounts) override {
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
    bool restless_;
    std::uint64_t horizon_;
    std::shared_ptr<buffer::ShadowFeed> feed_;
    std::unique_ptr<buffer::ShadowBuffer> shadow_;
    std::deque<Shown> shown_;
    std::uint64_t known_ = 0;
    std::uint64_t prepared_ = 0;
    std::uint64_t taken_ = 0;
    bool busy_ = false;

    Monitor monitor_;  ///< guards what follows
    std::vector<buffer::BufferChange> handed_;
};

}  // namespace rudder::test
