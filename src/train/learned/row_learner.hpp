// Learns rows: brings them into steps, sends their gradients to their owners, and changes them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "sample/look_ahead.hpp"
#include "train/ground.hpp"

#include "learned_table.hpp"
#include "row_gradients.hpp"

namespace rudder::train {

struct AssembledStep;

/// Adam of rows: each counts the steps that changed it, and rows that a step does not read stay as
/// they are.
struct RowAdam {
    double beta1;
    double beta2;
    double epsilon;
    /// Changes a row after its step number `taken`, from 1.
    void change(std::span<float> row, const float* gradient, float* mean, float* square,
                std::uint64_t taken, double rate) const;
};

/// One rank's side. Every step changes all learned rows that it read, so no copy of one outlives
/// its step: rows are fetched when a step begins, once every owner has made the changes of the step
/// before, and none is kept.
class RowLearner {
public:
    /// Collective: rows have their first values, drawn by seed, vertex and column.
    explicit RowLearner(const Ground& ground);

    /// Puts the learned rows of an assembled step in place, as they are after the step before, and
    /// adds what that came to to its accounts. Between two calls of `update` all ranks do it.
    /// How many came from other hosts.
    std::uint64_t fetch(AssembledStep& step) const;
    /// Where own part `i` writes the gradients of its rows.
    [[nodiscard]] std::span<float> gradients(std::size_t i, std::size_t vertices);
    /// Collective: sends the gradients of a step's rows to their owners, adds up those of the parts
    /// in their order, and changes the rows. Readers must not go on before all ranks are through
    /// with it.
    void update(const sample::SampledStep& step, double rate);

    /// Collective: all rows, on rank 0; with what the optimiser knows of them.
    [[nodiscard]] LearnedState gather() const;
    /// The rows alone.
    [[nodiscard]] LearnedState gather_values() const;
    /// Collective: goes on from what was saved (on rank 0). `where` is the checkpoint.
    void restore(const LearnedState& saved, const std::string& where);
    /// Bytes it holds besides the rows.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    void draw();
    void check(const LearnedState& saved, const std::string& where) const;
    void receive(std::span<const std::vector<std::byte>> messages);
    void change(const LearnedTable::Stretch& of, double rate);

    const Ground& ground_;
    LearnedTable table_;
    RowAdam adam_;
    Array<float> mean_;
    Array<float> square_;
    Array<float> taken_;                   ///< by own row; as floats are what checkpoints hold
    std::vector<Array<float>> gradients_;  ///< by own part; grow
    std::vector<std::span<float>> written_;
    RowGradientReader reader_;
    std::vector<RowGradients> parts_;
    std::vector<ReceivedGradients> received_;  ///< by part
};

}  // namespace rudder::train
