#include "setting_effects.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/link_model.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "train/slowness.hpp"

namespace rudder::report {

namespace {

/// What more of an option does to a part of a step.
enum class More : std::uint8_t { either, longer, shorter };

struct Effect {
    std::string_view option;
    std::string_view part;
    More more = More::either;
};

/// Of several parts that an option acts on, the first is its own.
constexpr std::array effects{
    Effect{"link", "wait_rows", More::longer},  // by how slow it is
    Effect{"link", "wait_gradients", More::longer},
    Effect{"policy", "wait_rows"},
    Effect{"buffer", "wait_rows", More::shorter},
    Effect{"buffer-rows", "wait_rows", More::shorter},
    Effect{"buffer-bytes", "wait_rows", More::shorter},
    Effect{"buffer-scope", "wait_rows"},
    Effect{"window", "wait_rows", More::shorter},
    Effect{"in-flight", "wait_rows", More::shorter},
    Effect{"sample-tasks", "wait_rows", More::shorter},
    Effect{"sampler", "wait_rows"},
    Effect{"redraw", "wait_rows", More::shorter},
    Effect{"precision", "wait_rows"},
    Effect{"coding", "wait_rows"},
    Effect{"sparse", "wait_rows"},
    Effect{"sparse", "compute"},
    Effect{"agent", "wait_rows"},
    Effect{"bulk", "wait_rows"},
    Effect{"topology", "wait_rows"},
    Effect{"ranks-per-host", "wait_rows", More::shorter},
    Effect{"hosts", "wait_rows", More::longer},
    Effect{"gradient-precision", "wait_gradients"},
    Effect{"slow", "wait_ranks", More::longer},
    Effect{"slow", "compute", More::longer},
    Effect{"agent-mode", "wait_agent"},
    Effect{"threads", "compute", More::shorter},
    Effect{"cores", "compute", More::shorter},
    Effect{"host", "compute"},
    Effect{"ranks", "compute", More::shorter},  // each computes for fewer parts
    Effect{"model", "compute"},
    Effect{"hidden", "compute", More::longer},
    Effect{"hidden", "wait_gradients", More::longer},
    Effect{"layers", "compute", More::longer},
    Effect{"layers", "wait_gradients", More::longer},
    Effect{"fanout", "compute", More::longer},
    Effect{"fanout", "wait_rows", More::longer},
    Effect{"batch", "compute", More::longer},
    Effect{"batch", "wait_rows", More::longer},
    Effect{"heads", "compute", More::longer},
    Effect{"norm", "compute"},
    Effect{"partition", "compute"},
    Effect{"partition", "wait_rows"},
    Effect{"partition", "wait_ranks"},
    Effect{"partition", "wait_gradients"},
};

/// How much of an option a value is, so that two can be compared number by number; none where that
/// is not known.
std::optional<std::vector<double>> amounts_of(std::string_view option, const std::string& value) {
    try {
        if (option == "link") {
            if (value.empty()) return std::vector<double>{0, 0};
            const comm::LinkModel link = comm::parse_link_schedule(value).first;
            const double rate = link.bytes_per_second;
            return std::vector<double>{to_seconds(link.delay), rate > 0 ? 1 / rate : 0};
        }
        if (option == "slow") return std::vector<double>{train::parse_slowness(value).factor};
        if (option == "buffer-bytes") {
            const auto bytes = parse_bytes(value);
            if (!bytes) return std::nullopt;
            return std::vector<double>{static_cast<double>(*bytes)};
        }
    } catch (const Error&) {
        return std::nullopt;  // of another version or program
    }
    std::vector<double> amounts;
    for (const std::string_view word : split(value, ',')) {
        const auto number = parse_double(word);
        if (!number) return std::nullopt;
        amounts.push_back(*number);
    }
    // 0 threads are all of a machine, and so on: nothing says how many.
    if (std::ranges::find(amounts, 0.0) != amounts.end()) return std::nullopt;
    return amounts;
}

/// Whether the second value is more (true) or less of an option; none where it is neither.
std::optional<bool> grown(const SettingChange& change) {
    const auto before = amounts_of(change.option, change.before);
    const auto after = amounts_of(change.option, change.after);
    if (!before || !after || before->size() != after->size()) return std::nullopt;
    bool more = false;
    bool less = false;
    for (std::size_t i = 0; i < before->size(); ++i) {
        more = more || (*after)[i] > (*before)[i];
        less = less || (*after)[i] < (*before)[i];
    }
    if (more == less) return std::nullopt;
    return more;
}

}  // namespace

std::string_view first_part_of(std::string_view option) {
    const auto found = std::ranges::find(effects, option, &Effect::option);
    return found == effects.end() ? std::string_view{} : found->part;
}

bool may_explain(const SettingChange& change, std::string_view part, bool longer) {
    for (const Effect& effect : effects) {
        if (effect.option != change.option || effect.part != part) continue;
        const auto more = grown(change);
        if (effect.more == More::either || !more) return true;
        return longer == (*more == (effect.more == More::longer));
    }
    return false;
}

}  // namespace rudder::report
