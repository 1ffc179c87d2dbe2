#include "learned_table.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::train {

namespace {

/// Rows that one thread copies at a time.
constexpr std::size_t copied_at_once = 1024;

}  // namespace

LearnedTable::LearnedTable(const comm::Communicator& comm,
                           const partition::PartitionedDataset& data,
                           const store::FeatureStore& store)
    : comm_(comm),
      row_floats_(store.format().row_floats()),
      rows_of_(static_cast<std::size_t>(comm.size()), 0),
      floats_of_(static_cast<std::size_t>(comm.size()), 0) {
    for (int r = 0; r < comm.size(); ++r) {
        const partition::PartShare share = partition::share_of(data.parts(), comm.size(), r);
        rank_starts_.push_back(data.book().range(share.first).begin);
    }
    rank_starts_.push_back(data.book().vertices());
    for (const store::LearnedSet::Stretch& of : store.learned().stretches()) {
        const int owner = partition::rank_of(of.part, data.parts(), comm.size());
        const std::size_t rows = of.end - of.begin;
        if (owner == comm.rank()) {
            own_.push_back(
                {of.begin, of.end, of.width, rows_, floats_, store.learned_row(of.begin)});
            rows_ += rows;
            floats_ += rows * of.width;
        }
        rows_of_[static_cast<std::size_t>(owner)] += rows;
        floats_of_[static_cast<std::size_t>(owner)] += rows * of.width;
    }
}

std::vector<float> LearnedTable::values() const {
    std::vector<float> values(floats_);
    for (const Stretch& of : own_) {
        parallel_chunks(of.end - of.begin, copied_at_once, [&](const Chunk& chunk) {
            for (std::size_t r = chunk.begin; r < chunk.end; ++r) {
                std::copy_n(of.rows + r * row_floats_, of.width,
                            values.data() + of.first_float + r * of.width);
            }
        });
    }
    return values;
}

std::vector<float> LearnedTable::gather(std::span<const float> own) const {
    std::vector<float> all;
    for (std::vector<float>& of_rank : comm_.gather(0, own)) {
        all.insert(all.end(), of_rank.begin(), of_rank.end());
        of_rank = {};  // not both at once
    }
    return all;
}

std::size_t LearnedTable::all(Counted counted) const {
    const auto& counts = counted == Counted::by_row ? rows_of_ : floats_of_;
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

std::vector<float> LearnedTable::scatter(std::span<const float> numbers, Counted counted) const {
    const auto ranks = static_cast<std::size_t>(comm_.size());
    comm::PerRank<float> out(ranks);
    if (comm_.rank() == 0) {
        const auto& counts = counted == Counted::by_row ? rows_of_ : floats_of_;
        RUDDER_CHECK(numbers.size() == all(counted));
        for (std::size_t r = 0; r < ranks; ++r) {
            const auto share = numbers.first(counts[r]);
            out[r].assign(share.begin(), share.end());
            numbers = numbers.subspan(counts[r]);
        }
    }
    return std::move(comm_.all_to_all(out).front());
}

void LearnedTable::place(std::span<const float> values, const std::string& where) const {
    comm::do_together(comm_, [&] {
        if (comm_.rank() != 0 || values.size() == all(Counted::by_float)) return;
        throw input_error(fmt::format("it holds {} learned numbers, and the vertices have {}",
                                      values.size(), all(Counted::by_float)),
                          where, "use the checkpoint before it");
    });
    const std::vector<float> own = scatter(values, Counted::by_float);
    for (const Stretch& of : own_) {
        parallel_chunks(of.end - of.begin, copied_at_once, [&](const Chunk& chunk) {
            for (std::size_t r = chunk.begin; r < chunk.end; ++r) {
                std::copy_n(own.data() + of.first_float + r * of.width, of.width,
                            of.rows + r * row_floats_);
            }
        });
    }
    comm_.barrier();  // from here on anyone may read any row
}

void place_learned(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                   const store::FeatureStore& store, std::span<const float> values,
                   const std::string& where) {
    if (store.learned().empty()) return;
    LearnedTable(comm, data, store).place(values, where);
}

}  // namespace rudder::train
