#include "learned_file.hpp"

#include <array>

#include "core/safetensors.hpp"

namespace rudder::train {

namespace {

struct LearnedTensor {
    const char* name;
    std::vector<float> LearnedState::*member;
};
constexpr std::array<LearnedTensor, 4> learned_tensors{{{"values", &LearnedState::values},
                                                        {"mean", &LearnedState::mean},
                                                        {"square", &LearnedState::square},
                                                        {"steps", &LearnedState::taken}}};

}  // namespace

void write_learned(const std::filesystem::path& file, const LearnedState& learned) {
    std::vector<TensorToWrite> tensors;
    for (const LearnedTensor& tensor : learned_tensors) {
        const std::vector<float>& values = learned.*tensor.member;
        if (values.empty()) continue;
        tensors.push_back({tensor.name, {static_cast<std::int64_t>(values.size())}, values});
    }
    write_safetensors(file, tensors, {});
}

LearnedState read_learned(const std::filesystem::path& file) {
    LearnedState learned;
    const Safetensors from(file);
    for (const LearnedTensor& tensor : learned_tensors) {
        const auto found = from.tensors().find(tensor.name);
        if (found == from.tensors().end()) continue;
        const auto values = found->second.values;
        (learned.*tensor.member).assign(values.begin(), values.end());
    }
    return learned;
}

}  // namespace rudder::train
