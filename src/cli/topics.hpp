// The topics of `rudder help`: docs/topics/NAME.md, built into the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::cli {

/// A page of docs/topics as it lies there.
struct TopicPage {
    std::string_view name;
    std::string_view markdown;
};
[[nodiscard]] std::span<const TopicPage> topic_pages();

/// What one thing is and how it is written.
struct Topic {
    std::string name;
    std::string summary;  ///< what the page's first line says of it
    std::string body;     ///< paragraphs, and indented lines that stay as they are
};

/// The topics in alphabetical order. Where a page has a line such as `<!-- policies -->`, the body
/// has the list that the program itself knows.
[[nodiscard]] std::vector<Topic> all_topics();
[[nodiscard]] std::vector<std::string> topic_names();

}  // namespace rudder::cli
