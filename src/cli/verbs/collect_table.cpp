#include "collect_table.hpp"

#include <array>
#include <map>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "sample_archive.hpp"

namespace rudder::cli {

SampleFiles::SampleFiles(const std::string& out, Existing existing)
    : csv_(Staging::file(out + ".csv", existing)), npz_(Staging::file(out + ".npz", existing)) {}

void SampleFiles::write(steer::SampleTable& table) {
    if (table.samples.empty()) {
        throw input_error("no decision had as many steps after it as the horizon has", "--horizon",
                          "give longer traces, more epochs or a shorter --horizon");
    }
    steer::label_as_published(table);
    write_text(csv_.path(), steer::to_csv(table));
    write_archive(table, npz_.path());
    csv_.commit();
    npz_.commit();
}

namespace {

/// How often replacing was right, by graph, policy and size.
struct Share {
    std::uint64_t samples = 0;
    std::uint64_t label = 0;
    std::uint64_t paper = 0;
};
using ShareKey = std::array<std::string, 3>;

std::map<ShareKey, Share> shares(const steer::SampleTable& table) {
    std::map<ShareKey, Share> all;
    for (const steer::Sample& s : table.samples) {
        Share& one =
            all[{table.graphs[s.graph], table.policies[s.policy], fmt::format("{:.2f}", s.buffer)}];
        ++one.samples;
        one.label += s.label.value_or(false) ? 1U : 0U;
        one.paper += s.paper.value_or(false) ? 1U : 0U;
    }
    return all;
}

double part_of(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void print_shares(const steer::SampleTable& table, bool json) {
    Json list = Json::array();
    Table text({"graph", "policy", "buffer", "samples", "replacing is right", "published label 1"});
    for (const auto& [key, one] : shares(table)) {
        const double label = part_of(one.label, one.samples);
        const double paper = part_of(one.paper, one.samples);
        list.push_back({{"graph", key[0]},
                        {"policy", key[1]},
                        {"buffer", key[2]},
                        {"samples", one.samples},
                        {"label", label},
                        {"paper_label", paper}});
        text.add({key[0], key[1], key[2], format_count(one.samples),
                  fmt::format("{:.1f} %", 100 * label), fmt::format("{:.1f} %", 100 * paper)});
    }
    json ? print_json(list) : print_text(text.text());
}

}  // namespace rudder::cli
