// The words of a model: text to tokens, tokens to bytes, and all tokens as a tree of their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rudder::steer {

using TokenId = std::uint32_t;

/// Tokens as a tree of bytes, so that those which begin with given bytes are found at once.
struct TokenTree {
    struct Node {
        std::uint32_t children = 0;  ///< place of the first in `edges`
        std::uint32_t children_end = 0;
        std::uint32_t tokens = 0;  ///< place of the first in `tokens`
        std::uint32_t tokens_end = 0;
    };
    struct Edge {
        std::uint8_t byte;
        std::uint32_t node;
    };
    std::vector<Node> nodes;  ///< the root first
    std::vector<Edge> edges;  ///< by byte, those of a node side by side
    std::vector<TokenId> tokens;
};

class Vocabulary {
public:
    // Fixed ids. Those before the bytes stand for no text.
    static constexpr TokenId begin = 1;
    static constexpr TokenId system = 3;
    static constexpr TokenId user = 4;
    static constexpr TokenId assistant = 5;
    static constexpr TokenId end = 6;
    static constexpr TokenId first_byte = 7;
    static constexpr TokenId first_piece = 263;
    static constexpr std::size_t longest_piece = 4096;  ///< bytes

    /// The first tokens' names, as they must stand in a file.
    [[nodiscard]] static std::string fixed_name(TokenId token);

    /// All tokens by id, of UTF-8; an input Error naming `where` and the token that will not do.
    Vocabulary(std::vector<std::string> pieces, const std::string& where);
    Vocabulary(Vocabulary&&) = default;  // what was found points into the pieces
    Vocabulary& operator=(Vocabulary&&) = default;

    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    /// Of all neighbours whose joined text is a piece, those of the earliest piece are joined, the
    /// leftmost first, until there are none; what is no piece then becomes bytes. Takes n log n.
    [[nodiscard]] std::vector<TokenId> tokens(std::string_view text) const;
    /// What a token stands for; empty: nothing.
    [[nodiscard]] std::string_view bytes(TokenId token) const noexcept { return bytes_[token]; }
    [[nodiscard]] const TokenTree& tree() const noexcept { return tree_; }

private:
    void grow_tree();

    std::vector<std::string> pieces_;  ///< as the file has them
    std::vector<std::string> bytes_;
    std::unordered_map<std::string_view, TokenId> found_;  ///< pieces, in pieces_
    std::size_t longest_ = 0;                              ///< piece, in bytes
    TokenTree tree_;
};

/// Bytes of the UTF-8 character that begins with this one; 1 where none does.
[[nodiscard]] std::size_t utf8_length(char first) noexcept;

}  // namespace rudder::steer
