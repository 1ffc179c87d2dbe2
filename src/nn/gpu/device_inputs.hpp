// What a device is given of a batch: its blocks, read both ways, and its rows; uploaded ahead of
// the pass that needs them.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rudder/nn/network.hpp"

#include "device_memory.hpp"

namespace rudder::nn {

/// A block in memory, of the host or the device.
struct BlockPlaces {
    std::uint32_t destinations = 0;
    std::uint32_t sources = 0;
    std::uint32_t edges = 0;
    std::uint32_t* offsets = nullptr;
    std::uint32_t* neighbours = nullptr;
    float* shares = nullptr;  ///< null: all neighbours count the same
    // The transposed block; null where nobody reads it.
    std::uint32_t* starts = nullptr;
    std::uint32_t* readers = nullptr;
    std::uint32_t* places = nullptr;
};

/// What of a batch is given.
struct InputNeeds {
    bool vertices = false;  ///< something is dropped
    bool degrees = false;
    /// The first block is read backwards, too: its sources' rows are mapped before they are summed.
    bool first_transposed = false;
};

/// Where it lies.
struct InputPlaces {
    std::uint64_t* vertices = nullptr;
    std::uint32_t* degrees = nullptr;
    std::vector<BlockPlaces> blocks;
};

/// Lays it out. Rows are not among it: they go where they are, without a copy beside them.
[[nodiscard]] InputPlaces lay_out(const sample::Batch& batch, const InputNeeds& needs,
                                  Stretches& memory);

/// One batch on the device.
class StagedBatch {
public:
    StagedBatch(std::shared_ptr<Device> device, std::size_t place);

    /// Copies and uploads, from any thread; `mark` is behind it.
    void fill(const sample::Batch& of, const InputRows& input, std::size_t row_floats,
              const InputNeeds& needs);
    /// What is asked for on the device from here on comes after its uploads.
    void await() { device_->await_uploads(place_); }

    [[nodiscard]] const InputPlaces& inputs() const noexcept { return inputs_; }
    [[nodiscard]] const float* rows() const noexcept { return rows_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    /// Whose it is; null: nobody's. Under the lock of its owner.
    const sample::Batch* batch = nullptr;
    sample::BatchKey key{};  ///< which batch that was
    bool filled = false;     ///< its uploads have been asked for

private:
    std::shared_ptr<Device> device_;
    std::size_t place_;
    DeviceMemory host_;
    DeviceMemory memory_;
    InputPlaces inputs_;
    const float* rows_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// Batches on their way or there: as many places as were ever wanted at once.
class StagedBatches {
public:
    explicit StagedBatches(std::shared_ptr<Device> device) : device_(std::move(device)) {}

    /// Uploads a batch ahead of its pass, from any thread. Where all places are taken nothing
    /// happens: the pass will do it.
    void stage(const sample::Batch& batch, const InputRows& rows, std::size_t row_floats,
               const InputNeeds& needs);
    /// The batch for its pass, uploaded now where it was not ahead. One at a time.
    [[nodiscard]] StagedBatch& take(const sample::Batch& batch, const InputRows& rows,
                                    std::size_t row_floats, const InputNeeds& needs);
    /// The pass is over.
    void give_back(StagedBatch& staged);
    /// Passes whose batch was staged before them, since it was asked last.
    [[nodiscard]] std::uint64_t take_ahead() noexcept { return std::exchange(ahead_, 0); }

private:
    [[nodiscard]] StagedBatch* claim(const sample::Batch& batch, std::size_t most);

    std::shared_ptr<Device> device_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<StagedBatch>> places_;
    std::uint64_t ahead_ = 0;
};

}  // namespace rudder::nn
