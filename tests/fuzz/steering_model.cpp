// Model files: what was read can be computed with, and is read again from what is written of it.
// The checksum is set right before a second look, so that damage reaches what lies behind it.
#include "steer/llm/local/transformer.hpp"

#include "../steer/llm/local/random_model.hpp"
#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

/// The bytes with the checksum of what is behind the header.
std::string sealed(std::string bytes) {
    const std::string key = "\"checksum\":\"";
    const std::size_t at = bytes.find(key);
    std::uint64_t length = 0;
    if (bytes.size() < 8 || at == std::string::npos) return bytes;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > bytes.size() - 8 || at + key.size() + 16 > bytes.size()) return bytes;
    const auto data = std::as_bytes(std::span(bytes)).subspan(8 + length);
    return bytes.replace(at + key.size(), 16, to_hex(array_checksum(data)));
}

void check_model(const std::string& bytes) {
    steer::SteeringModel model = steer::read_steering_model(put("in.safetensors", bytes));
    FUZZ_EXPECT(model.pieces.size() == model.shape.vocabulary);
    FUZZ_EXPECT(model.layers.size() == model.shape.layers);
    test::write_model(scratch() / "again.safetensors", model);
    steer::SteeringModel again = steer::read_steering_model(scratch() / "again.safetensors");
    FUZZ_EXPECT(again.shape == model.shape && again.pieces == model.pieces);
    for (const steer::ModelTensor& tensor : steer::model_tensors(model.shape))
        FUZZ_EXPECT(same_bits(tensor.of(again), tensor.of(model)));
    if (model.shape.context > 4096) return;
    const steer::Vocabulary words(model.pieces, "the model");
    const steer::Transformer transformer(model);
    steer::Reading reading(transformer);
    std::vector<steer::TokenId> tokens = words.tokens("Keep it: 42.\n");
    tokens.resize(std::min(tokens.size(), model.shape.context));
    FUZZ_EXPECT(reading.read(tokens, [] { return true; }));
    float logit = 0;
    reading.logits(std::span(tokens).first(1), std::span(&logit, 1));
}

}  // namespace

void check(std::string_view bytes) {
    try {
        check_model(std::string(bytes));
    } catch (const Error&) {
        check_model(sealed(std::string(bytes)));
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> made;
    for (const std::uint64_t seed : {1U, 2U}) {
        steer::SteeringModel model =
            test::random_model({.layers = seed,
                                .width = 4,
                                .heads = 2,
                                .kv_heads = seed,
                                .hidden = 3,
                                .context = 16,
                                .rope_base = 10000,
                                .norm_eps = 1e-5},
                               test::pieces_with({"ee", "ee\xE2\x96\x81", "e", "\n"}), seed);
        auto notes = test::notes_of(model);
        notes.erase("header_checksum");  // so that other words are looked at, too
        test::write_model(scratch() / "made", model, notes);
        made.push_back(bytes_of(scratch() / "made"));
    }
    return made;
}

}  // namespace rudder::fuzz
