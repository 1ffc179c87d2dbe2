#include "staged_names.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/checksum.hpp"
#include "rudder/core/text.hpp"

namespace rudder {

namespace fs = std::filesystem;

namespace {

/// When a process began, in ticks since the machine started; none: there is no such process.
std::optional<std::uint64_t> start_of(const std::string& process) {
    std::ifstream in("/proc/" + process + "/stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    // Behind the name in brackets, which may hold anything, the 20th word.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    const auto words = split(std::string_view(text).substr(name_end + 2), ' ');
    return words.size() > 19 ? parse_u64(words[19]) : std::nullopt;
}

/// Where numbers of processes mean the same: this machine and this pid namespace.
std::string process_space() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::error_code code;
    const std::string text =
        std::string(host.data()) + fs::read_symlink("/proc/self/ns/pid", code).string();
    return to_hex(hash_bytes(std::as_bytes(std::span(text))));
}

/// "PID-START-SPACE"; a number may be given to another process, but not at the same time.
std::string own_mark() {
    static const std::string space = process_space();
    // Not kept: a child that was forked is another process.
    return fmt::format("{}-{}-{}", ::getpid(), start_of("self").value_or(0), space);
}

/// Whether the process that left this mark has ended, as far as that can be known here.
bool ended(std::string_view mark) {
    const auto words = split(mark, '-');
    if (words.size() != 3 || words[2] != process_space()) return false;
    const auto start = parse_u64(words[1]);
    if (!parse_u64(words[0]) || !start || *start == 0) return false;
    return start_of(std::string(words[0])) != start;
}

struct StagedName {
    std::string output;
    StagedKind kind;
    std::string mark;
};

/// ".NAME.partial-MARK" or ".NAME.old-MARK"; none: it is something else.
std::optional<StagedName> parse_staged(const std::string& name) {
    if (!name.starts_with('.')) return std::nullopt;
    for (const auto& [word, kind] :
         {std::pair{".partial-", StagedKind::partial}, std::pair{".old-", StagedKind::old}}) {
        const std::size_t at = name.rfind(word);
        if (at == std::string::npos || at < 2) continue;
        std::string mark = name.substr(at + std::string_view(word).size());
        if (mark.empty() || mark.find_first_not_of("0123456789abcdef-") != std::string::npos)
            continue;
        return StagedName{name.substr(1, at - 1), kind, std::move(mark)};
    }
    return std::nullopt;
}

void put_away(const fs::path& left, const StagedName& name) {
    std::error_code code;
    const fs::path output = left.parent_path() / name.output;
    if (name.kind == StagedKind::old &&
        fs::symlink_status(output, code).type() == fs::file_type::not_found) {
        fs::rename(left, output, code);
        return;
    }
    fs::remove_all(left, code);
}

}  // namespace

fs::path staged_name(const fs::path& output, StagedKind kind) {
    return output.parent_path() / fmt::format(".{}.{}-{}", output.filename().string(),
                                              kind == StagedKind::partial ? "partial" : "old",
                                              own_mark());
}

void sweep_staged(const fs::path& folder, const std::string& output, Garbage garbage) {
    std::vector<std::pair<fs::path, StagedName>> found;
    std::error_code code;
    fs::directory_iterator entries(folder.empty() ? "." : folder, code);
    for (; !code && entries != fs::directory_iterator(); entries.increment(code)) {
        auto name = parse_staged(entries->path().filename().string());
        if (!name || (!output.empty() && name->output != output)) continue;
        if (garbage == Garbage::of_dead && !ended(name->mark)) continue;
        found.emplace_back(folder / entries->path().filename(), std::move(*name));
    }
    for (const auto& [path, name] : found)
        put_away(path, name);
}

}  // namespace rudder
