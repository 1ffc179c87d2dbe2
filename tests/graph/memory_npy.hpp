// NumPy arrays read from memory, so that readers of arrays are tested without files.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph/io/npy.hpp"
#include "rudder/graph/feature_source.hpp"

#include "support/npz_bytes.hpp"

namespace rudder::test {

class MemoryBytes final : public graph::ByteStream {
public:
    explicit MemoryBytes(std::string bytes) : bytes_(std::move(bytes)) {}
    std::size_t read(std::span<std::byte> out) override {
        const std::size_t count = std::min(out.size(), bytes_.size() - at_);
        if (count != 0) std::memcpy(out.data(), bytes_.data() + at_, count);
        at_ += count;
        return count;
    }

private:
    std::string bytes_;
    std::size_t at_ = 0;
};

/// A reader of the bytes of an array; errors name `where`.
inline graph::NpyReader reader_of(const std::string& bytes, std::string where = "here") {
    return {std::make_unique<MemoryBytes>(bytes), bytes.size(), std::move(where)};
}

/// All rows of a source as floats, scales applied; expects that blocks hold whole rows.
inline std::vector<float> rows_as_floats(const graph::FeatureSource& source) {
    const graph::FeatureInfo info = source.info();
    std::vector<float> all;
    source.walk([&](std::span<const std::byte> block) {
        EXPECT_EQ(block.size() % info.row_bytes(), 0U);
        for (std::size_t at = 0; at < block.size(); at += info.row_bytes()) {
            std::vector<float> row(info.width);
            graph::decode_row(info, block.subspan(at, info.row_bytes()), source.scale(), row);
            all.insert(all.end(), row.begin(), row.end());
        }
    });
    return all;
}

}  // namespace rudder::test
