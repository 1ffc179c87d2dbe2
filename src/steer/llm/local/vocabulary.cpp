#include "vocabulary.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::steer {

namespace {

constexpr std::string_view space_sign = "\xE2\x96\x81";  // U+2581
constexpr std::array<std::string_view, Vocabulary::first_byte> control_names{
    "<unk>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"};

std::string with_signs(std::string_view text) {
    std::string signs;
    signs.reserve(text.size() + text.size() / 2);
    for (const char c : text) {
        if (c == ' ') {
            signs += space_sign;
        } else {
            signs += c;
        }
    }
    return signs;
}

std::string with_spaces(std::string_view piece) {
    std::string text;
    for (std::size_t at = 0; at < piece.size();) {
        const bool sign = piece.substr(at).starts_with(space_sign);
        text += sign ? ' ' : piece[at];
        at += sign ? space_sign.size() : 1;
    }
    return text;
}

/// Why a piece will not do; empty: it will.
std::string_view piece_problem(std::string_view piece) {
    if (piece.empty()) return "is empty";
    if (piece.size() > Vocabulary::longest_piece) return "is too long";
    if (piece.find(' ') != std::string_view::npos) return "has a space, not U+2581";
    const bool one = piece.size() == utf8_length(piece[0]);
    const bool digits = piece.find_first_of("0123456789") != std::string_view::npos;
    return digits && !one ? "joins a digit with something" : "";
}

/// Neighbours that would make a piece.
struct Join {
    TokenId piece;  ///< a lower one is joined first
    std::int32_t left;
    std::int32_t right;
    std::size_t size;  ///< of both, in bytes: another one means that something has happened since
};
struct JoinedLater {
    bool operator()(const Join& a, const Join& b) const {
        return a.piece != b.piece ? a.piece > b.piece : a.left > b.left;
    }
};

/// Characters, and what has been joined of them, as a list.
struct Part {
    std::size_t begin;
    std::size_t size;  ///< 0: joined to the one on its left
    std::int32_t left;
    std::int32_t right;
};

std::vector<Part> parts_of(std::string_view text) {
    std::vector<Part> parts;
    parts.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = std::min(utf8_length(text[at]), text.size() - at);
        const auto here = static_cast<std::int32_t>(parts.size());
        parts.push_back({at, size, here - 1, here + 1});
        at += size;
    }
    if (!parts.empty()) parts.back().right = -1;
    return parts;
}

}  // namespace

std::size_t utf8_length(char first) noexcept {
    constexpr std::array<std::uint8_t, 16> by_upper_bits{1, 1, 1, 1, 1, 1, 1, 1,
                                                         1, 1, 1, 1, 2, 2, 3, 4};
    return by_upper_bits[static_cast<unsigned char>(first) >> 4U];
}

std::string Vocabulary::fixed_name(TokenId token) {
    return token < first_byte ? std::string(control_names[token])
                              : fmt::format("<0x{:02X}>", token - first_byte);
}

Vocabulary::Vocabulary(std::vector<std::string> pieces, const std::string& where)
    : pieces_(std::move(pieces)) {
    const auto refuse = [&](std::size_t token, std::string_view why) {
        throw input_error(fmt::format("invalid model: token {} {}", token, why), where,
                          "use another model file");
    };
    if (pieces_.size() < first_piece) refuse(pieces_.size(), "is missing: bytes must all be there");
    bytes_.resize(pieces_.size());
    for (TokenId token = 0; token < first_piece; ++token) {
        if (pieces_[token] != fixed_name(token))
            refuse(token, fmt::format("must be {}", fixed_name(token)));
        if (token >= first_byte) bytes_[token] = static_cast<char>(token - first_byte);
    }
    found_.reserve(pieces_.size());
    for (std::size_t token = first_piece; token < pieces_.size(); ++token) {
        const std::string& piece = pieces_[token];
        if (const auto why = piece_problem(piece); !why.empty()) refuse(token, why);
        if (!found_.emplace(piece, static_cast<TokenId>(token)).second)
            refuse(token, "is repeated");
        bytes_[token] = with_spaces(piece);
        longest_ = std::max(longest_, piece.size());
    }
    grow_tree();
}

void Vocabulary::grow_tree() {
    std::vector<TokenId> order(size());
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [this](TokenId token) { return bytes_[token].empty(); });
    std::ranges::stable_sort(order, {}, [this](TokenId token) { return bytes(token); });
    // Each node owns a run of `order` whose bytes are equal up to its depth.
    struct Run {
        std::size_t begin, end, depth;
    };
    std::vector<Run> runs{{0, order.size(), 0}};
    tree_.nodes.emplace_back();
    for (std::size_t at = 0; at < runs.size(); ++at) {
        auto [begin, end, depth] = runs[at];
        TokenTree::Node node;
        node.tokens = static_cast<std::uint32_t>(tree_.tokens.size());
        for (; begin < end && bytes_[order[begin]].size() == depth; ++begin)
            tree_.tokens.push_back(order[begin]);
        node.tokens_end = static_cast<std::uint32_t>(tree_.tokens.size());
        node.children = static_cast<std::uint32_t>(tree_.edges.size());
        while (begin < end) {
            const auto byte = static_cast<std::uint8_t>(bytes_[order[begin]][depth]);
            std::size_t to = begin;
            while (to < end && static_cast<std::uint8_t>(bytes_[order[to]][depth]) == byte)
                ++to;
            tree_.edges.push_back({byte, static_cast<std::uint32_t>(runs.size())});
            runs.push_back({begin, to, depth + 1});
            tree_.nodes.emplace_back();
            begin = to;
        }
        node.children_end = static_cast<std::uint32_t>(tree_.edges.size());
        tree_.nodes[at] = node;
    }
}

std::vector<TokenId> Vocabulary::tokens(std::string_view text) const {
    const std::string signs = with_signs(text);
    std::vector<Part> parts = parts_of(signs);
    std::priority_queue<Join, std::vector<Join>, JoinedLater> joins;
    const auto consider = [&](std::int32_t left, std::int32_t right) {
        if (left < 0 || right < 0) return;
        const Part& a = parts[static_cast<std::size_t>(left)];
        const Part& b = parts[static_cast<std::size_t>(right)];
        if (a.size + b.size > longest_) return;
        const auto found = found_.find(std::string_view(signs).substr(a.begin, a.size + b.size));
        if (found != found_.end()) joins.push({found->second, left, right, a.size + b.size});
    };
    for (std::size_t i = 1; i < parts.size(); ++i)
        consider(static_cast<std::int32_t>(i) - 1, static_cast<std::int32_t>(i));
    while (!joins.empty()) {
        const Join join = joins.top();
        joins.pop();
        Part& left = parts[static_cast<std::size_t>(join.left)];
        Part& right = parts[static_cast<std::size_t>(join.right)];
        if (left.size == 0 || right.size == 0 || left.size + right.size != join.size) continue;
        left.size = join.size;
        right.size = 0;
        left.right = right.right;
        if (left.right >= 0) parts[static_cast<std::size_t>(left.right)].left = join.left;
        consider(left.left, join.left);
        consider(join.left, left.right);
    }
    std::vector<TokenId> tokens;
    for (const Part& part : parts) {
        if (part.size == 0) continue;
        const auto piece = std::string_view(signs).substr(part.begin, part.size);
        if (const auto found = found_.find(piece); found != found_.end()) {
            tokens.push_back(found->second);
            continue;
        }
        for (const char c : piece)
            tokens.push_back(first_byte + static_cast<unsigned char>(c));
    }
    return tokens;
}

}  // namespace rudder::steer
