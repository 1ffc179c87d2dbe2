#include "protocol.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::steer {

namespace {

constexpr std::string_view role_name(ChatRole role) {
    switch (role) {
        case ChatRole::system:
            return "system";
        case ChatRole::user:
            return "user";
        case ChatRole::assistant:
            break;
    }
    return "assistant";
}

Json message_list(std::span<const ChatMessage> messages) {
    Json list = Json::array();
    for (const ChatMessage& message : messages)
        list.push_back({{"role", role_name(message.role)}, {"content", message.text}});
    return list;
}

Json ollama_body(const std::string& model, std::span<const ChatMessage> messages,
                 const Json* schema, ReplyForm form, const ChatSettings& settings) {
    Json body{{"model", model}, {"messages", message_list(messages)}, {"stream", false}};
    // Models that think aloud first would spend the reply's tokens on it; others do not mind.
    body["think"] = false;
    if (schema != nullptr && form == ReplyForm::schema) body["format"] = *schema;
    if (schema != nullptr && form == ReplyForm::object) body["format"] = "json";
    body["options"] = {{"temperature", settings.temperature},
                       {"seed", settings.seed},
                       {"num_ctx", settings.context},
                       {"num_predict", settings.tokens}};
    return body;
}

/// OpenAI's protocol has no way to set the context's length: it is the server's.
Json openai_body(const std::string& model, std::span<const ChatMessage> messages,
                 const Json* schema, ReplyForm form, const ChatSettings& settings) {
    Json body{{"model", model}, {"messages", message_list(messages)}, {"stream", false}};
    body["temperature"] = settings.temperature;
    body["seed"] = settings.seed;
    body["max_tokens"] = settings.tokens;
    if (schema != nullptr && form == ReplyForm::schema) {
        body["response_format"] = {{"type", "json_schema"},
                                   {"json_schema", {{"name", "answer"}, {"schema", *schema}}}};
    }
    if (schema != nullptr && form == ReplyForm::object) {
        body["response_format"] = {{"type", "json_object"}};
    }
    return body;
}

Error no_reply(std::string problem, const std::string& where, std::string remedy = {}) {
    return {ErrorKind::failed, std::move(problem), where, std::move(remedy)};
}

/// A member of an object; null where there is none.
const Json* member(const Json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json* text_member(const Json& object, const char* key) {
    const Json* found = member(object, key);
    return found != nullptr && found->is_string() ? found : nullptr;
}

void check_end(const Json* reason, const ChatSettings& settings, const std::string& where) {
    if (reason == nullptr) return;
    if (!reason->is_string()) throw no_reply("the server does not say how the reply ended", where);
    const std::string& why = reason->get_ref<const std::string&>();
    if (why == "length") {
        throw no_reply(fmt::format("the reply was cut at {} tokens", settings.tokens), where,
                       "allow more with tokens:N");
    }
    if (why != "stop") {
        throw no_reply(fmt::format("the reply ended otherwise ('{}')", printable(why, 30)), where);
    }
}

/// The content of a message, which must be text of the model.
std::string content_of(const Json* message, const std::string& where) {
    if (message == nullptr) throw no_reply("the server's response holds no message", where);
    if (!message->is_object())
        throw no_reply("invalid response of the server: the message is not an object", where);
    if (const Json* role = member(*message, "role"); role != nullptr && *role != "assistant")
        throw no_reply("the message is not the model's", where);
    if (member(*message, "refusal") != nullptr) throw no_reply("the model refuses to reply", where);
    const Json* content = member(*message, "content");
    if (content == nullptr) throw no_reply("the message holds no text", where);
    if (!content->is_string()) {
        throw no_reply("invalid response of the server: the content of the message is not a text",
                       where);
    }
    if (content->get_ref<const std::string&>().empty())
        throw no_reply("the model's reply is empty", where);
    return content->get<std::string>();
}

}  // namespace

std::string_view chat_route(LlmApi api) noexcept {
    return api == LlmApi::ollama ? "/api/chat" : "/v1/chat/completions";
}

std::string_view models_route(LlmApi api) noexcept {
    return api == LlmApi::ollama ? "/api/tags" : "/v1/models";
}

std::string chat_body(LlmApi api, const std::string& model, std::span<const ChatMessage> messages,
                      const Json* schema, ReplyForm form, const ChatSettings& settings) {
    const Json body = api == LlmApi::ollama ? ollama_body(model, messages, schema, form, settings)
                                            : openai_body(model, messages, schema, form, settings);
    return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse_reply_json(std::string_view text, const std::string& what, const std::string& where) {
    try {
        return parse_json(text, where);
    } catch (const Error& error) {
        throw no_reply(fmt::format("{}: {}", what, printable(error.problem(), 240)), where);
    }
}

std::string reply_text(LlmApi api, const Json& response, const ChatSettings& settings,
                       const std::string& where) {
    if (!response.is_object())
        throw no_reply("invalid response of the server: not a JSON object", where);
    if (member(response, "error") != nullptr)
        throw no_reply("the server reports an error in place of a reply", where);
    if (api == LlmApi::ollama) {
        const Json* done = member(response, "done");
        if (done == nullptr)
            throw no_reply("the server's response does not say that the reply is complete", where);
        if (*done != true) throw no_reply("the reply is not complete", where);
        check_end(member(response, "done_reason"), settings, where);
        return content_of(member(response, "message"), where);
    }
    const Json* choices = member(response, "choices");
    if (choices == nullptr || !choices->is_array())
        throw no_reply("the server's response holds no list of replies", where);
    if (choices->empty()) throw no_reply("the server's response holds no reply", where);
    if (choices->size() != 1) {
        throw no_reply(fmt::format("the server sent {} replies for one", choices->size()), where);
    }
    const Json& choice = (*choices)[0];
    if (!choice.is_object())
        throw no_reply("invalid response of the server: the choice is not an object", where);
    check_end(member(choice, "finish_reason"), settings, where);
    return content_of(member(choice, "message"), where);
}

std::optional<std::vector<std::string>> listed_models(LlmApi api, const Json& response) {
    const bool ollama = api == LlmApi::ollama;
    const Json* list = member(response, ollama ? "models" : "data");
    if (list == nullptr || !list->is_array()) return std::nullopt;
    // llama.cpp's server answers Ollama's route, too, but chats in OpenAI's protocol.
    if (ollama && member(response, "data") != nullptr) return std::nullopt;
    std::vector<std::string> names;
    for (const Json& entry : *list) {
        const Json* name = text_member(entry, ollama ? "name" : "id");
        if (name == nullptr) return std::nullopt;
        names.push_back(name->get<std::string>());
    }
    return names;
}

std::string server_says(const std::string& body) {
    try {
        const Json json = parse_json(body, {});
        const Json* error = member(json, "error");
        if (error == nullptr) return {};
        const Json* text = error->is_string() ? error : text_member(*error, "message");
        return text == nullptr ? std::string{} : printable(text->get<std::string>());
    } catch (const Error&) {
        return {};
    }
}

}  // namespace rudder::steer
