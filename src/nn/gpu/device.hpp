// A device that networks compute on: its memory, its kernels, and how work is put in order. One is
// a GPU; the other, the twin, runs the same bodies on the host, which shows without a GPU that what
// they compute is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attention_bodies.hpp"
#include "block_bodies.hpp"
#include "column_bodies.hpp"
#include "loss_bodies.hpp"
#include "row_bodies.hpp"
#include "weight_bodies.hpp"

namespace rudder::nn {

/// c = op(a) op(b), or that added to c: all row by row, without gaps. op transposes.
struct DeviceProduct {
    const float* a;
    bool a_transposed;
    const float* b;
    bool b_transposed;
    float* c;
    std::size_t rows;     ///< of c
    std::size_t columns;  ///< of c
    std::size_t depth;
    bool add;
};

/// How deep a product is cut for kernels of ours: only one of a transposed first factor, the
/// gradient of weights, whose depth is the rows of a block; into at most 64 stretches.
struct ProductParts {
    std::size_t stretch;
    std::size_t count;
};
[[nodiscard]] constexpr ProductParts product_parts(const DeviceProduct& product) noexcept {
    const std::size_t depth = product.depth;
    if (!product.a_transposed || depth == 0) return {depth == 0 ? 1 : depth, 1};
    const std::size_t share = (depth + 63) / 64;
    const std::size_t stretch = share < 512 ? 512 : share;
    return {stretch, (depth + stretch - 1) / stretch};
}

/// All that a device runs.
using AnyBody = std::variant<InverseCounts, WeighBlock, GatherSum, FinishRows, UndoRows, NormRows,
                             UndoNormRows, NormColumns, UndoNormColumns, ExpandRows, ColumnSums,
                             ColumnFinish, SpreadColumns, ScaleElements, HeadDots, AttendAdditive,
                             AttendAdditiveBack, GatherAdditive, AttendDynamic, AttendDynamicBack,
                             GatherDynamic, MeanOfHeads, PartHeads, ClassLoss, MultilabelLoss,
                             SquaredLoss, SquareSums, ClipFactor, AdamStep, SgdStep, AddStretches>;

/// What a device is asked about itself.
struct DeviceFacts {
    std::string name;        ///< "NVIDIA H200"
    std::string capability;  ///< "9.0"
    std::string products;    ///< who multiplies matrices, in words
    std::uint64_t memory = 0;
    std::uint64_t free = 0;
    int ordinal = 0;
};

/// Seconds that work of a device took, since they were asked for last.
struct DeviceSeconds {
    double upload = 0;  ///< rows and blocks on their way
    double kernels = 0;
};

/// All work is done in the order it was asked for, but for uploads ahead, which go beside it.
/// Whatever fails on the device is an Error that says what.
class Device {
public:
    virtual ~Device() = default;
    [[nodiscard]] virtual DeviceFacts facts() = 0;

    /// Memory of the device. Where there is none left: an Error with sizes; `what` it is for.
    [[nodiscard]] virtual std::byte* take(std::size_t bytes, std::string_view what) = 0;
    virtual void give(std::byte* memory) noexcept = 0;
    /// Memory of the host that the device reads by itself.
    [[nodiscard]] virtual std::byte* take_pinned(std::size_t bytes) = 0;
    virtual void give_pinned(std::byte* memory) noexcept = 0;
    /// Makes memory of the host such memory, and undoes it. False: it stays as it was.
    [[nodiscard]] virtual bool pin(std::span<std::byte> memory) noexcept = 0;
    virtual void unpin(std::byte* memory) noexcept = 0;

    /// In order; pinned memory must stay as it is until `finish`.
    virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
    virtual void download(void* to, const void* from, std::size_t bytes) = 0;
    /// Within the device.
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
    virtual void clear(void* memory, std::size_t bytes) = 0;
    /// Runs so many items of a body.
    virtual void run(const AnyBody& body, std::size_t items) = 0;
    virtual void product(const DeviceProduct& product) = 0;
    /// Waits for all that was asked for in order.
    virtual void finish() = 0;

    /// Beside all else, in their own order. From any thread.
    virtual void upload_ahead(void* to, const void* from, std::size_t bytes) = 0;
    /// A mark before the next of them, and one behind those asked for so far: `place` is any number
    /// below `upload_marks`, used again once its mark was passed.
    virtual void begin_uploads(std::size_t place) = 0;
    virtual void mark_uploads(std::size_t place) = 0;
    /// What is asked for from here on comes after that mark.
    virtual void await_uploads(std::size_t place) = 0;
    [[nodiscard]] virtual DeviceSeconds take_seconds() = 0;
};
inline constexpr std::size_t upload_marks = 64;

/// The bodies on the host, in the order they are asked for, lane after lane; products in the order
/// of the CPU's.
[[nodiscard]] std::shared_ptr<Device> make_twin_device();

/// Who multiplies matrices on a GPU.
enum class DeviceProducts : std::uint8_t {
    choose,  ///< cuBLAS where it is there
    cublas,
    own  ///< kernels of ours: the bits of the twin
};

/// What is known of GPUs here without touching one.
struct DevicesFound {
    bool built_in = false;      ///< this build has the kernels
    std::string architectures;  ///< "sm_80 sm_90 sm_100, PTX"
    std::string missing;        ///< why none can be used; empty: `devices` are there
    std::string driver;         ///< "13.0"; empty: none was found
    std::vector<DeviceFacts> devices;
};
[[nodiscard]] DevicesFound find_devices();
/// A usage Error where there is none of that number.
[[nodiscard]] std::shared_ptr<Device> open_device(int ordinal,
                                                  DeviceProducts products = DeviceProducts::choose);

}  // namespace rudder::nn
