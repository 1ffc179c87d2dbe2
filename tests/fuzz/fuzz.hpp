// What all fuzzers share: the two functions each defines, files for readers that take paths,
// bundles of files, and the check that ends the process.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/error.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::fuzz {

/// Defined by each fuzzer: reads the bytes and holds what was read against an oracle. An Error is a
/// refusal, which is fine; anything else that is thrown, and an expectation that does not hold, is
/// a finding.
void check(std::string_view bytes);
/// Defined by each fuzzer: a few small inputs made by our own writers, for the corpus.
[[nodiscard]] std::vector<std::string> seeds();

/// Calls `check` and takes refusals for what they are.
void run_once(std::string_view bytes);

[[noreturn]] void fail(const char* condition, const char* file, int line);

/// A folder in memory where there is one; it lasts as long as the process.
[[nodiscard]] const std::filesystem::path& scratch();
/// Writes a file of the scratch folder (without a flush to disk) and gives its path. What is put
/// there is read alone: a file that holds these bytes already is left as it is.
std::filesystem::path put(const std::string& name, std::string_view bytes);
/// Removes a file or folder there.
void drop(const std::string& name);
/// The bytes of a file; none of anything else.
[[nodiscard]] std::string bytes_of(const std::filesystem::path& file);

/// Several files as one input: each begins with "\n@@@NAME\n".
[[nodiscard]] std::string bundle(const std::filesystem::path& folder);
/// Writes the files of a bundle into a fresh folder `name` of the scratch folder; those whose names
/// leave it are left out.
std::filesystem::path unbundle(std::string_view bytes, const std::string& name);

/// Makes the checksums of a folder's manifest those of its arrays, so that damage reaches what lies
/// behind them. Does nothing where the manifest cannot be read.
void seal_arrays(const std::filesystem::path& folder);

[[nodiscard]] inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::string_view(reinterpret_cast<const char*>(a.data()), a.size()) ==
           std::string_view(reinterpret_cast<const char*>(b.data()), b.size());
}
template <class T, class U>
[[nodiscard]] bool same_bits(const T& a, const U& b) {
    return same_bytes(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

}  // namespace rudder::fuzz

#define FUZZ_EXPECT(condition) \
    ((condition) ? static_cast<void>(0) : ::rudder::fuzz::fail(#condition, __FILE__, __LINE__))
