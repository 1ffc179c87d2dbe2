// A small language model as its file has it: sizes, words and weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vocabulary.hpp"

namespace rudder::steer {

/// Sizes of a model of llama's kind.
struct ModelShape {
    std::size_t layers = 0;
    std::size_t width = 0;
    std::size_t heads = 0;
    std::size_t kv_heads = 0;  ///< heads of keys and values; each serves as many of queries
    std::size_t hidden = 0;
    std::size_t context = 0;  ///< tokens of prompt and reply
    std::size_t vocabulary = 0;
    double rope_base = 0;
    double norm_eps = 0;

    [[nodiscard]] std::size_t head() const noexcept { return width / heads; }
    friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// One layer's weights, rows by output.
struct LayerWeights {
    std::vector<float> attn_norm, query, key, value, attn_output;
    std::vector<float> ffn_norm, gate, up, down;
};

struct SteeringModel {
    static constexpr const char* format = "rudder-steering-model";
    static constexpr const char* version = "1";
    /// Beyond what a step's agent could ever use.
    static constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30U;

    std::string name;  ///< of its file
    ModelShape shape;
    std::vector<std::string> pieces;  ///< tokens by id
    std::vector<float> embedding;     ///< also the output
    std::vector<float> output_norm;
    std::vector<LayerWeights> layers;

    [[nodiscard]] std::uint64_t parameters() const noexcept;
};

/// What a tensor is called, its sides, and where its values go or are.
struct ModelTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> SteeringModel::*whole = nullptr;  ///< of the model, or
    std::vector<float> LayerWeights::*part = nullptr;    ///< of a layer
    std::size_t layer = 0;

    [[nodiscard]] std::vector<float>& of(SteeringModel& model) const {
        return whole != nullptr ? model.*whole : model.layers[layer].*part;
    }
};
/// Every tensor of a model of that shape, in the order in which files have them.
[[nodiscard]] std::vector<ModelTensor> model_tensors(const ModelShape& shape);
/// The sizes as a file's metadata has them.
[[nodiscard]] std::string shape_text(const ModelShape& shape);
/// What a file's `header_checksum` is of: its sizes and words.
[[nodiscard]] std::string words_checksum(const std::string& config, const std::string& tokens);

/// Reads a model file, which nobody need trust; an input Error names it and what differs.
[[nodiscard]] SteeringModel read_steering_model(const std::filesystem::path& path);
/// The same of such a file's bytes; errors, and the model itself, have that name.
[[nodiscard]] SteeringModel read_steering_model(std::span<const std::byte> bytes,
                                                const std::string& name);

}  // namespace rudder::steer
