// What was found of each choice, and when it is worth another look.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "duel.hpp"

namespace rudder {

/// Remembers how choices compared. A choice that lost is tried again after a pause that doubles
/// with each defeat: what was true may not stay so, but shadows and trials are not free.
class Evidence {
public:
    static constexpr std::uint64_t first_pause = 256;  ///< steps
    static constexpr std::uint64_t longest_pause = 1024;
    static constexpr std::uint64_t after_harm = 4096;  ///< the guard took it back

    struct Finding {
        std::uint64_t step = 0;
        std::uint64_t pause = 0;
        double difference = 0;  ///< of the cost of what was done then
    };

    void lost(const std::string& key, std::uint64_t step, double difference) {
        Finding& finding = found_[key];
        finding.pause = finding.pause == 0 ? first_pause : 2 * finding.pause;
        if (finding.pause > longest_pause) finding.pause = longest_pause;
        finding.step = step;
        finding.difference = difference;
    }
    void harmed(const std::string& key, std::uint64_t step) {
        found_[key] = {step, after_harm, 0};
    }
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
    std::map<std::string, Finding> found_;
};

}  // namespace rudder
