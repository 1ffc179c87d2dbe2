// Samples classifiers are fitted to: features of an observation, and which answer was right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/fields.hpp"
#include "steer/classifiers/classifier.hpp"

namespace rudder::steer {

inline constexpr std::uint64_t sample_version = 1;

/// One decision.
struct Sample {
    std::uint32_t graph = 0;  ///< index of its name
    std::uint32_t host = 0;
    std::uint32_t policy = 0;  ///< index of its text
    double buffer = 0;         ///< capacity as a share of the halo
    std::uint64_t step = 0;
    bool replaced = false;      ///< what was really done
    double rows_with = 0;       ///< fetched over the horizon if replacing
    double rows_without = 0;    ///< and if not
    std::optional<bool> label;  ///< replacing costs fewer rows than not
    std::optional<bool> paper;  ///< the published label
    double hit_change = 0;      ///< what the published label is made of
    double frequency_change = 0;
    double fetch_change = 0;

    static constexpr auto fields = unnamed_fields(
        &Sample::graph, &Sample::host, &Sample::policy, &Sample::buffer, &Sample::step,
        &Sample::replaced, &Sample::rows_with, &Sample::rows_without, &Sample::label,
        &Sample::paper, &Sample::hit_change, &Sample::frequency_change, &Sample::fetch_change);
};
static_assert(lists_all_fields<Sample>);

/// Rows of samples with both lists of features.
struct SampleTable {
    std::uint64_t horizon = 16;  ///< steps the label looks at
    std::vector<std::string> graphs;
    std::vector<std::string> policies;
    std::vector<Sample> samples;
    std::vector<double> repaired;  ///< samples x features
    std::vector<double> faithful;

    [[nodiscard]] std::span<const double> features(FeatureSet set, std::size_t i) const;
    [[nodiscard]] std::optional<bool> label(LabelKind kind, std::size_t i) const {
        return kind == LabelKind::paper ? samples[i].paper : samples[i].label;
    }
    /// Appends another one; an input Error naming `where` if it looks at another horizon.
    void append(const SampleTable& other, const std::string& where);

    static constexpr auto fields =
        unnamed_fields(&SampleTable::horizon, &SampleTable::graphs, &SampleTable::policies,
                       &SampleTable::samples, &SampleTable::repaired, &SampleTable::faithful);
};
static_assert(lists_all_fields<SampleTable>);

/// The published label, over all samples: z-scores of the change of hit rate, of how often rows
/// that leave are sampled, and of the cost of fetching; 1 where the first outweighs the others.
void label_as_published(SampleTable& table);

/// As CSV: one comment line with versions, a line of names, a line per sample.
[[nodiscard]] std::string to_csv(const SampleTable& table);
/// Reads it; an input Error with file and line if it is none, or of another version or feature
/// list. Columns of labels may be missing or empty.
[[nodiscard]] SampleTable parse_csv(std::string_view text, const std::string& where);
[[nodiscard]] SampleTable read_samples(const std::filesystem::path& path);

}  // namespace rudder::steer
