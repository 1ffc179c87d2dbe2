// Safetensors files: what was read, written and read again, is equal.
#include "core/safetensors.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const Safetensors first(put("in.safetensors", bytes));
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, tensor] : first.tensors())
        tensors.push_back({name, tensor.shape, tensor.values});
    write_safetensors(scratch() / "again.safetensors", tensors, first.notes());
    const Safetensors again(scratch() / "again.safetensors");
    FUZZ_EXPECT(again.notes() == first.notes());
    FUZZ_EXPECT(again.tensors().size() == first.tensors().size());
    for (const auto& [name, tensor] : first.tensors()) {
        FUZZ_EXPECT(same_bits(again.tensor(name, tensor.shape), tensor.values));
    }
}

std::vector<std::string> seeds() {
    const std::vector<float> values{1, -2, 0.5F, 4, 5, 6};
    const std::span<const float> all(values);
    const std::vector<TensorToWrite> tensors{
        {"a.weight", {2, 2}, all.first(4)}, {"b", {2}, all.subspan(4)}, {"c", {0}, {}}};
    write_safetensors(scratch() / "made", tensors, {{"format", "pt"}, {"model", "sage"}});
    std::vector<std::string> made{bytes_of(scratch() / "made")};
    write_safetensors(scratch() / "made", {}, {});
    made.push_back(bytes_of(scratch() / "made"));
    return made;
}

}  // namespace rudder::fuzz
