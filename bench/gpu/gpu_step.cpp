// A training step on the GPU over what it must take: its bare matrix products, and the bytes that
// its other kernels need at the speed of a copy.
//
//   gpu_step [MODEL...]    (default: sage gcn gat gatv2)
//
// hidden 256, batch 1024, fan-out 10,25, 100 columns, 47 classes; rows lie on the GPU already.
// Medians of 30 steps after 10.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "nn/gpu/device_learning.hpp"
#include "nn/gpu/device_memory.hpp"
#include "nn/random_batch.hpp"
#include "rudder/core/error.hpp"

namespace rudder {

namespace {

constexpr std::uint64_t columns = 100;
constexpr std::uint64_t hidden = 256;
constexpr std::uint64_t classes = 47;
constexpr std::uint64_t heads = 4;
constexpr std::uint32_t batch_seeds = 1024;
constexpr int warm_up = 10;
constexpr int steps = 30;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Seconds of what `work` asks for, by the device's own clock.
template <class Work>
double seconds_of(nn::Device& device, const Work& work) {
    std::vector<double> seconds;
    for (int i = 0; i < warm_up + steps; ++i) {
        static_cast<void>(device.take_seconds());
        work();
        device.finish();
        if (i >= warm_up) seconds.push_back(device.take_seconds().kernels);
    }
    return median(seconds);
}

/// Bytes per second that a copy reads and writes.
double copy_speed(const std::shared_ptr<nn::Device>& device) {
    constexpr std::size_t bytes = std::size_t{1} << 30;
    nn::DeviceMemory from(device, nn::DeviceMemory::Where::device, "a copy");
    nn::DeviceMemory to(device, nn::DeviceMemory::Where::device, "a copy");
    std::byte* const a = from.fit(bytes);
    std::byte* const b = to.fit(bytes);
    device->clear(a, bytes);
    const double seconds = seconds_of(*device, [&] { device->copy(b, a, bytes); });
    return 2 * static_cast<double>(bytes) / seconds;
}

/// Bytes per second over PCIe, from pinned memory.
double upload_speed(const std::shared_ptr<nn::Device>& device) {
    constexpr std::size_t bytes = std::size_t{1} << 28;
    nn::DeviceMemory from(device, nn::DeviceMemory::Where::pinned, "an upload");
    nn::DeviceMemory to(device, nn::DeviceMemory::Where::device, "an upload");
    std::byte* const a = from.fit(bytes);
    std::byte* const b = to.fit(bytes);
    std::fill_n(a, bytes, std::byte{1});
    return static_cast<double>(bytes) / seconds_of(*device, [&] { device->upload(b, a, bytes); });
}

struct Shape {
    std::size_t rows, columns, depth;
    bool a_transposed;
    bool b_transposed;
};

/// The products of a step, forward and backward.
std::vector<Shape> products_of(const std::string& model, const sample::Batch& batch) {
    std::vector<Shape> all;
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        const bool last = l + 1 == batch.blocks.size();
        const bool attends = model.starts_with("gat");
        const std::size_t in = l == 0 ? columns : hidden;
        const std::size_t out = last ? (attends ? heads * classes : classes) : hidden;
        const auto weight = [&](std::size_t rows) {
            all.push_back({rows, out, in, false, true});
            all.push_back({out, in, rows, true, false});
            if (l > 0) all.push_back({rows, in, out, false, false});
        };
        weight(attends ? block.sources : block.destinations);
        if (model == "sage" || model == "gatv2") weight(block.destinations);
    }
    return all;
}

double product_seconds(const std::shared_ptr<nn::Device>& device, const std::vector<Shape>& all) {
    std::size_t most = 0;
    for (const Shape& s : all)
        most = std::max({most, s.rows * s.columns, s.rows * s.depth, s.columns * s.depth});
    nn::DeviceMemory memory(device, nn::DeviceMemory::Where::device, "products");
    auto* const place = reinterpret_cast<float*>(memory.fit(3 * most * sizeof(float)));
    device->clear(place, 3 * most * sizeof(float));
    return seconds_of(*device, [&] {
        for (const Shape& s : all) {
            device->product({place, s.a_transposed, place + most, s.b_transposed, place + 2 * most,
                             s.rows, s.columns, s.depth, false});
        }
    });
}

/// Bytes that what is not a product must read and write: each row once for each edge that reads
/// it, each result once; forward and backward.
double bytes_needed(const std::string& model, const sample::Batch& batch) {
    const bool attends = model.starts_with("gat");
    double floats = 0;
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        const bool last = l + 1 == batch.blocks.size();
        const auto in = static_cast<double>(l == 0 ? columns : hidden);
        const auto out = static_cast<double>(last ? classes : hidden);
        const double wide = last && attends ? out * heads : out;
        const auto edges = static_cast<double>(block.edges());
        const auto destinations = static_cast<double>(block.destinations);
        const auto sources = static_cast<double>(block.sources);
        // Bias and activation read and write what a product gave; the bias's gradient reads it.
        floats += destinations * out * 3;
        if (attends) {
            const double entries = edges + destinations;
            // Scores' and values' rows forward, values' and sums' gradients backward.
            floats += entries * wide * (model == "gatv2" ? 5 : 3) + sources * wide * 3;
        } else {
            floats += edges * in + destinations * in;
            if (l > 0) floats += edges * in + sources * in * 2;
        }
    }
    return floats * sizeof(float);
}

