// A language model behind a server: messages in, the text of its reply out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/llm/options.hpp"

#include "chat_model.hpp"
#include "http.hpp"

namespace rudder::steer {

/// How a server is told what form a reply must have, from the best way down.
enum class ReplyForm : std::uint8_t {
    schema,  ///< it holds the model to the schema
    object,  ///< it holds the model to JSON
    plain    ///< the prompt says so
};

/// Speaks with one model of one server, in Ollama's protocol or OpenAI's. All calls but `cancel`
/// come from one task at a time, and block as HttpClient does. Whatever keeps a reply from coming
/// is an Error (kind failed) whose problem is one line; none of its texts shows the key.
class ChatServer final : public ChatModel {
public:
    /// A usage Error where the address will not do.
    ChatServer(const LlmOptions& options, std::string key, const ChatSettings& settings);
    ~ChatServer() override;

    /// Finds out what the server speaks and, where none was named, which model it has. Asks
    /// nothing that is known.
    void connect(Clock::time_point deadline);
    /// Whether a server is there that speaks one of the protocols and has a model; connects to it.
    /// One that cannot be reached is not tried again.
    [[nodiscard]] bool answers(Clock::time_point deadline);
    /// The reply to the messages. With a schema, the best form the server takes is used and
    /// remembered; below ReplyForm::schema the schema is written under the first message. Busy
    /// servers and broken connections are tried again until the deadline.
    [[nodiscard]] std::string chat(std::span<const ChatMessage> messages, const Json& schema,
                                   Clock::time_point deadline) override;
    /// Makes the server load the model and read the messages; asks for one token.
    void warm_up(std::span<const ChatMessage> messages, Clock::time_point deadline) override;
    [[nodiscard]] bool loads_elsewhere() const noexcept override { return true; }
    /// Ends the present call, and every later one, at once.
    void cancel() noexcept override;
    [[nodiscard]] bool cancelled() const noexcept override;
    [[nodiscard]] std::string name() const override { return model(); }
    [[nodiscard]] std::string kind() const override { return std::string(to_string(api())); }
    [[nodiscard]] std::uint64_t tokens(std::string_view text) const override;
    [[nodiscard]] std::uint64_t context() const noexcept override;
    /// The schema counts, too: servers that do not take it are shown it in the prompt.
    [[nodiscard]] std::uint64_t room(const std::string& first, const Json& schema) const override;
    /// A server that holds its model to nothing may be asked once more.
    [[nodiscard]] bool worth_repeating() const noexcept override {
        return form() == ReplyForm::plain;
    }

    [[nodiscard]] LlmApi api() const noexcept;                ///< `automatic` until connected
    [[nodiscard]] const std::string& model() const noexcept;  ///< empty until connected
    [[nodiscard]] ReplyForm form() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::steer
