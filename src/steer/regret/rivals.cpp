#include "rivals.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/buffer/pilot.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::steer {

namespace {

std::vector<Rival> make_class() {
    std::vector<Rival> rivals;
    const auto add = [&](const std::string& policy) {
        rivals.push_back({policy, buffer::PolicySpec::parse(policy)});
    };
    for (const char* policy :
         {"none", "static-degree", "static-vip", "static-random", "lru", "lfu"})
        add(policy);
    for (const int every : {1, 2, 4, 8, 16, 32})
        add(fmt::format("scored,every:{}", every));
    rivals.push_back({"scored + threshold", buffer::PolicySpec::parse("scored"), 0.5});
    for (const int window : {4, 8, 16, 32, 64})
        add(fmt::format("window:{}", window));
    return rivals;
}

/// Replaces as a rival does.
class RivalPilot final : public buffer::BufferPilot {
public:
    explicit RivalPilot(const Rival& rival) : rival_(rival) {}

    void start(const buffer::PolicyFacts& /*facts*/, const buffer::IdBuffer& /*buffer*/) override {}
    void published(std::uint64_t /*step*/, std::span<const buffer::RowKey> /*rows*/) override {}
    buffer::PilotOrder before(std::uint64_t /*step*/, const buffer::IdBuffer& /*buffer*/) override {
        return {.decision = {.replace = rival_.replaces(last_)}};
    }
    void after(std::uint64_t /*step*/, const Rows& accounts) override {
        last_ = accounts - all_;
        all_ = accounts;
    }

private:
    const Rival& rival_;
    Rows all_;
    Rows last_;  ///< of one step
};

std::optional<std::uint64_t> rows_of(const Rival& rival, const buffer::HostTrace& host,
                                     std::uint64_t capacity) {
    if (!rival.possible(host.facts())) return std::nullopt;
    RivalPilot pilot(rival);
    buffer::BufferPilot* steered = rival.replaces_below > 0 ? &pilot : nullptr;
    return buffer::replay_host(host, rival.policy, capacity, steered).fetched();
}

}  // namespace

bool Rival::possible(const buffer::PolicyFacts& facts) const {
    try {
        buffer::check_policy(policy, facts);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::span<const Rival> declared_class() {
    static const std::vector<Rival> rivals = make_class();
    return rivals;
}

std::uint64_t class_horizon() {
    std::uint64_t horizon = 0;
    for (const Rival& rival : declared_class())
        horizon = std::max(horizon, buffer::horizon_of(rival.policy));
    return horizon;
}

std::size_t RivalRows::best() const {
    std::size_t best = 0;  // no buffer needs no facts
    for (std::size_t i = 1; i < fetched.size(); ++i) {
        if (fetched[i] && *fetched[i] < *fetched[best]) best = i;
    }
    return best;
}

RivalRows rival_rows(const buffer::Trace& trace, std::span<const std::uint64_t> capacity) {
    RUDDER_CHECK(capacity.size() == trace.size());
    const std::span<const Rival> rivals = declared_class();
    std::vector<std::optional<std::uint64_t>> rows(rivals.size() * trace.size());
    parallel_chunks(rows.size(), 1, [&](const Chunk& chunk) {
        const std::size_t host = chunk.index / rivals.size();
        rows[chunk.index] =
            rows_of(rivals[chunk.index % rivals.size()], *trace[host], capacity[host]);
    });
    RivalRows sums{.fetched = std::vector<std::optional<std::uint64_t>>(rivals.size(), 0)};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto& sum = sums.fetched[i % rivals.size()];
        if (sum && rows[i]) {
            *sum += *rows[i];
        } else {
            sum.reset();
        }
    }
    return sums;
}

double rows_beyond(std::uint64_t rows, std::uint64_t others) noexcept {
    return others == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(others) - 1;
}

}  // namespace rudder::steer
