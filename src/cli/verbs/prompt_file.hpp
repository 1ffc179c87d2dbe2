// What `agent collect --for llm` leaves: a file of lines and a table for the reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/staging.hpp"
#include "rudder/core/file.hpp"
#include "steer/samples/prompt_line.hpp"

namespace rudder::cli {

/// One policy and size of a graph.
struct PromptRun {
    std::string graph;
    std::string policy;
    double buffer = 0;
};

/// OUT.jsonl: run after run, of each the hosts in turn, of each host the steps. Lines are on disk
/// as soon as they come, whichever host they are of.
class PromptFile {
public:
    /// A usage Error where it exists and may not be replaced.
    PromptFile(const std::string& out, Existing existing);

    void begin(const PromptRun& run, std::size_t hosts);
    /// Hosts may come side by side.
    void add(std::size_t host, const steer::PromptLine& line);
    /// The lines of the run's hosts go behind each other.
    void end();
    /// The file is there. An input Error where nothing was collected.
    void commit();
    /// How often keep was best, by run, on standard output.
    void print(bool json) const;

private:
    /// Of the lines of one host or run.
    struct Counts {
        std::uint64_t lines = 0;
        std::uint64_t actions = 0;
        std::uint64_t keep_is_best = 0;
        std::uint64_t rows_kept = 0;  ///< of keep
        std::uint64_t rows_best = 0;  ///< of the action with the fewest

        void add(const steer::PromptLine& line);
        void add(const Counts& other);
    };
    /// Lines of one host, in a file that has no name any more.
    struct Part {
        File writer;
        File reader;
        Counts counts{};
    };
    struct Total {
        PromptRun run;
        Counts counts{};
    };
    [[nodiscard]] std::unique_ptr<Part> make_part(std::size_t host) const;

    Staging staging_;
    File file_;
    std::vector<std::unique_ptr<Part>> parts_;  ///< by host; null: no line yet
    std::vector<Total> totals_;
};

}  // namespace rudder::cli
