#include "rudder/comm/accounts.hpp"

namespace rudder::comm {

std::string_view to_string(Kind kind) noexcept {
    static constexpr std::array<std::string_view, kind_count> names{
        "features", "requests", "topology", "gradients", "evaluation", "control"};
    return names[static_cast<std::size_t>(kind)];
}

void Accounts::sent(int peer, Kind kind, std::uint64_t bytes) noexcept {
    sent_[static_cast<std::size_t>(kind)].fetch_add(bytes, std::memory_order_relaxed);
    sent_to_[static_cast<std::size_t>(peer)].fetch_add(bytes, std::memory_order_relaxed);
}

void Accounts::handed_over(int peer, Kind kind, std::uint64_t bytes) noexcept {
    received_total_.fetch_add(bytes, std::memory_order_relaxed);
    messages_.fetch_add(1, std::memory_order_relaxed);
    received_[static_cast<std::size_t>(kind)].fetch_add(bytes, std::memory_order_relaxed);
    received_from_[static_cast<std::size_t>(peer)].fetch_add(bytes, std::memory_order_relaxed);
}

AccountTotals Accounts::totals() const {
    AccountTotals totals;
    for (std::size_t k = 0; k < kind_count; ++k) {
        totals.sent[k] = sent_[k].load(std::memory_order_relaxed);
        totals.received[k] = received_[k].load(std::memory_order_relaxed);
        totals.sent_total += totals.sent[k];
    }
    totals.received_total = received_total_.load(std::memory_order_relaxed);
    totals.messages = messages_.load(std::memory_order_relaxed);
    for (std::size_t r = 0; r < sent_to_.size(); ++r) {
        totals.sent_to.push_back(sent_to_[r].load(std::memory_order_relaxed));
        totals.received_from.push_back(received_from_[r].load(std::memory_order_relaxed));
    }
    return totals;
}

}  // namespace rudder::comm
