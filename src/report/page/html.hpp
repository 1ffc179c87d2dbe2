// The only way text gets into a page: escaped, inside elements that are closed again.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::report {

/// Text that is part of this program, never of a run: it can only be made from a constant.
class Literal {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): made to be written as a plain constant.
    consteval Literal(const char* text) : text_(text) {}
    [[nodiscard]] constexpr std::string_view view() const noexcept { return text_; }

private:
    std::string_view text_;
};

struct Attribute {
    Literal name;
    std::string value;
};
using Attributes = std::initializer_list<Attribute>;

/// What a page may show of a text: what HTML gives a meaning is escaped, broken UTF-8 and control
/// characters (those that turn the direction of writing included) become the replacement character.
[[nodiscard]] std::string escape(std::string_view text);

/// A page or a part of one under construction.
class Html {
public:
    Html& open(Literal name, Attributes attributes = {});
    /// Closes the innermost element that is open.
    Html& close();
    Html& text(std::string_view text);
    /// An element with nothing but text in it.
    Html& leaf(Literal name, std::string_view content, Attributes attributes = {});
    /// An element that has no content (HTML), or none here (SVG).
    Html& empty(Literal name, Attributes attributes = {});
    /// Markup, style or script of this program.
    Html& markup(Literal text);
    /// An asset of this program (style, script), which is too long for a constant in place.
    Html& asset(std::string_view trusted);
    /// Ends the line, so that a page can be read as text, too.
    Html& line();

    [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }
    /// The text; everything must be closed.
    [[nodiscard]] std::string take();

private:
    void tag(Literal name, Attributes attributes);
    std::string out_;
    std::vector<std::string_view> open_;
};

/// Closes an element at the end of a block.
class Element {
public:
    Element(Html& html, Literal tag, Attributes attributes = {}) : html_(html) {
        html.open(tag, attributes);
    }
    ~Element() { html_.close(); }
    Element(Element&&) = delete;

private:
    Html& html_;
};

}  // namespace rudder::report
