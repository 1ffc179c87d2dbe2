// Checkpoints: what was read, written and read again, is equal.
#include "train/checkpoints/checkpoint.hpp"

#include "core/json.hpp"
#include "rudder/core/checksum.hpp"
#include "train/checkpoints/options_json.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

namespace fs = std::filesystem;

/// Makes all checksums of a checkpoint true: those of its files, and the state's own.
void seal_checkpoint(const fs::path& folder) {
    Json state;
    try {
        state = parse_json(bytes_of(folder / "state.json"), "state");
    } catch (const Error&) {
        return;
    }
    if (!state.is_object()) return;
    if (state.contains("files") && state["files"].is_object()) {
        for (const auto& [name, sum] : state["files"].items()) {
            if (name.find('/') != std::string::npos || !sum.is_string()) continue;
            const std::string file = bytes_of(folder / name);
            sum = to_hex(array_checksum(std::as_bytes(std::span(file))));
        }
    }
    const std::string zeroes(16, '0');
    state["checksum"] = zeroes;
    std::string text = state.dump(1) + "\n";
    const std::string seal = to_hex(hash_bytes(std::as_bytes(std::span(text))));
    text.replace(text.rfind("\"checksum\": \"") + 13, zeroes.size(), seal);
    put("run/checkpoints/step-0000000001/state.json", text);
}

void expect_same(const train::Checkpoint& a, const train::Checkpoint& b) {
    FUZZ_EXPECT(train::network_json(a.identity.network) == train::network_json(b.identity.network));
    FUZZ_EXPECT(train::training_json(a.identity.train) == train::training_json(b.identity.train));
    FUZZ_EXPECT(a.identity.data == b.identity.data);
    FUZZ_EXPECT(a.identity.data_checksum == b.identity.data_checksum);
    FUZZ_EXPECT(a.identity.trained_on == b.identity.trained_on);
    FUZZ_EXPECT(to_json(a.state) == to_json(b.state));
    FUZZ_EXPECT(a.optimiser_steps == b.optimiser_steps);
    FUZZ_EXPECT(same_bits(a.weights, b.weights));
    FUZZ_EXPECT(same_bits(a.under_evaluation, b.under_evaluation));
    FUZZ_EXPECT(a.memory.size() == b.memory.size());
    for (std::size_t i = 0; i < a.memory.size(); ++i) {
        FUZZ_EXPECT(a.memory[i].name == b.memory[i].name);
        FUZZ_EXPECT(same_bits(a.memory[i].values, b.memory[i].values));
    }
}

}  // namespace

void check(std::string_view bytes) {
    const fs::path folder = unbundle(bytes, "run/checkpoints/step-0000000001");
    seal_checkpoint(folder);
    const train::Checkpoint first = train::read_checkpoint(folder);
    drop("again");
    const fs::path written = write_checkpoint(scratch() / "again", first);
    try {
        expect_same(first, train::read_checkpoint(written));
    } catch (const Error& error) {
        std::fprintf(stderr, "what was written is refused: %s\n", error.what());
        FUZZ_EXPECT(false);
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    train::Checkpoint c;
    c.identity.network.inputs = 3;
    c.identity.network.outputs = 2;
    c.identity.train.fanout = {3, -1};
    c.identity.data = "parts";
    c.identity.data_checksum = "0123";
    c.parameters = {{"first.weight", {2, 3}, 0, 6}, {"second", {2}, 6, 2, false}};
    c.weights.assign(8, 0.5F);
    c.memory = {{"m", std::vector<float>(8, 1)}, {"v", std::vector<float>(8, 2)}};
    c.state.step = 1;
    all.push_back(bundle(write_checkpoint(scratch() / "made", c)));
    c.under_evaluation.assign(8, -1);
    c.state.epochs.resize(2);
    c.state.best_epoch = 1;
    all.push_back(bundle(write_checkpoint(scratch() / "made", c)));
    return all;
}

}  // namespace rudder::fuzz
