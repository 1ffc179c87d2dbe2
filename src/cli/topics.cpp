#include "topics.hpp"

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/text.hpp"
#include "rudder/steer/agent_spec.hpp"

#include "describe.hpp"

namespace rudder::cli {

namespace {

std::string agent_lines() {
    std::string text;
    for (const steer::AgentInfo* info : steer::all_agents())
        text += wrapped_entry(info->name, std::string(info->sentence), 13);
    return text;
}

/// The lists that pages leave to the program, by the line that stands for them.
struct KnownList {
    std::string_view line;
    std::string (*text)();
};
constexpr KnownList known_lists[] = {
    {"<!-- agents -->", agent_lines},
    {"<!-- policies -->", policy_notes},
};

std::string line_or_list(std::string_view line) {
    for (const KnownList& list : known_lists)
        if (line == list.line) return list.text();
    return std::string(line) + "\n";
}

/// "# link: a slow network on one machine", an empty line, and the body.
Topic read_topic(const TopicPage& page) {
    const std::string_view title = page.markdown.substr(0, page.markdown.find('\n'));
    const std::string_view body = page.markdown.substr(title.size() + 2);
    const std::string head = fmt::format("# {}: ", page.name);
    RUDDER_CHECK(title.starts_with(head));
    Topic topic{std::string(page.name), std::string(title.substr(head.size())), {}};
    for (const std::string_view line : split(body, '\n'))
        topic.body += line_or_list(line);
    topic.body.erase(topic.body.find_last_not_of('\n') + 2);
    return topic;
}

}  // namespace

std::vector<Topic> all_topics() {
    std::vector<Topic> topics;
    for (const TopicPage& page : topic_pages())
        topics.push_back(read_topic(page));
    return topics;
}

std::vector<std::string> topic_names() {
    std::vector<std::string> names;
    for (const TopicPage& page : topic_pages())
        names.emplace_back(page.name);
    return names;
}

}  // namespace rudder::cli
