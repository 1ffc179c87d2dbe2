#include "row_gradients.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/packed_ids.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::train {

namespace {

constexpr std::size_t gradients_at_once = 512;
/// Floats lie at multiples of so many bytes of a message.
constexpr std::size_t alignment = 8;

/// The stretch of each of some ascending vertices, one after the other.
class StretchWalk {
public:
    explicit StretchWalk(const store::LearnedSet& learned) : next_(learned.stretches()) {}
    /// 0 for one that is not learned.
    std::uint64_t width(VertexId v) {
        while (!next_.empty() && v >= next_.front().end)
            next_ = next_.subspan(1);
        return next_.empty() || v < next_.front().begin ? 0 : next_.front().width;
    }

private:
    std::span<const store::LearnedSet::Stretch> next_;
};

template <class T>
void append(std::vector<std::byte>& message, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    message.insert(message.end(), bytes.begin(), bytes.end());
}

/// Reads from the front of a message.
class Reader {
public:
    explicit Reader(std::span<const std::byte> message) : rest_(message) {}
    [[nodiscard]] bool take(std::size_t bytes, std::span<const std::byte>& out) {
        if (bytes > rest_.size()) return false;
        out = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return true;
    }
    [[nodiscard]] bool number(std::uint64_t& out) {
        std::span<const std::byte> bytes;
        if (!take(sizeof(out), bytes)) return false;
        std::memcpy(&out, bytes.data(), sizeof(out));
        return true;
    }
    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

private:
    std::span<const std::byte> rest_;
};

std::size_t filled_up(std::size_t bytes) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

void RowGradientReader::read(const sample::Batch& batch, std::span<const float> gradients,
                             std::size_t row_floats, const store::LearnedSet& learned,
                             RowGradients& out) {
    RUDDER_CHECK(gradients.size() == batch.vertices.size() * row_floats);
    uses_.clear();
    for (std::size_t i = 0; i < batch.vertices.size(); ++i) {
        if (learned.contains(batch.vertices[i]))
            uses_.push_back({batch.vertices[i], static_cast<std::uint32_t>(i)});
    }
    std::ranges::sort(uses_, [](const Use& a, const Use& b) {
        return a.vertex != b.vertex ? a.vertex < b.vertex : a.position < b.position;
    });
    first_.clear();
    out.vertices.clear();
    out.places.clear();
    StretchWalk widths(learned);
    std::size_t floats = 0;
    for (std::size_t u = 0; u < uses_.size(); ++u) {
        if (u > 0 && uses_[u].vertex == uses_[u - 1].vertex) continue;
        first_.push_back(u);
        out.vertices.push_back(uses_[u].vertex);
        out.places.push_back(floats);
        floats += widths.width(uses_[u].vertex);
    }
    first_.push_back(uses_.size());
    out.places.push_back(floats);
    out.values.resize(floats);
    parallel_chunks(out.vertices.size(), gradients_at_once, [&](const Chunk& chunk) {
        for (std::size_t r = chunk.begin; r < chunk.end; ++r) {
            const std::size_t width = out.places[r + 1] - out.places[r];
            float* const row = out.values.data() + out.places[r];
            std::copy_n(gradients.data() + uses_[first_[r]].position * row_floats, width, row);
            for (std::size_t u = first_[r] + 1; u < first_[r + 1]; ++u) {
                const float* const more = gradients.data() + uses_[u].position * row_floats;
                for (std::size_t c = 0; c < width; ++c)
                    row[c] += more[c];
            }
        }
    });
}

std::vector<std::byte> pack_gradients(std::span<const RowGradients> parts, VertexId begin,
                                      VertexId end) {
    std::vector<std::byte> message;
    RawVector<std::byte> packed;
    bool any = false;
    for (const RowGradients& part : parts) {
        const auto from = std::ranges::lower_bound(part.vertices, begin);
        const auto to = std::lower_bound(from, part.vertices.end(), end);
        const auto first = static_cast<std::size_t>(from - part.vertices.begin());
        const auto last = static_cast<std::size_t>(to - part.vertices.begin());
        any = any || first != last;
        packed.clear();
        pack_ids(std::span(part.vertices).subspan(first, last - first), begin, packed);
        const std::uint64_t bytes = packed.size();
        packed.resize(filled_up(packed.size()), std::byte{0});
        append(message, std::span<const std::uint64_t>(&bytes, 1));
        append(message, std::span<const std::byte>(packed));
        append(message, std::span<const float>(part.values)
                            .subspan(part.places[first], part.places[last] - part.places[first]));
        message.resize(filled_up(message.size()));
    }
    if (!any) message.clear();
    return message;
}

bool unpack_gradients(std::span<const std::byte> message, std::size_t parts, VertexId begin,
                      VertexId end, const store::LearnedSet& learned,
                      std::vector<ReceivedGradients>& lists) {
    if (message.empty()) return true;
    Reader reader(message);
    for (std::size_t p = 0; p < parts; ++p) {
        ReceivedGradients& list = lists.emplace_back();
        std::uint64_t bytes = 0;
        std::span<const std::byte> packed;
        if (!reader.number(bytes) || bytes > message.size()) return false;
        if (!reader.take(filled_up(bytes), packed)) return false;
        if (!unpack_ids(packed.first(bytes), begin, end - begin, list.vertices)) return false;
        StretchWalk widths(learned);
        std::size_t floats = 0;
        for (std::size_t i = 0; i < list.vertices.size(); ++i) {
            if (i > 0 && list.vertices[i] <= list.vertices[i - 1]) return false;
            const std::uint64_t width = widths.width(list.vertices[i]);
            if (width == 0) return false;
            floats += width;
        }
        std::span<const std::byte> values;
        if (!reader.take(filled_up(floats * sizeof(float)), values)) return false;
        list.values = reinterpret_cast<const float*>(values.data());
    }
    return reader.empty();
}

}  // namespace rudder::train