void measure(const std::shared_ptr<nn::Device>& device, const std::string& model, double copy,
             double upload) {
    testing::BatchShape shape;
    shape.seeds = batch_seeds;
    shape.fanouts = {19, 49};  // of random numbers from 1 on: 10 and 25 on average
    shape.new_sources_per_edge = 80;
    shape.isolated = 0;
    const sample::Batch batch = testing::random_batch(shape);
    nn::NetworkOptions options;
    options.model = model;
    options.inputs = columns;
    options.hidden = hidden;
    options.outputs = classes;
    options.heads = heads;
    const nn::DeviceLearning made = nn::make_device_learning(device, options, {});
    std::vector<float> rows = testing::random_floats(batch.vertices.size() * columns, 1);
    made.network->rows_begin(std::as_writable_bytes(std::span(rows)));
    std::vector<std::int32_t> labels(batch.seeds);
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = static_cast<std::int32_t>(i % classes);
    nn::SeedTargets targets;
    targets.classes = labels;
    std::vector<float> gradient(made.network->weights().size());
    std::vector<double> kernels;
    std::vector<double> uploads;
    std::vector<double> whole;
    std::vector<double> updates;
    for (int i = 0; i < warm_up + steps; ++i) {
        made.network->stage(batch, rows);
        static_cast<void>(made.network->take_device_times());
        const auto begin = std::chrono::steady_clock::now();
        static_cast<void>(made.network->train(batch, rows, targets, 1.F / batch_seeds, gradient,
                                              [](std::size_t) {}));
        const auto end = std::chrono::steady_clock::now();
        const nn::DeviceTimes times = made.network->take_device_times();
        made.optimiser->step(made.network->weights(), gradient, 0.003);
        const auto updated = std::chrono::steady_clock::now();
        static_cast<void>(made.network->take_device_times());
        if (i < warm_up) continue;
        kernels.push_back(times.kernels);
        uploads.push_back(times.upload);
        whole.push_back(std::chrono::duration<double>(end - begin).count());
        updates.push_back(std::chrono::duration<double>(updated - end).count());
    }
    made.network->rows_end(std::as_writable_bytes(std::span(rows)));
    const double products = product_seconds(device, products_of(model, batch));
    const double bytes = bytes_needed(model, batch);
    const double floor = products + bytes / copy;
    const double row_bytes = static_cast<double>(rows.size() * sizeof(float));
    fmt::print(
        "{}: step {:.3f} ms, of it bare products {:.3f} ms and {:.1f} MB at copy speed "
        "{:.3f} ms: {:.2f} times these (to reach 1.5)\n",
        model, median(kernels) * 1e3, products * 1e3, bytes / 1e6, bytes / copy * 1e3,
        median(kernels) / floor);
    fmt::print(
        "  {} vertices, {} edges; rows and blocks go up in {:.3f} ms ({:.1f} MB of rows: "
        "{:.3f} ms at the link's speed); whole pass on the host's clock {:.3f} ms; update "
        "{:.3f} ms\n",
        batch.vertices.size(), batch.edges(), median(uploads) * 1e3, row_bytes / 1e6,
        row_bytes / upload * 1e3, median(whole) * 1e3, median(updates) * 1e3);
}

int run(std::vector<std::string> models) {
    if (models.empty()) models = {"sage", "gcn", "gat", "gatv2"};
    const auto device = nn::open_device(0);
    const nn::DeviceFacts facts = device->facts();
    const double copy = copy_speed(device);
    const double upload = upload_speed(device);
    fmt::print(
        "{}, compute capability {}, products by {}; a copy moves {:.2f} TB/s, an upload "
        "{:.1f} GB/s\n",
        facts.name, facts.capability, facts.products, copy / 1e12, upload / 1e9);
    for (const std::string& model : models)
        measure(device, model, copy, upload);
    return 0;
}

}  // namespace

}  // namespace rudder

int main(int count, char** words) {
    try {
        return rudder::run({words + 1, words + count});
    } catch (const rudder::Error& error) {
        std::fprintf(stderr, "gpu_step: %s\n", error.what());
        return error.exit_code();
    }
}
