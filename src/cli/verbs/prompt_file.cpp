#include "prompt_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

constexpr std::size_t copied_at_once = std::size_t{1} << 20;

/// All of one file behind another.
void copy_lines(const File& from, File& to) {
    std::vector<std::byte> bytes(copied_at_once);
    for (std::uint64_t at = 0;;) {
        const std::size_t got = from.read_at(at, bytes);
        if (got == 0) return;
        to.write(std::span(bytes).first(got));
        at += got;
    }
}

double share_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void PromptFile::Counts::add(const steer::PromptLine& line) {
    const std::uint64_t kept = line.actions[line.keep].rows;
    const std::uint64_t best =
        std::ranges::min_element(line.actions, {}, &steer::PricedAction::rows)->rows;
    ++lines;
    actions += line.actions.size();
    keep_is_best += best == kept ? 1U : 0U;
    rows_kept += kept;
    rows_best += best;
}

void PromptFile::Counts::add(const Counts& other) {
    lines += other.lines;
    actions += other.actions;
    keep_is_best += other.keep_is_best;
    rows_kept += other.rows_kept;
    rows_best += other.rows_best;
}

PromptFile::PromptFile(const std::string& out, Existing existing)
    : staging_(Staging::file(out + ".jsonl", existing)), file_(File::create(staging_.path())) {}

void PromptFile::begin(const PromptRun& run, std::size_t hosts) {
    totals_.push_back({.run = run});
    parts_.clear();
    parts_.resize(hosts);
}

/// Without a name nothing is left of it, however the program ends.
std::unique_ptr<PromptFile::Part> PromptFile::make_part(std::size_t host) const {
    const std::string path = fmt::format("{}.{}", staging_.path().string(), host);
    File writer = File::create(path);
    File reader = File::open(path);
    std::filesystem::remove(path);
    return std::make_unique<Part>(Part{std::move(writer), std::move(reader)});
}

void PromptFile::add(std::size_t host, const steer::PromptLine& line) {
    std::unique_ptr<Part>& part = parts_[host];
    if (part == nullptr) part = make_part(host);
    const std::string text = steer::to_json(line, totals_.back().run.graph).dump() + "\n";
    part->writer.write(std::as_bytes(std::span(text)));
    part->counts.add(line);
}

void PromptFile::end() {
    for (const auto& part : parts_) {
        if (part == nullptr) continue;
        copy_lines(part->reader, file_);
        totals_.back().counts.add(part->counts);
    }
    parts_.clear();
}

void PromptFile::commit() {
    const bool any =
        std::ranges::any_of(totals_, [](const Total& total) { return total.counts.lines != 0; });
    if (!any) {
        throw input_error("no question was drawn", "--stride",
                          "give a lower --stride, longer traces or more epochs");
    }
    file_.sync_and_close();
    staging_.commit();
}

void PromptFile::print(bool json) const {
    Json list = Json::array();
    Table text({"graph", "policy", "buffer", "questions", "actions each", "keeping is best",
                "rows of the best"});
    for (const auto& [run, counts] : totals_) {
        const double each = share_of(counts.actions, counts.lines);
        const double keep = share_of(counts.keep_is_best, counts.lines);
        const double best = share_of(counts.rows_best, counts.rows_kept);
        list.push_back({{"graph", run.graph},
                        {"policy", run.policy},
                        {"buffer", run.buffer},
                        {"questions", counts.lines},
                        {"actions", counts.actions},
                        {"keep_is_best", keep},
                        {"rows_keep", counts.rows_kept},
                        {"rows_best", counts.rows_best}});
        text.add({run.graph, run.policy, fmt::format("{:.2f}", run.buffer),
                  format_count(counts.lines), fmt::format("{:.1f}", each),
                  fmt::format("{:.1f} %", 100 * keep),
                  fmt::format("{:.1f} % of keep", 100 * best)});
    }
    json ? print_json(list) : print_text(text.text());
}

}  // namespace rudder::cli
