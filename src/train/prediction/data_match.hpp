// A data set held against the network that is to be used on it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"
#include "store/row_format.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/evaluation/exact_scores.hpp"

namespace rudder::train {

/// What a saved network has learned.
[[nodiscard]] TaskKind task_of(const SavedNetwork& saved) noexcept;

/// The checksum of a data set's manifest, as runs keep it.
[[nodiscard]] std::string data_checksum(const partition::PartitionedDataset& data);
/// Refuses (input Error) a data set that is not the one the network was trained on, saying how they
/// differ.
void check_same_data(const SavedNetwork& saved, const partition::PartitionedDataset& data);

/// "'a', 'b', 'c' and 4 more".
[[nodiscard]] std::string some_of(std::span<const std::string> names);

/// How a data set's targets are matched with a network's outputs.
enum class ClassMatch : std::uint8_t { none, by_number, by_name };

/// How a network and a data set fit together.
struct DataMatch {
    bool same = true;  ///< it is the data set that the network was trained on
    ClassMatch classes = ClassMatch::by_number;
    TargetReading reading;
    std::vector<std::string> unknown;  ///< classes of the data set that the network does not know
};

/// Refuses (input Error naming `where`) a data set that the network cannot be used on: another
/// width of rows, rows normalised in the one and not in the other, another kind of targets, or more
/// classes. Classes are matched by name where both sides have names, else by number. A data set
/// without targets fits. What the run does not know of its own data set (see
/// SavedNetwork::trained_on) is not checked.
[[nodiscard]] DataMatch match_other(const SavedNetwork& saved, const graph::DatasetInfo& info,
                                    const std::string& where);
/// The same, unless it is the data set that the network was trained on.
[[nodiscard]] DataMatch match_data(const SavedNetwork& saved,
                                   const partition::PartitionedDataset& data);

/// Refuses (input Error) a data set none of whose labels the network knows.
void check_labels(const SavedNetwork& saved, const DataMatch& match, const std::string& where);

/// In what precision a network reads rows of a data set other than its own: int8 and int4 are
/// levels between the values of the data set at hand, drawn by vertex, so rows come as they are
/// stored, which those levels have as their mean.
[[nodiscard]] store::Precision precision_elsewhere(store::Precision trained) noexcept;

}  // namespace rudder::train
