#include "device_inputs.hpp"

#include <algorithm>
#include <cstring>

#include "core/span.hpp"
#include "rudder/core/check.hpp"
#include "rudder/nn/aggregate.hpp"

namespace rudder::nn {

InputPlaces lay_out(const sample::Batch& batch, const InputNeeds& needs, Stretches& memory) {
    InputPlaces places;
    if (needs.vertices) places.vertices = memory.take<std::uint64_t>(batch.vertices.size());
    if (needs.degrees) places.degrees = memory.take<std::uint32_t>(batch.degrees.size());
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        BlockPlaces to;
        to.destinations = block.destinations;
        to.sources = block.sources;
        to.edges = block.edges();
        to.offsets = memory.take<std::uint32_t>(block.offsets.size());
        to.neighbours = memory.take<std::uint32_t>(to.edges);
        if (!block.shares.empty()) to.shares = memory.take<float>(to.edges);
        if (l > 0 || needs.first_transposed) {
            to.starts = memory.take<std::uint32_t>(std::size_t{block.sources} + 1);
            to.readers = memory.take<std::uint32_t>(to.edges);
            to.places = memory.take<std::uint32_t>(to.edges);
        }
        places.blocks.push_back(to);
    }
    return places;
}

namespace {

void copy_batch(const sample::Batch& batch, const InputPlaces& to) {
    if (to.vertices != nullptr) std::ranges::copy(batch.vertices, to.vertices);
    if (to.degrees != nullptr) std::ranges::copy(batch.degrees, to.degrees);
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        const BlockPlaces& place = to.blocks[l];
        std::ranges::copy(block.offsets, place.offsets);
        std::ranges::copy(block.neighbours, place.neighbours);
        if (place.shares != nullptr) std::ranges::copy(block.shares, place.shares);
        if (place.starts == nullptr) continue;
        transpose(block, {{place.starts, std::size_t{block.sources} + 1},
                          {place.readers, place.edges},
                          {place.places, place.edges}});
    }
}

}  // namespace

StagedBatch::StagedBatch(std::shared_ptr<Device> device, std::size_t place)
    : device_(std::move(device)),
      place_(place),
      host_(device_, DeviceMemory::Where::pinned, "blocks"),
      memory_(device_, DeviceMemory::Where::device, "a batch's rows and blocks") {}

void StagedBatch::fill(const sample::Batch& of, const InputRows& input, std::size_t row_floats,
                       const InputNeeds& needs) {
    const Span span("uploading to the GPU", of.key.step);
    Stretches counted;
    static_cast<void>(lay_out(of, needs, counted));
    const std::size_t blocks = counted.bytes();
    const std::size_t rows = of.vertices.size() * row_floats;
    std::byte* const memory = memory_.fit(blocks + rows * sizeof(float));
    Stretches on_host(host_.fit(blocks));
    Stretches on_device(memory);
    copy_batch(of, lay_out(of, needs, on_host));
    inputs_ = lay_out(of, needs, on_device);
    float* const to = reinterpret_cast<float*>(memory + blocks);
    device_->begin_uploads(place_);
    device_->upload_ahead(memory, host_.data(), blocks);
    device_->upload_ahead(to, input.data(), rows * sizeof(float));
    device_->mark_uploads(place_);
    rows_ = to;
    bytes_ = blocks + rows * sizeof(float);
}

/// A free place among the first so many, or a new one; null where all of them are taken. Under the
/// lock.
StagedBatch* StagedBatches::claim(const sample::Batch& batch, std::size_t most) {
    for (std::size_t i = 0; i < std::min(most, places_.size()); ++i) {
        StagedBatch* const place = places_[i].get();
        if (place->batch != nullptr) continue;
        place->batch = &batch;
        place->key = batch.key;
        place->filled = false;
        return place;
    }
    if (places_.size() >= most) return nullptr;
    StagedBatch& made =
        *places_.emplace_back(std::make_unique<StagedBatch>(device_, places_.size()));
    made.batch = &batch;
    made.key = batch.key;
    return &made;
}

void StagedBatches::stage(const sample::Batch& batch, const InputRows& rows, std::size_t row_floats,
                          const InputNeeds& needs) {
    StagedBatch* place = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        // A batch whose memory was filled again before its pass: what was there is worth nothing.
        for (const auto& old : places_) {
            if (old->batch == &batch && old->filled) old->batch = nullptr;
        }
        // One place is kept for a pass whose batch was not staged.
        place = claim(batch, upload_marks - 1);
    }
    if (place == nullptr) return;
    place->fill(batch, rows, row_floats, needs);
    const std::scoped_lock lock(mutex_);
    place->filled = true;
}

StagedBatch& StagedBatches::take(const sample::Batch& batch, const InputRows& rows,
                                 std::size_t row_floats, const InputNeeds& needs) {
    StagedBatch* place = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        // Of a batch that is gone.
        for (const auto& old : places_) {
            if (old->batch == &batch && old->filled && !(old->key == batch.key))
                old->batch = nullptr;
        }
        const auto there = std::ranges::find_if(places_, [&](const auto& each) {
            return each->batch == &batch && each->key == batch.key && each->filled;
        });
        if (there != places_.end()) {
            ++ahead_;
            return **there;
        }
        place = claim(batch, upload_marks);
        RUDDER_CHECK(place != nullptr);  // one is kept, and passes go one by one
    }
    place->fill(batch, rows, row_floats, needs);
    place->filled = true;
    return *place;
}

void StagedBatches::give_back(StagedBatch& staged) {
    const std::scoped_lock lock(mutex_);
    staged.batch = nullptr;
    staged.filled = false;
}

}  // namespace rudder::nn
