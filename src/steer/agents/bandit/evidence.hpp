// What was found of each choice, and when it is worth another look.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "duel.hpp"

namespace rudder::steer {

/// Remembers how choices compared. A choice that lost is tried again after a pause that doubles
/// with each defeat: what was true may not stay so, but shadows and trials are not free.
class Evidence {
public:
    /// Steps from one look to the next: after the first defeat, and at most.
    Evidence(std::uint64_t first_pause, std::uint64_t longest_pause)
        : first_pause_(first_pause), longest_pause_(longest_pause) {}

    static constexpr std::uint64_t after_harm = 4096;  ///< the guard took it back

    struct Finding {
        std::uint64_t step = 0;
        std::uint64_t pause = 0;
        double difference = 0;  ///< of the cost of what was done then
    };

    void lost(const std::string& key, std::uint64_t step, double difference) {
        Finding& finding = found_[key];
        finding.pause = finding.pause == 0 ? first_pause_ : 2 * finding.pause;
        if (finding.pause > longest_pause_) finding.pause = longest_pause_;
        finding.step = step;
        finding.difference = difference;
    }
    void harmed(const std::string& key, std::uint64_t step) { found_[key] = {step, after_harm, 0}; }
    [[nodiscard]] const Finding* find(const std::string& key) const {
        const auto found = found_.find(key);
        return found == found_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] bool due(const std::string& key, std::uint64_t step) const {
        const Finding* finding = find(key);
        return finding == nullptr || step >= finding->step + finding->pause;
    }
    /// All of it may be wrong now.
    void forget() { found_.clear(); }

private:
    std::uint64_t first_pause_;
    std::uint64_t longest_pause_;
    std::map<std::string, Finding> found_;
};

}  // namespace rudder::steer
