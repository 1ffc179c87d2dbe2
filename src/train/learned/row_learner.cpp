#include "row_learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/span.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "train/steps/pipeline.hpp"

namespace rudder::train {

namespace {

/// Initial values have a stream of their own beside those of parameters, which count from 0.
constexpr std::uint32_t rows_layer = std::numeric_limits<std::uint32_t>::max();
/// Rows that one thread changes at a time, at most, and their floats.
constexpr std::size_t changed_at_once = 512;
constexpr std::size_t floats_at_once = std::size_t{1} << 16;
/// Steps that a row counts: beyond it Adam's corrections are 1, and floats count no further.
constexpr float most_taken = 16'777'216;

std::size_t rows_per_chunk(std::uint64_t width) noexcept {
    return std::clamp<std::size_t>(floats_at_once / width, 1, changed_at_once);
}

}  // namespace

void RowAdam::change(std::span<float> row, const float* gradient, float* mean, float* square,
                     std::uint64_t taken, double rate) const {
    const auto step = static_cast<double>(taken);
    const auto root = static_cast<float>(std::sqrt(1 - std::pow(beta2, step)));
    const auto length = static_cast<float>(rate / (1 - std::pow(beta1, step)));
    const auto mix1 = static_cast<float>(1 - beta1);
    const auto keep2 = static_cast<float>(beta2);
    const auto mix2 = static_cast<float>(1 - beta2);
    const auto least = static_cast<float>(epsilon);
    for (std::size_t c = 0; c < row.size(); ++c) {
        const float g = gradient[c];
        mean[c] += (g - mean[c]) * mix1;
        square[c] = square[c] * keep2 + mix2 * g * g;
        row[c] -= length * (mean[c] / (std::sqrt(square[c]) / root + least));
    }
}

RowLearner::RowLearner(const Ground& ground)
    : ground_(ground),
      table_(ground.comm, ground.data, ground.store),
      adam_{.beta1 = ground.options.optimiser.beta1,
            .beta2 = ground.options.optimiser.beta2,
            .epsilon = ground.options.optimiser.epsilon},
      mean_(Array<float>::zeroed(table_.floats())),
      square_(Array<float>::zeroed(table_.floats())),
      taken_(Array<float>::zeroed(table_.rows())),
      gradients_(ground.parts.size()),
      written_(ground.parts.size()),
      parts_(ground.parts.size()) {
    draw();
    ground.comm.barrier();  // from here on anyone may read any row
}

/// Uniform, so that a row is about 1 long.
void RowLearner::draw() {
    const RandomStream stream(
        {.purpose = Purpose::initialise, .seed = ground_.options.seed, .layer = rows_layer});
    for (const LearnedTable::Stretch& of : table_.stretches()) {
        const double bound = std::sqrt(3.0 / static_cast<double>(of.width));
        parallel_chunks(of.end - of.begin, rows_per_chunk(of.width), [&](const Chunk& chunk) {
            for (std::size_t r = chunk.begin; r < chunk.end; ++r) {
                float* const row = of.rows + r * table_.row_floats();
                for (std::size_t c = 0; c < of.width; ++c) {
                    const auto draws = stream.block(of.begin + r, c / 4);
                    const double unit = static_cast<double>(draws[c % 4]) * 0x1.0p-32;
                    row[c] = static_cast<float>((2 * unit - 1) * bound);
                }
            }
        });
    }
}

std::uint64_t RowLearner::fetch(AssembledStep& step) const {
    const Span span("fetching learned rows", step.sampled.step);
    std::vector<store::RowsWanted> wanted;
    for (std::size_t i = 0; i < step.rows.size(); ++i) {
        const sample::Batch& batch = step.sampled.batches[i];
        wanted.push_back({batch.vertices, step.rows[i], batch.distinct()});
    }
    store::Pull pull = ground_.store.pull(wanted, comm::Kind::requests, store::RowChoice::learned);
    const store::Pulled& pulled = pull.wait();
    step.counts += pulled.rows;
    step.bytes_by_owner.resize(pulled.bytes_by_owner.size(), 0);
    for (std::size_t r = 0; r < pulled.bytes_by_owner.size(); ++r)
        step.bytes_by_owner[r] += pulled.bytes_by_owner[r];
    step.received += pulled.received;
    return pulled.rows.demand;
}

std::span<float> RowLearner::gradients(std::size_t i, std::size_t vertices) {
    const std::size_t floats = vertices * table_.row_floats();
    if (gradients_[i].size() < floats)
        gradients_[i] = Array<float>::uninitialised(floats + floats / 8);
    written_[i] = gradients_[i].span().subspan(0, floats);
    return written_[i];
}

void RowLearner::update(const sample::SampledStep& step, double rate) {
    const Span span("learning rows", step.step);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        reader_.read(step.batches[i], written_[i], table_.row_floats(), ground_.store.learned(),
                     parts_[i]);
    }
    const auto starts = table_.rank_starts();
    comm::PerRank<std::byte> out;
    for (std::size_t r = 0; r + 1 < starts.size(); ++r)
        out.push_back(pack_gradients(parts_, starts[r], starts[r + 1]));
    const comm::PerRank<std::byte> came = ground_.comm.all_to_all(out, comm::Kind::gradients);
    receive(came);
    for (const LearnedTable::Stretch& of : table_.stretches())
        change(of, rate);
}

