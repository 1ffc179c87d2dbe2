// Runs a fuzzer without libFuzzer: over its corpus and its own seeds, and over seeded damage to
// each of them; or writes the corpus.
//
//     fuzz_NAME CORPUS [DAMAGED]     each file of the folder, if it is there, and each of the
//     seeds,
//                                    and so many damaged copies of each
//     fuzz_NAME --write CORPUS       the fuzzer's own seeds
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "rudder/core/random.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {
namespace {

namespace fs = std::filesystem;

/// Changes, removes, inserts or repeats a few bytes.
std::string damaged(std::string bytes, Draws& draws) {
    for (std::uint64_t changes = 1 + draws.below(3); changes > 0 && !bytes.empty(); --changes) {
        const std::size_t at = draws.below(bytes.size());
        const std::size_t length = 1 + draws.below(std::min<std::size_t>(8, bytes.size() - at));
        switch (draws.below(4)) {
            case 0:
                bytes[at] = static_cast<char>(draws.below(256));
                break;
            case 1:
                bytes.erase(at, length);
                break;
            case 2:
                bytes.insert(at, bytes.substr(at, length));
                break;
            default:
                bytes.resize(at + 1);
        }
    }
    return bytes;
}

int write_seeds(const fs::path& folder) {
    fs::create_directories(folder);
    int number = 0;
    for (const std::string& seed : seeds()) {
        run_once(seed);
        std::ofstream(folder / ("seed-" + std::to_string(++number)), std::ios::binary) << seed;
    }
    std::printf("%d files\n", number);
    return 0;
}

int replay(const fs::path& folder, std::uint64_t copies) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<std::string> inputs;
    for (const fs::path& file : files)
        inputs.push_back(bytes_of(file));
    for (std::string& seed : seeds()) {
        if (std::find(inputs.begin(), inputs.end(), seed) == inputs.end())
            inputs.push_back(std::move(seed));
    }
    if (inputs.empty()) {
        std::fprintf(stderr, "%s: no files, and no seeds\n", folder.c_str());
        return 1;
    }
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 19}), 0);
    for (const std::string& bytes : inputs) {
        run_once(bytes);
        for (std::uint64_t i = 0; i < copies; ++i)
            run_once(damaged(bytes, draws));
    }
    std::printf("%zu files and seeds, %llu damaged copies of each\n", inputs.size(),
                static_cast<unsigned long long>(copies));
    return 0;
}

}  // namespace
}  // namespace rudder::fuzz

int main(int count, char** words) {
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.size() == 2 && arguments[0] == "--write")
        return rudder::fuzz::write_seeds(arguments[1]);
    if (arguments.empty()) return 2;
    return rudder::fuzz::replay(arguments[0], arguments.size() > 1 ? std::stoull(arguments[1]) : 0);
}
