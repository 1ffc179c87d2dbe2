// Edge lists as text: a slow simple reader takes and refuses the same files, and finds the same
// edges. The first byte chooses the format.
#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>

#include "graph/io/edge_blocks.hpp"

#include "graphs.hpp"

namespace rudder::fuzz {

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words(1);
    for (const char c : line) {
        if (std::string_view(" \t,;\r").find(c) == std::string_view::npos) {
            words.back() += c;
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

std::optional<VertexId> slow_id(const std::string& word) {
    VertexId value = 0;
    for (const char c : word) {
        if (c < '0' || c > '9' || value >= graph::any_id / 10) return std::nullopt;
        value = value * 10 + static_cast<VertexId>(c - '0');
    }
    return value;
}

bool is_header(const std::string& line) {
    const std::size_t at = line.find_first_not_of(" \t\r\xef\xbb\xbf");
    if (at == std::string::npos) return false;
    const char c = line[at];
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '"' || c == '\'' || c == '_' ||
           c == ':' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

std::optional<PlainGraph> slow_read(std::string_view bytes, bool csv) {
    PlainGraph found;
    bool first = csv;
    while (!bytes.empty()) {
        const std::size_t end = std::min(bytes.find('\n'), bytes.size());
        const std::string line(bytes.substr(0, end));
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
        const std::size_t at = line.find_first_not_of(" \t\r");
        if (at == std::string::npos || line[at] == '#' || line[at] == '%') continue;
        const bool skipped = first && is_header(line);
        first = false;
        if (skipped) continue;
        const auto words = words_of(line);
        if (words.size() < 2) return std::nullopt;
        const auto source = slow_id(words[0]);
        const auto target = slow_id(words[1]);
        if (!source || !target) return std::nullopt;
        found.edges.push_back({*source, *target});
        found.vertices = std::max(found.vertices, std::max(*source, *target) + 1);
    }
    if (found.vertices > VertexId{1} << 22 && found.vertices / 64 > found.edges.size())
        return std::nullopt;  // nothing speaks for so many
    std::sort(found.edges.begin(), found.edges.end(), [](const auto& a, const auto& b) {
        return std::tie(a.source, a.target) < std::tie(b.source, b.target);
    });
    return found;
}

}  // namespace

void check(std::string_view bytes) {
    if (bytes.empty()) return;
    const bool csv = bytes[0] == 'c';
    const auto file = put("in.txt", bytes.substr(1));
    std::optional<PlainGraph> fast;
    try {
        fast = read_plain(csv ? "csv" : "edges", file);
    } catch (const Error& error) {
        FUZZ_EXPECT(error.kind() == ErrorKind::input);
    }
    if (bytes.substr(1).starts_with("\x1f\x8b")) return;  // gzip
    FUZZ_EXPECT(fast == slow_read(bytes.substr(1), csv));
}

std::vector<std::string> seeds() {
    return {"e# edges\n0 1\n1 2\r\n2\t0\n\n3,4;5\n", "csource,target\n0,1\n1,2\n", "e7 7",
            "e0 4194303\n9223372036854775807 1\n", "c\xef\xbb\xbf\"a\";b\n% no\n5;6\n-1 2\n"};
}

}  // namespace rudder::fuzz
