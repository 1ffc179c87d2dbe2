// The header of .npy files: a Python dictionary literal with three keys.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.hpp"

#include "npy.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t max_dimensions = 8;
constexpr const char* save_again = "save the array again with numpy.save or numpy.savez";

/// Walks over the literal. Every step either finds what it asks for or throws.
class Literal {
public:
    Literal(std::string_view text, const std::string& where) : text_(text), where_(where) {}

    [[nodiscard]] Error bad(const std::string& what) const {
        return input_error(fmt::format("the array's header is damaged: {} at byte {}", what, at_),
                           where_, save_again);
    }
    void skip_space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
    }
    bool accept(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) throw bad(fmt::format("'{}' is missing", c));
    }
    std::string_view quoted() {
        skip_space();
        if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
            throw bad("a quoted word is missing");
        }
        const char quote = text_[at_++];
        const std::size_t end = text_.find(quote, at_);
        if (end == std::string_view::npos) throw bad("a quote is not closed");
        const std::string_view word = text_.substr(at_, end - at_);
        at_ = end + 1;
        return word;
    }
    bool truth() {
        skip_space();
        for (const std::string_view word : {"True", "False"}) {
            if (text_.substr(at_).starts_with(word)) {
                at_ += word.size();
                return word == "True";
            }
        }
        throw bad("True or False is missing");
    }
    std::vector<std::uint64_t> tuple() {
        std::vector<std::uint64_t> numbers;
        expect('(');
        while (!accept(')')) {
            skip_space();
            std::size_t end = at_;
            while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0)
                ++end;
            const auto value = parse_u64(text_.substr(at_, end - at_));
            if (!value) throw bad("invalid shape: not all integers");
            at_ = end;
            numbers.push_back(*value);
            if (numbers.size() > max_dimensions) throw bad("too many dimensions");
            if (accept('L')) {
            }  // as Python 2 wrote long numbers
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return numbers;
    }
    /// What comes next, for types that are no plain word.
    bool at_list() {
        skip_space();
        return at_ < text_.size() && text_[at_] == '[';
    }
    void expect_end() {
        skip_space();
        if (at_ != text_.size()) throw bad("something follows the header");
    }

private:
    std::string_view text_;
    const std::string& where_;
    std::size_t at_ = 0;
};

std::optional<ElementType> numeric_type(std::string_view code) {
    static constexpr std::array<std::pair<std::string_view, ElementType>, 11> known{{
        {"u1", ElementType::u8},
        {"i1", ElementType::i8},
        {"u2", ElementType::u16},
        {"i2", ElementType::i16},
        {"u4", ElementType::u32},
        {"i4", ElementType::i32},
        {"u8", ElementType::u64},
        {"i8", ElementType::i64},
        {"f2", ElementType::f16},
        {"f4", ElementType::f32},
        {"f8", ElementType::f64},
    }};
    for (const auto& [name, type] : known) {
        if (name == code) return type;
    }
    return std::nullopt;
}

void set_type(NpyHeader& header, std::string_view descr, const std::string& where) {
    const char order = descr.empty() ? ' ' : descr[0];
    const std::string_view code = descr.empty() ? descr : descr.substr(1);
    if (code.starts_with('O')) {
        throw input_error("the array holds pickled Python objects, which are never loaded", where,
                          "save it as a plain numeric array (allow_pickle=False)");
    }
    if (order == '>') {
        throw input_error(fmt::format("the array is big-endian (type '{}')", descr), where,
                          "save a.astype(a.dtype.newbyteorder('<'))");
    }
    if (order == '<' && code.starts_with('U')) {
        const auto length = parse_u64(code.substr(1));
        if (length && *length >= 1 && *length <= 4096) {
            header.text_length = static_cast<std::uint32_t>(*length);
            header.type = ElementType::u32;
            return;
        }
    }
    if (order == '|' && code == "b1") {
        header.boolean = true;
        return;
    }
    const auto type = numeric_type(code);
    if (type && (order == '<' || (order == '|' && element_size(*type) == 1))) {
        header.type = *type;
        return;
    }
    throw input_error(fmt::format("the array's type '{}' is not one that is read", descr), where,
                      "save it as a little-endian array of whole numbers or floats");
}

}  // namespace

std::uint64_t NpyHeader::count() const {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : shape)
        product = checked_mul(product, extent, "the array's shape");
    return product;
}

std::uint64_t NpyHeader::item_bytes() const {
    return text_length == 0 ? element_size(type) : std::uint64_t{4} * text_length;
}

std::uint64_t NpyHeader::bytes() const {
    return checked_mul(count(), item_bytes(), "the array's size");
}

bool NpyHeader::floating() const noexcept {
    return text_length == 0 && (type == ElementType::f16 || type == ElementType::bf16 ||
                                type == ElementType::f32 || type == ElementType::f64);
}

bool NpyHeader::integer() const noexcept {
    return text_length == 0 && !floating();
}

std::string NpyHeader::describe() const {
    const std::string_view name = text_length != 0 ? "text" : boolean ? "bool" : to_string(type);
    return fmt::format("{} ({})", name, fmt::join(shape, ", "));
}

NpyHeader parse_npy_header(std::string_view text, const std::string& where) {
    NpyHeader header;
    Literal literal(text, where);
    std::optional<std::string_view> descr;
    std::optional<bool> fortran;
    std::optional<std::vector<std::uint64_t>> shape;
    literal.expect('{');
    while (!literal.accept('}')) {
        const std::string_view key = literal.quoted();
        literal.expect(':');
        if (key == "descr" && !descr) {
            if (literal.at_list()) {
                throw input_error("the array has a structured type", where,
                                  "save each field as an array of its own");
            }
            descr = literal.quoted();
        } else if (key == "fortran_order" && !fortran) {
            fortran = literal.truth();
        } else if (key == "shape" && !shape) {
            shape = literal.tuple();
        } else {
            throw literal.bad(fmt::format("key '{}' is unknown or repeated", key));
        }
        if (!literal.accept(',')) {
            literal.expect('}');
            break;
        }
    }
    literal.expect_end();
    if (!descr || !fortran || !shape) throw literal.bad("a key is missing");
    set_type(header, *descr, where);
    header.shape = std::move(*shape);
    const auto wide = std::ranges::count_if(header.shape, [](auto extent) { return extent > 1; });
    if (*fortran && wide > 1) {
        throw input_error("the array is in Fortran order", where,
                          "save numpy.ascontiguousarray(a)");
    }
    return header;
}

std::string make_npy_header(const NpyHeader& header) {
    static constexpr std::array<std::string_view, 12> codes{
        "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "", "<f4", "<f8"};
    std::string descr(codes[static_cast<std::size_t>(header.type)]);
    if (header.boolean) descr = "|b1";
    if (header.text_length != 0) descr = fmt::format("<U{}", header.text_length);
    const std::string shape =
        fmt::format("({}{})", fmt::join(header.shape, ", "), header.shape.size() == 1 ? "," : "");
    std::string dictionary =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
    constexpr std::size_t before = 10;
    constexpr std::size_t alignment = 64;
    const std::size_t used = before + dictionary.size() + 1;
    dictionary.append((alignment - used % alignment) % alignment, ' ');
    dictionary += '\n';
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(dictionary.size() & 0xffU);
    bytes += static_cast<char>(dictionary.size() >> 8);
    return bytes + dictionary;
}

}  // namespace rudder::graph
