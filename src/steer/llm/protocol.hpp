// The two protocols: bodies of requests, and what responses say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/json_fwd.hpp"

#include "chat.hpp"

namespace rudder::steer {

/// The route that chats.
[[nodiscard]] std::string_view chat_route(LlmApi api) noexcept;
/// The route that lists models.
[[nodiscard]] std::string_view models_route(LlmApi api) noexcept;

/// The body of a request. `schema` may be null: any reply will do.
[[nodiscard]] std::string chat_body(LlmApi api, const std::string& model,
                                    std::span<const ChatMessage> messages, const Json* schema,
                                    ReplyForm form, const ChatSettings& settings);

/// Parses a body that should be JSON; an Error (kind failed) naming `where` otherwise.
[[nodiscard]] Json parse_reply_json(std::string_view text, const std::string& what,
                                    const std::string& where);
/// The model's text in a response of the chat route; an Error (kind failed) saying why there is
/// none.
[[nodiscard]] std::string reply_text(LlmApi api, const Json& response, const ChatSettings& settings,
                                     const std::string& where);
/// The models a response of that route lists; none where it is no such list.
[[nodiscard]] std::optional<std::vector<std::string>> listed_models(LlmApi api,
                                                                    const Json& response);
/// What a server says went wrong, as one line; empty if it says nothing.
[[nodiscard]] std::string server_says(const std::string& body);

}  // namespace rudder::steer
