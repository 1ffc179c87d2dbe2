#include "local_model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "reply_writer.hpp"

namespace rudder::steer {

namespace {

/// Tokens around two messages and before the reply, and a few that joined texts may take more.
constexpr std::uint64_t frame_tokens = 16;

TokenId token_of(ChatRole role) {
    switch (role) {
        case ChatRole::system:
            return Vocabulary::system;
        case ChatRole::user:
            return Vocabulary::user;
        case ChatRole::assistant:
            break;
    }
    return Vocabulary::assistant;
}

}  // namespace

LocalModel::LocalModel(const std::filesystem::path& file, std::uint64_t context,
                       std::uint64_t tokens)
    : LocalModel(read_steering_model(file), context, tokens) {}

LocalModel::LocalModel(SteeringModel model, std::uint64_t context, std::uint64_t tokens)
    : name_(model.name),
      parameters_(model.parameters()),
      context_(context == 0 ? model.shape.context
                            : std::min<std::uint64_t>(context, model.shape.context)),
      reply_tokens_(tokens),
      vocabulary_(std::move(model.pieces), model.name),
      transformer_(model),
      reading_(transformer_) {}

std::string LocalModel::kind() const {
    return fmt::format("{:.2f} M parameters, in this process",
                       static_cast<double>(parameters_) * 1e-6);
}

std::string LocalModel::work() const {
    return fmt::format("{} tokens read, {} more kept from before, {} written", counts_.read,
                       counts_.kept, counts_.written);
}

std::uint64_t LocalModel::tokens(std::string_view text) const {
    return vocabulary_.tokens(text).size();
}

std::uint64_t LocalModel::room(const std::string& first, const Json& /*schema*/) const {
    const std::uint64_t used = tokens(first) + reply_tokens_ + frame_tokens;
    return context_ > used ? context_ - used : 0;
}

std::uint64_t LocalModel::least_tokens(const Json& schema) {
    return ReplyWriter::least_tokens(ReplyAutomaton(schema));
}

std::vector<TokenId> LocalModel::prompt(std::span<const ChatMessage> messages) const {
    std::vector<TokenId> all{Vocabulary::begin};
    for (const ChatMessage& message : messages) {
        all.push_back(token_of(message.role));
        const std::vector<TokenId> tokens = vocabulary_.tokens(message.text);
        all.insert(all.end(), tokens.begin(), tokens.end());
        all.push_back(Vocabulary::end);
    }
    all.push_back(Vocabulary::assistant);
    return all;
}

const ReplyAutomaton& LocalModel::automaton(const Json& schema) {
    std::string text = schema.dump();
    if (!automaton_ || text != schema_) {
        automaton_.emplace(schema);
        schema_ = std::move(text);
    }
    return *automaton_;
}

void LocalModel::read(std::span<const TokenId> tokens, Clock::time_point deadline) {
    const bool whole =
        reading_.read(tokens, [&] { return !cancelled() && Clock::now() < deadline; });
    if (whole) return;
    throw Error(
        ErrorKind::failed, cancelled() ? "the question was cancelled" : "no reply by the deadline",
        "model " + name_, cancelled() ? "" : "raise deadline:SECONDS, or use a smaller model");
}

TokenId LocalModel::likeliest(std::span<const TokenId> allowed) {
    if (allowed.size() == 1) return allowed.front();
    logits_.resize(allowed.size());
    reading_.logits(allowed, logits_);
    std::size_t best = 0;
    for (std::size_t i = 1; i < allowed.size(); ++i)
        if (logits_[i] > logits_[best]) best = i;  // of equal ones the first
    return allowed[best];
}

std::string LocalModel::chat(std::span<const ChatMessage> messages, const Json& schema,
                             Clock::time_point deadline) {
    const ReplyAutomaton& allowed = automaton(schema);
    const std::vector<TokenId> all = prompt(messages);
    if (all.size() + reply_tokens_ > context_) {
        throw Error(ErrorKind::failed,
                    fmt::format("the prompt takes {} tokens, and with {} of a reply more than the "
                                "context of {}",
                                all.size(), reply_tokens_, context_),
                    "model " + name_, "lower tokens:N, or use a model with a longer context");
    }
    if (ReplyWriter::least_tokens(allowed) > reply_tokens_) {
        throw Error(ErrorKind::failed,
                    fmt::format("a reply may need {} tokens", ReplyWriter::least_tokens(allowed)),
                    "model " + name_, "raise tokens:N");
    }
    const auto before = reading_.tokens();
    const auto differ = std::ranges::mismatch(before, all).in1;
    // The last one is read in any case: what comes behind it follows from it.
    const std::size_t kept =
        std::min(static_cast<std::size_t>(differ - before.begin()), all.size() - 1);
    reading_.keep(kept);
    read(std::span(all).subspan(kept), deadline);
    counts_.read += all.size() - kept;
    counts_.kept += kept;
    ReplyWriter reply(vocabulary_, allowed, reply_tokens_);
    while (!reply.done()) {
        const TokenId token = likeliest(reply.allowed());
        reply.take(token);
        ++counts_.written;
        if (!reply.done()) read(std::span(&token, 1), deadline);
    }
    return reply.text();
}

}  // namespace rudder::steer