/// Ranks have ascending parts, so that lists come in the order of parts.
void RowLearner::receive(std::span<const std::vector<std::byte>> messages) {
    received_.clear();
    const int ranks = ground_.comm.size();
    const auto starts = table_.rank_starts().subspan(static_cast<std::size_t>(ground_.comm.rank()));
    for (int r = 0; r < ranks; ++r) {
        const partition::PartShare share = partition::share_of(ground_.data.parts(), ranks, r);
        if (unpack_gradients(messages[static_cast<std::size_t>(r)], share.last - share.first,
                             starts[0], starts[1], ground_.store.learned(), received_))
            continue;
        throw Error(ErrorKind::rank, "invalid message: not the gradients of rows of this rank",
                    fmt::format("rank {}", r),
                    "the ranks disagree about the data set; give all of them the same", r);
    }
}

/// Each row is added up and changed by one thread: part by part, in their order.
void RowLearner::change(const LearnedTable::Stretch& of, double rate) {
    struct List {
        std::span<const VertexId> vertices;  ///< of the stretch
        const float* values;
    };
    const std::size_t width = of.width;
    std::vector<List> lists;
    for (const ReceivedGradients& all : received_) {
        const auto from = std::ranges::lower_bound(all.vertices, of.begin);
        const auto to = std::lower_bound(from, all.vertices.end(), of.end);
        if (from == to) continue;
        // Rows before it may be of other widths.
        std::size_t before = 0;
        auto next = all.vertices.begin();
        for (const LearnedTable::Stretch& other : table_.stretches()) {
            if (other.begin == of.begin) break;
            const auto end = std::lower_bound(next, from, other.end);
            before += static_cast<std::size_t>(end - next) * other.width;
            next = end;
        }
        lists.push_back({{from, to}, all.values + before});
    }
    if (lists.empty()) return;
    const std::size_t at_once = rows_per_chunk(width);
    parallel_chunks(of.end - of.begin, at_once, [&](const Chunk& chunk) {
        thread_local std::vector<float> sums;
        thread_local std::vector<std::uint8_t> changed;
        sums.resize(std::max(sums.size(), at_once * width));
        changed.assign(chunk.end - chunk.begin, 0);
        const VertexId first = of.begin + chunk.begin;
        const VertexId last = of.begin + chunk.end;
        bool any = false;
        for (const List& list : lists) {
            auto v = std::ranges::lower_bound(list.vertices, first);
            const float* from =
                list.values + static_cast<std::size_t>(v - list.vertices.begin()) * width;
            for (; v != list.vertices.end() && *v < last; ++v, from += width) {
                const std::size_t r = *v - first;
                float* const sum = sums.data() + r * width;
                any = true;
                if (changed[r] == 0) {
                    std::copy_n(from, width, sum);
                    changed[r] = 1;
                    continue;
                }
                for (std::size_t c = 0; c < width; ++c)
                    sum[c] += from[c];
            }
        }
        for (std::size_t r = 0; any && r < changed.size(); ++r) {
            if (changed[r] == 0) continue;
            const std::size_t row = chunk.begin + r;
            float& taken = taken_[of.first_row + row];
            taken = std::min(taken + 1, most_taken);
            const std::size_t at = of.first_float + row * width;
            adam_.change({of.rows + row * table_.row_floats(), width}, sums.data() + r * width,
                         mean_.data() + at, square_.data() + at, static_cast<std::uint64_t>(taken),
                         rate);
        }
    });
}

LearnedState RowLearner::gather_values() const {
    LearnedState state;
    state.values = table_.gather(table_.values());
    return state;
}

LearnedState RowLearner::gather() const {
    LearnedState state = gather_values();
    state.mean = table_.gather(mean_.span());
    state.square = table_.gather(square_.span());
    state.taken = table_.gather(taken_.span());
    return state;
}

void RowLearner::restore(const LearnedState& saved, const std::string& where) {
    const Span span("taking up learned rows");
    comm::do_together(ground_.comm, [&] { check(saved, where); });
    table_.place(saved.values, where);
    const auto take = [&](std::span<const float> all, LearnedTable::Counted counted,
                          Array<float>& own) {
        const std::vector<float> mine = table_.scatter(all, counted);
        RUDDER_CHECK(mine.size() == own.size());
        std::ranges::copy(mine, own.data());
    };
    take(saved.mean, LearnedTable::Counted::by_float, mean_);
    take(saved.square, LearnedTable::Counted::by_float, square_);
    take(saved.taken, LearnedTable::Counted::by_row, taken_);
}

/// On rank 0: whether there is as much of everything as the rows need.
void RowLearner::check(const LearnedState& saved, const std::string& where) const {
    if (ground_.comm.rank() != 0) return;
    const std::size_t floats = table_.all(LearnedTable::Counted::by_float);
    if (saved.mean.size() == floats && saved.square.size() == floats &&
        saved.taken.size() == table_.all(LearnedTable::Counted::by_row))
        return;
    throw input_error("it does not hold what the optimiser knew of the learned rows", where,
                      "use the checkpoint before it");
}

std::uint64_t RowLearner::bytes() const noexcept {
    std::uint64_t floats = mean_.size() + square_.size() + taken_.size();
    for (const Array<float>& of_part : gradients_)
        floats += of_part.size();
    return floats * sizeof(float);
}

}  // namespace rudder::train
