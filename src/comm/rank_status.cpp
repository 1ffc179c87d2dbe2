#include "rank_status.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/text.hpp"

#include "process_handle.hpp"

namespace rudder::comm {

namespace {

std::atomic<int> own_rank{-1};
std::atomic<bool> status_wanted{true};

constexpr const char* joining_word = "joining";
constexpr const char* joined_word = "joined";

std::filesystem::path file_of(const std::filesystem::path& folder, const char* word, int rank) {
    return folder / (std::string(word) + "-" + std::to_string(rank));
}

/// Written beside and renamed, so that the launcher never reads half of it; nothing is left where
/// it cannot be written.
void write_whole(const std::filesystem::path& file, const std::string& text) {
    const std::string partial = file.string() + ".partial";
    std::ofstream out(partial);
    out << text;
    out.close();
    if (out) {
        std::rename(partial.c_str(), file.c_str());
    } else {
        std::remove(partial.c_str());
    }
}

std::optional<std::string> read_whole(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) return std::nullopt;
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace

int launched_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"}) {
        if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return -1;
}

void write_rank_process(int rank, RankStage stage) {
    own_rank = rank;
    const char* folder = std::getenv(status_folder_variable);
    if (folder == nullptr || rank < 0) return;
    write_whole(file_of(folder, "pid", rank),
                fmt::format("{} {} {}", ::getpid(), start_of_process(::getpid()),
                            stage == RankStage::joined ? joined_word : joining_word));
}

void write_rank_status(int code, const std::string& reason) noexcept {
    const char* folder = std::getenv(status_folder_variable);
    const int rank = own_rank;
    if (folder == nullptr || rank < 0 || !status_wanted) return;
    try {
        write_whole(file_of(folder, "status", rank), std::to_string(code) + "\n" + reason);
    } catch (...) {  // NOLINT(bugprone-empty-catch): a missing status is read as a death
    }
}

void leave_no_status() noexcept {
    status_wanted = false;
}

std::optional<RankProcess> read_rank_process(const std::filesystem::path& folder, int rank) {
    const auto text = read_whole(file_of(folder, "pid", rank));
    if (!text) return std::nullopt;
    std::istringstream in(*text);
    RankProcess process;
    std::string stage;
    in >> process.pid >> process.start >> stage;
    if (!in || process.pid <= 1) return std::nullopt;
    process.stage = stage == joined_word ? RankStage::joined : RankStage::joining;
    return process;
}

std::optional<RankStatus> read_rank_status(const std::filesystem::path& folder, int rank) {
    const auto text = read_whole(file_of(folder, "status", rank));
    if (!text) return std::nullopt;
    const std::size_t line = text->find('\n');
    if (line == std::string::npos) return std::nullopt;
    const auto code = parse_u64(std::string_view(*text).substr(0, line));
    if (!code) return std::nullopt;
    return RankStatus{static_cast<int>(*code), text->substr(line + 1)};
}

void note_interrupt(const std::filesystem::path& folder) {
    write_whole(folder / "interrupted", "");
}

bool launcher_interrupted() noexcept {
    const char* folder = std::getenv(status_folder_variable);
    return folder != nullptr && ::access((std::string(folder) + "/interrupted").c_str(), F_OK) == 0;
}

}  // namespace rudder::comm
