// One line of metrics.jsonl, by the catalogue.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rudder::report {

struct MetricsLine {
    std::uint64_t step = 0;
    std::uint64_t epoch = 0;
    std::uint64_t rank = 0;
    std::vector<double> values;      ///< by metric of the catalogue; 0 where absent
    std::vector<std::uint8_t> seen;  ///< the same: whether it was there, as a number
    std::vector<double> by_owner;    ///< empty where absent
    std::string_view policy;         ///< as it stands in the line, quotes included; or empty
};

/// Reads lines one after the other; keeps its memory between them. Not for several threads.
class MetricsLineParser {
public:
    MetricsLineParser();
    ~MetricsLineParser();

    /// Whether `line`, with `line_padding` readable bytes behind it, is an object with step and
    /// rank; `out` is then what it says. What else is absent or of another type is left out.
    [[nodiscard]] bool parse(std::string_view line, MetricsLine& out);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::report
