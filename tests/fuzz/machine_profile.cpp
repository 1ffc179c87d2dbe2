// Machine profiles: one that was read has rates above 0, and comes back from the TOML it is written
// as.
#include "core/machine_profile.hpp"

#include <cmath>

#include "fuzz.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const MachineProfile profile = parse_machine_profile(bytes, "fuzzed");
    const std::string text = machine_profile_toml(profile);
    FUZZ_EXPECT(machine_profile_toml(parse_machine_profile(text, "again")) == text);
    for (const std::uint64_t threads : {1U, 3U, 1000U}) {
        const ComputeRates rates = profile.compute_with(threads);
        FUZZ_EXPECT(rates.gather_bytes_per_second > 0);
        FUZZ_EXPECT(std::isfinite(rates.step_factor) && rates.step_factor > 0);
    }
    if (!profile.network) return;
    FUZZ_EXPECT(profile.network->widest().bytes_per_second > 0);
    FUZZ_EXPECT(profile.network->ranks.size() == profile.network->hosts.size());
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const std::string_view name : built_in_profiles())
        all.push_back(machine_profile_toml(read_machine_profile("built-in:" + std::string(name))));
    MachineProfile measured = read_machine_profile("built-in:ethernet-10g");
    measured.network->between->sizes = {{8, 1e-6}, {4096, 3e-6}};
    measured.network->all_to_all = {{64, 1, 1e-5}, {64, 2, 2e-5}};
    measured.network->reductions = {{4096, 1e-4}};
    all.push_back(machine_profile_toml(measured));
    measured.network.reset();
    all.push_back(machine_profile_toml(measured));
    return all;
}

}  // namespace rudder::fuzz
