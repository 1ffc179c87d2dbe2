// Small models with random weights, and the files they are in.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/random.hpp"
#include "steer/llm/local/steering_model.hpp"

namespace rudder::test {

/// The tokens that every model has.
[[nodiscard]] inline std::vector<std::string> fixed_pieces() {
    std::vector<std::string> pieces;
    for (steer::TokenId token = 0; token < steer::Vocabulary::first_piece; ++token)
        pieces.push_back(steer::Vocabulary::fixed_name(token));
    return pieces;
}

/// Those and `more`.
[[nodiscard]] inline std::vector<std::string> pieces_with(const std::vector<std::string>& more) {
    std::vector<std::string> pieces = fixed_pieces();
    pieces.insert(pieces.end(), more.begin(), more.end());
    return pieces;
}

/// Pieces that joining the most frequent neighbours of a text of ASCII gives, and single
/// characters behind them.
[[nodiscard]] inline std::vector<std::string> pieces_of_text(const std::string& text,
                                                             std::size_t joins) {
    std::vector<std::string> parts;
    for (const char c : text)
        parts.emplace_back(c == ' ' ? std::string("\xE2\x96\x81") : std::string(1, c));
    std::vector<std::string> singles = parts;
    std::sort(singles.begin(), singles.end());
    singles.erase(std::unique(singles.begin(), singles.end()), singles.end());
    const auto digit = [](const std::string& part) { return part[0] >= '0' && part[0] <= '9'; };
    std::vector<std::string> pieces;
    while (pieces.size() < joins) {
        std::map<std::string, std::size_t> counts;
        for (std::size_t i = 1; i < parts.size(); ++i)
            if (!digit(parts[i - 1]) && !digit(parts[i])) ++counts[parts[i - 1] + parts[i]];
        const auto best =
            std::ranges::max_element(counts, {}, [](const auto& pair) { return pair.second; });
        if (best == counts.end()) break;
        std::vector<std::string> joined;
        for (std::string& part : parts) {
            const bool fits = !joined.empty() && !digit(joined.back()) && !digit(part) &&
                              joined.back() + part == best->first;
            if (fits) {
                joined.back() += part;
            } else {
                joined.push_back(std::move(part));
            }
        }
        parts = std::move(joined);
        if (std::ranges::find(pieces, best->first) != pieces.end()) break;
        pieces.push_back(best->first);
    }
    pieces.insert(pieces.end(), singles.begin(), singles.end());
    return pieces;
}

/// A model of that shape whose weights are drawn; as large as trained ones are.
[[nodiscard]] inline steer::SteeringModel random_model(steer::ModelShape shape,
                                                       std::vector<std::string> pieces,
                                                       std::uint64_t seed) {
    steer::SteeringModel model;
    model.name = "random";
    model.pieces = std::move(pieces);
    shape.vocabulary = model.pieces.size();
    model.shape = shape;
    model.layers.resize(shape.layers);
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
    for (const steer::ModelTensor& tensor : steer::model_tensors(shape)) {
        std::size_t count = 1;
        for (const std::int64_t side : tensor.shape)
            count *= static_cast<std::size_t>(side);
        const bool norm = tensor.shape.size() == 1;
        // A power of two, so that products are exact and weights the same on every machine.
        double size = norm ? 0.25 : 2;
        while (!norm && size * size * static_cast<double>(tensor.shape.back()) > 6)
            size /= 2;
        std::vector<float>& values = tensor.of(model);
        values.resize(count);
        for (float& value : values)
            value = static_cast<float>((norm ? 1 : 0) + size * (2 * draws.uniform() - 1));
    }
    return model;
}

/// What a file of the model says of itself.
[[nodiscard]] inline std::map<std::string, std::string> notes_of(steer::SteeringModel& model) {
    std::string bytes;
    for (const steer::ModelTensor& tensor : steer::model_tensors(model.shape)) {
        const auto values = std::as_bytes(std::span(tensor.of(model)));
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size());
    }
    const std::string config = steer::shape_text(model.shape);
    const std::string tokens = Json(model.pieces).dump();
    return {{"format", steer::SteeringModel::format},
            {"version", steer::SteeringModel::version},
            {"config", config},
            {"tokens", tokens},
            {"checksum", to_hex(array_checksum(std::as_bytes(std::span(bytes))))},
            {"header_checksum", steer::words_checksum(config, tokens)}};
}

/// Writes a model file; with other notes than its own, where given.
inline void write_model(const std::filesystem::path& file, steer::SteeringModel& model,
                        const std::map<std::string, std::string>& other = {}) {
    std::vector<TensorToWrite> tensors;
    for (const steer::ModelTensor& tensor : steer::model_tensors(model.shape))
        tensors.push_back({tensor.name, tensor.shape, tensor.of(model)});
    write_safetensors(file, tensors, other.empty() ? notes_of(model) : other);
}

}  // namespace rudder::test
