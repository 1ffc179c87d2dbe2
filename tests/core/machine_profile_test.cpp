// Machine profiles: there and back to the bit, and what is refused, by line and key.
#include "core/machine_profile.hpp"

#include <gmock/gmock.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MachineProfile some_profile() {
    MachineProfile profile;
    profile.machine = {.name = "node \"7\"",
                       .processor = "A processor",
                       .cores = 8,
                       .memory = 1ULL << 34,
                       .measured = "2026-11-19T20:00:00Z",
                       .program = "0.1.0"};
    profile.compute = {{1, 3e7, 7e7, 4.25e9, 1.1e11, 4e9, 1.09e7, 1.25},
                       {4, 9e7, 21e7, 8.25e9, 3.1e11, 1e10, 2.09e7, 1.5}};
    LinkRates link{.latency_us = 0.1 + 0.2,  // no short number
                   .bytes_per_second = 1e9,
                   .messages_per_second = 3e5,
                   .all_bytes_per_second = 9e8,
                   .sizes = {{8, 1e-6}, {1024, 3e-6}}};
    profile.network = {.hosts = {"a", "b"},
                       .ranks = {2, 3},
                       .carrier = "MPI",
                       .link = "",
                       .barrier_us = 12.5,
                       .within = link,
                       .between = link,
                       .all_to_all = {{1024, 1, 1e-5}, {1024, 4, 2e-5}, {4096, 1, 3e-5}},
                       .reductions = {{4096, 1e-4}, {1 << 20, 3e-3}}};
    profile.network->between->latency_us = 50;
    return profile;
}

MachineProfile profile_of(const std::string& text) {
    return parse_machine_profile(text, "here.toml");
}

