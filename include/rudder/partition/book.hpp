// The partition book: which part owns which range of vertices.
#pragma once

#include <span>
#include <vector>

#include "rudder/core/types.hpp"

namespace rudder::partition {

/// P + 1 ascending numbers: part p owns the vertices [starts[p], starts[p + 1]). No part is empty.
class PartitionBook {
public:
    struct Range {
        VertexId begin;
        VertexId end;
        [[nodiscard]] VertexId size() const noexcept { return end - begin; }
        [[nodiscard]] bool contains(VertexId v) const noexcept { return v >= begin && v < end; }
    };

    PartitionBook() = default;
    /// Ascending strictly, the first 0.
    explicit PartitionBook(std::vector<VertexId> starts);

    [[nodiscard]] PartId parts() const noexcept {
        return starts_.empty() ? 0 : static_cast<PartId>(starts_.size() - 1);
    }
    [[nodiscard]] VertexId vertices() const noexcept {
        return starts_.empty() ? 0 : starts_.back();
    }
    [[nodiscard]] std::span<const VertexId> starts() const noexcept { return starts_; }
    [[nodiscard]] Range range(PartId p) const noexcept { return {starts_[p], starts_[p + 1]}; }

    /// The part that owns v; v < vertices(). Constant time: a table gives the first candidate.
    [[nodiscard]] PartId owner(VertexId v) const noexcept {
        PartId p = first_[v >> shift_];
        while (v >= starts_[p + 1])
            ++p;
        return p;
    }
    /// The position of v inside its part p, and back.
    [[nodiscard]] VertexId local(PartId p, VertexId v) const noexcept { return v - starts_[p]; }
    [[nodiscard]] VertexId global(PartId p, VertexId local) const noexcept {
        return starts_[p] + local;
    }

    friend bool operator==(const PartitionBook& a, const PartitionBook& b) {
        return a.starts_ == b.starts_;
    }

private:
    std::vector<VertexId> starts_;
    std::vector<PartId> first_;  ///< the owner of the first vertex of each block of 2^shift
    int shift_ = 0;
};

/// The types of vertices of a partitioned graph that has several: a part's vertices of one type
/// have consecutive ids, in the order of the types.
class TypeBook {
public:
    TypeBook() = default;
    /// P x T + 1 numbers: part p's vertices of type t begin at starts[p * T + t]. They never
    /// descend; `types` is T.
    TypeBook(std::vector<VertexId> starts, std::size_t types);

    /// 0: the graph has one type.
    [[nodiscard]] std::size_t types() const noexcept { return types_; }
    [[nodiscard]] std::span<const VertexId> starts() const noexcept { return starts_; }
    /// The vertices of type t of part p.
    [[nodiscard]] PartitionBook::Range range(PartId p, std::size_t t) const noexcept {
        const std::size_t at = p * types_ + t;
        return {starts_[at], starts_[at + 1]};
    }
    /// The type of v, which part p owns.
    [[nodiscard]] std::size_t type(PartId p, VertexId v) const noexcept {
        const VertexId* const ends = starts_.data() + p * types_ + 1;
        std::size_t t = 0;
        while (v >= ends[t])
            ++t;
        return t;
    }

private:
    std::vector<VertexId> starts_;
    std::size_t types_ = 0;
};

}  // namespace rudder::partition