/// The profile's text with one piece of it replaced, which must be there.
std::string changed_profile(const std::string& from, const std::string& to) {
    std::string text = machine_profile_toml(some_profile());
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// "line N" of the first line of a text that begins with `start`.
std::string line_of(const std::string& text, const std::string& start) {
    std::size_t number = 0;
    for (const std::string_view line : split(text, '\n')) {
        ++number;
        if (line.starts_with(start)) return "here.toml, line " + std::to_string(number);
    }
    return "no such line";
}

/// What is said of a text that must be refused as bad input.
std::string profile_refusal(const std::string& text) {
    try {
        static_cast<void>(profile_of(text));
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        return error.what();
    }
    return "nothing was refused";
}

TEST(MachineProfile, ComesBackToTheBit) {
    const MachineProfile before = some_profile();
    const std::string text = machine_profile_toml(before);
    const MachineProfile after = profile_of(text);
    EXPECT_EQ(machine_profile_toml(after), text);
    EXPECT_EQ(after.machine.name, before.machine.name);
    EXPECT_EQ(after.machine.memory, before.machine.memory);
    ASSERT_EQ(after.compute.size(), 2U);
    EXPECT_EQ(after.compute[1].step_factor, 1.5);
    ASSERT_TRUE(after.network && after.network->within && after.network->between);
    EXPECT_EQ(after.network->within->latency_us, 0.1 + 0.2);
    EXPECT_EQ(after.network->between->latency_us, 50);
    EXPECT_THAT(after.network->ranks, ElementsAre(2, 3));
    EXPECT_EQ(after.network->all_ranks(), 5U);
    EXPECT_EQ(after.network->all_to_all[1].skew, 4);
    EXPECT_EQ(after.network->reductions[1].bytes, 1U << 20);
    EXPECT_EQ(after.network->between->sizes[1].seconds, 3e-6);
}

TEST(MachineProfile, MayHaveNoNetworkOrOneKindOfLink) {
    MachineProfile alone = some_profile();
    alone.network.reset();
    EXPECT_FALSE(profile_of(machine_profile_toml(alone)).network.has_value());

    MachineProfile one_host = some_profile();
    one_host.network->between.reset();
    const MachineProfile read = profile_of(machine_profile_toml(one_host));
    EXPECT_FALSE(read.network->between.has_value());
    EXPECT_EQ(&read.network->widest(), &*read.network->within);
    EXPECT_EQ(some_profile().network->widest().latency_us, 50);
}

TEST(MachineProfile, SaysWhatEachKeyIs) {
    const std::string text = machine_profile_toml(some_profile());
    for (const std::string_view line : split(text, '\n')) {
        if (line.find(" = ") == std::string_view::npos || line.starts_with("version")) continue;
        EXPECT_NE(line.find("  # "), std::string_view::npos) << line;
    }
}

TEST(MachineProfile, RefusesAnotherVersionBeforeAnythingElse) {
    EXPECT_THAT(profile_refusal("version = 2\nnews = 1\n"),
                AllOf(HasSubstr("'version': 2, this rudder reads 1"), HasSubstr("line 1")));
    EXPECT_THAT(profile_refusal("# nothing\n"), HasSubstr("key 'version' is missing"));
}

TEST(MachineProfile, RefusesAMissingKeyWithTheLineOfItsTable) {
    const std::string text = changed_profile("latency_us = ", "# ");
    EXPECT_THAT(profile_refusal(text),
                AllOf(HasSubstr("key 'network.within.latency_us' is missing"),
                      HasSubstr(line_of(text, "[network.within]"))));
}

/// What is misspelt is missing, too, by its right name: the place to look at is where it stands.
TEST(MachineProfile, TellsOfAnUnknownKeyBeforeAMissingOne) {
    struct Slip {
        std::string right, wrong, key, meant;
    };
    for (const Slip& slip :
         {Slip{"latency_us = ", "latency_su = ", "network.within.latency_su", "latency_us"},
          Slip{"cores = ", "croes = ", "machine.croes", "cores"},
          Slip{"step_factor = ", "stepfactor = ", "compute[1].stepfactor", "step_factor"},
          Slip{"[machine]", "[machnie]", "machnie", "machine"}}) {
        const std::string text = changed_profile(slip.right, slip.wrong);
        EXPECT_THAT(profile_refusal(text), AllOf(HasSubstr("unknown key '" + slip.key + "'"),
                                                 HasSubstr(line_of(text, slip.wrong)),
                                                 HasSubstr("'" + slip.meant + "'?")));
    }
    // Also where another table lacks a key, and comes first.
    std::string text = changed_profile("latency_us = ", "latency_su = ");
    text.replace(text.find("cores = "), 8, "# ");
    EXPECT_THAT(profile_refusal(text), HasSubstr("unknown key 'network.within.latency_su'"));
}

TEST(MachineProfile, RefusesAKeyMoreWithTheNearestThatItKnows) {
    const std::string text = changed_profile("barrier_us = ", "barier_us = 3\nbarrier_us = ");
    EXPECT_THAT(profile_refusal(text),
                AllOf(HasSubstr("unknown key 'network.barier_us'"),
                      HasSubstr(line_of(text, "barier_us")), HasSubstr("'barrier_us'?")));
}

TEST(MachineProfile, RefusesRatesThatAreNotAboveZero) {
    const std::string negative =
        changed_profile("bytes_per_second = 1000000000.0", "bytes_per_second = -5");
    EXPECT_THAT(profile_refusal(negative),
                AllOf(HasSubstr("'network.within.bytes_per_second': -5"),
                      HasSubstr(line_of(negative, "bytes_per_second = -5")), HasSubstr("above 0")));
    const std::string none = changed_profile("step_factor = 1.25", "step_factor = 0.0");
    EXPECT_THAT(profile_refusal(none), AllOf(HasSubstr("'compute[1].step_factor': 0"),
                                             HasSubstr(line_of(none, "step_factor = 0.0"))));
}

TEST(MachineProfile, RefusesListsThatAreOutOfOrder) {
    const std::string threads = changed_profile("threads = 4", "threads = 1");
    EXPECT_THAT(profile_refusal(threads), HasSubstr("'compute[2].threads': 1 after 1"));
    EXPECT_THAT(profile_refusal(changed_profile("bytes = 1024", "bytes = 4")),
                HasSubstr("'network.within.sizes[2].bytes': 4 after 8"));
    EXPECT_THAT(profile_refusal(changed_profile("bytes = 8 ", "bytes = 0 ")),
                HasSubstr("'network.within.sizes[1].bytes': 0"));
    EXPECT_THAT(profile_refusal(changed_profile("skew = 4.0", "skew = 0.5")),
                HasSubstr("'network.all_to_all[2].skew': 0.5"));
}

TEST(MachineProfile, RefusesWhatDoesNotFitTogether) {
    EXPECT_THAT(profile_refusal(changed_profile("ranks = [2, 3]", "ranks = [2]")),
                HasSubstr("'network.ranks': 1 numbers for 2 hosts"));
    EXPECT_THAT(profile_refusal(changed_profile("ranks = [2, 3]", "ranks = [2, 0]")),
                HasSubstr("'network.ranks': 0"));
    EXPECT_THAT(profile_refusal(changed_profile("cores = 8", "cores = 0")),
                HasSubstr("'machine.cores': 0"));
    MachineProfile none = some_profile();
    none.compute.clear();
    EXPECT_THAT(profile_refusal(machine_profile_toml(none)), HasSubstr("'compute' is missing"));
    none = some_profile();
    none.network->within.reset();
    none.network->between.reset();
    EXPECT_THAT(profile_refusal(machine_profile_toml(none)),
                HasSubstr("neither 'within' nor 'between'"));
}

TEST(MachineProfile, RatesLieBetweenThoseThatWereMeasured) {
    const MachineProfile profile = some_profile();
    EXPECT_EQ(profile.compute_with(1).gather_bytes_per_second, 4.25e9);
    EXPECT_EQ(profile.compute_with(4).gather_bytes_per_second, 8.25e9);
    EXPECT_DOUBLE_EQ(profile.compute_with(2).gather_bytes_per_second, 4.25e9 + 4e9 / 3);
    EXPECT_DOUBLE_EQ(profile.compute_with(3).shared_edges_per_second, 7e7);
    EXPECT_EQ(profile.compute_with(64).gather_bytes_per_second, 8.25e9) << "no more was measured";
    EXPECT_EQ(profile.compute_with(3).threads, 3U);
}

TEST(MachineProfile, BuiltInOnesAreWhole) {
    for (const std::string_view name : built_in_profiles()) {
        const MachineProfile profile = read_machine_profile("built-in:" + std::string(name));
        EXPECT_TRUE(profile.machine.measured.empty()) << "nobody measured it";
        const std::string text = machine_profile_toml(profile);
        EXPECT_EQ(machine_profile_toml(profile_of(text)), text) << name;
        EXPECT_TRUE(profile.network->within && profile.network->between);
    }
    // Nine tenths of 10 Gbit/s.
    EXPECT_DOUBLE_EQ(
        read_machine_profile("built-in:ethernet-10g").network->between->bytes_per_second, 1.125e9);
}

TEST(MachineProfile, AnUnknownBuiltInOneIsRefusedWithTheKnown) {
    try {
        static_cast<void>(read_machine_profile("built-in:token-ring"));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_THAT(error.what(), HasSubstr("ethernet-10g"));
    }
}

TEST(MachineProfile, IsReadFromAFile) {
    const test::TempDir dir;
    const auto file = dir.path() / "profile.toml";
    write_text(file, machine_profile_toml(some_profile()));
    EXPECT_EQ(read_machine_profile(file.string()).machine.cores, 8U);
}

}  // namespace
}  // namespace rudder
