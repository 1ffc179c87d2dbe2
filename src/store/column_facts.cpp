#include "column_facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::store {

namespace {

/// Rows that are looked at together, and decoded together.
constexpr VertexId block_rows = VertexId{1} << block_bits(VertexBlocks::by_1024);
constexpr std::size_t decoded_rows = 16;

RowFormat exact_format(const partition::Part& part) {
    const graph::FeatureView rows = part.features();
    return {rows.info, rows.scale, Precision::native};
}

/// The parts of this rank, in order.
std::vector<const partition::Part*> own_parts(const AllRows& rows) {
    const partition::PartShare share =
        partition::share_of(rows.book.parts(), rows.comm.size(), rows.comm.rank());
    std::vector<const partition::Part*> own;
    for (const partition::Part& part : rows.parts) {
        if (share.contains(part.id())) own.push_back(&part);
    }
    RUDDER_CHECK(own.size() == share.size());
    return own;
}

/// Blocks that hold vertices of [begin, end).
std::size_t blocks_between(VertexId begin, VertexId end) {
    return begin == end ? 0 : (end - 1) / block_rows - begin / block_rows + 1;
}

/// Calls body(i, vertices) for the i-th block of a part and those of its vertices, on all threads.
void for_blocks(const partition::Part& part,
                FunctionRef<void(std::size_t, partition::PartitionBook::Range)> body) {
    const auto range = part.range();
    parallel_chunks(blocks_between(range.begin, range.end), 1, [&](const Chunk& chunk) {
        const VertexId block = range.begin / block_rows + chunk.index;
        body(chunk.index, {std::max(range.begin, block * block_rows),
                           std::min(range.end, (block + 1) * block_rows)});
    });
}

/// Some rows of a part, as floats in one way or another.
class DecodedRows {
public:
    explicit DecodedRows(const partition::Part& part)
        : begin_(part.range().begin), view_(part.features()) {}

    /// Calls body(stored rows, their vertices) for a few rows of [begin, end) at a time.
    template <class Body>
    void walk(partition::PartitionBook::Range range, Body&& body) const {
        std::array<const std::byte*, decoded_rows> from{};
        std::array<VertexId, decoded_rows> vertices{};
        for (VertexId v = range.begin; v < range.end;) {
            std::size_t count = 0;
            for (; count < decoded_rows && v < range.end; ++count, ++v) {
                from[count] = view_.row(v - begin_).data();
                vertices[count] = v;
            }
            body(std::span<const std::byte* const>(from.data(), count),
                 std::span<const VertexId>(vertices.data(), count));
        }
    }

private:
    VertexId begin_;
    graph::FeatureView view_;
};

/// Memory for as many rows as are decoded together.
struct FewRows {
    explicit FewRows(std::size_t width) : values(decoded_rows * width) {
        for (std::size_t i = 0; i < decoded_rows; ++i)
            places[i] = values.data() + i * width;
    }
    std::vector<float> values;
    std::array<float*, decoded_rows> places{};
};

// ---- ranges ------------------------------------------------------------------------------------

/// Of one block and all columns.
struct BlockTotals {
    float* least;
    float* largest;
    double* sum;
    double* squares;
};

void add_row(const float* __restrict row, std::size_t width, const BlockTotals& to) {
    float* __restrict least = to.least;
    float* __restrict largest = to.largest;
    double* __restrict sum = to.sum;
    double* __restrict squares = to.squares;
    for (std::size_t c = 0; c < width; ++c) {
        const float x = row[c];
        least[c] = x < least[c] ? x : least[c];
        largest[c] = x > largest[c] ? x : largest[c];
        const auto wide = static_cast<double>(x);
        sum[c] += wide;
        squares[c] += wide * wide;
    }
}

/// Adds `further` to `sums`, element by element.
void add_all(std::span<double> sums, std::span<const double> further) {
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += further[i];
}

/// What one rank tells the others.
struct OwnFacts {
    std::vector<float> least;
    std::vector<float> largest;
    std::vector<double> sums;  ///< of each own part: sums of columns, then of their squares
};

/// Names the element that is not finite.
void refuse_not_finite(const partition::Part& part, partition::PartitionBook::Range range) {
    const graph::FeatureView rows = part.features();
    const VertexId first = range.begin - part.range().begin;
    const std::size_t bytes = rows.info.row_bytes();
    graph::check_finite(rows.info, {rows.data + first * bytes, range.size() * bytes}, first,
                        part.folder().manifest_path());
}

void scan_part(const partition::Part& part, VertexId first_block, OwnFacts& facts) {
    const RowFormat format = exact_format(part);
    const std::size_t width = format.width();
    const auto range = part.range();
    const std::size_t skip = range.begin / block_rows - first_block;
    // Of each block, added in their order.
    std::vector<double> sums(blocks_between(range.begin, range.end) * 2 * width);
    const DecodedRows rows(part);
    for_blocks(part, [&](std::size_t i, partition::PartitionBook::Range of_block) {
        const BlockTotals totals{facts.least.data() + (skip + i) * width,
                                 facts.largest.data() + (skip + i) * width,
                                 sums.data() + 2 * i * width, sums.data() + (2 * i + 1) * width};
        FewRows few(width);
        rows.walk(of_block, [&](auto stored, auto vertices) {
            format.load_rows(stored, vertices, few.places.data());
            for (std::size_t r = 0; r < stored.size(); ++r)
                add_row(few.places[r], width, totals);
        });
        if (!std::all_of(totals.sum, totals.sum + width, [](double x) { return std::isfinite(x); }))
            refuse_not_finite(part, of_block);
    });
    std::vector<double> whole(2 * width);
    for (std::size_t at = 0; at < sums.size(); at += whole.size())
        add_all(whole, std::span(sums).subspan(at, whole.size()));
    facts.sums.insert(facts.sums.end(), whole.begin(), whole.end());
}

/// The least of `from` in `to`; or the largest.
void take_least(std::span<float> to, std::span<const float> from) {
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = std::min(to[i], from[i]);
}
void take_largest(std::span<float> to, std::span<const float> from) {
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = std::max(to[i], from[i]);
}

/// Makes one block of many.
template <class Take>
std::vector<float> fold_blocks(std::span<const float> blocks, std::size_t width, const Take& take) {
    std::vector<float> all(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(
                                                                std::min(blocks.size(), width)));
    for (std::size_t at = width; at < blocks.size(); at += width)
        take(all, blocks.subspan(at, width));
    return all;
}

OwnFacts scan_own(const AllRows& rows, std::size_t width, VertexBlocks blocks) {
    OwnFacts facts;
    comm::do_together(rows.comm, [&] {
        const auto own = own_parts(rows);
        const VertexId begin = own.front()->range().begin;
        const std::size_t count = blocks_between(begin, own.back()->range().end) * width;
        facts.least.assign(count, std::numeric_limits<float>::infinity());
        facts.largest.assign(count, -std::numeric_limits<float>::infinity());
        for (const partition::Part* part : own)
            scan_part(*part, begin / block_rows, facts);
    });
    if (blocks == VertexBlocks::one) {
        facts.least = fold_blocks(facts.least, width, take_least);
        facts.largest = fold_blocks(facts.largest, width, take_largest);
    }
    return facts;
}

/// All ranks' blocks, of which neighbours may share one.
template <class Take>
std::vector<float> gather_blocks(const AllRows& rows, std::span<const float> own,
                                 const ColumnFacts& facts, float start, const Take& take) {
    const VertexId vertices = rows.book.vertices();
    const bool one = facts.blocks == VertexBlocks::one;
    std::vector<float> all((one ? 1 : blocks_between(0, vertices)) * facts.width, start);
    const auto of_ranks = rows.comm.all_gather(own);
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
        const auto share =
            partition::share_of(rows.book.parts(), rows.comm.size(), static_cast<int>(r));
        const VertexId block = rows.book.range(share.first).begin / block_rows;
        if (of_ranks[r].empty()) continue;  // no vertices
        take(std::span(all).subspan(one ? 0 : block * facts.width, of_ranks[r].size()),
             of_ranks[r]);
    }
    return all;
}

/// Standard deviations.
std::vector<double> deviations(const AllRows& rows, std::span<const double> own,
                               std::size_t width) {
    std::vector<double> sums(2 * width);
    for (const auto& of_rank : rows.comm.all_gather(own)) {
        for (std::size_t at = 0; at < of_rank.size(); at += sums.size())
            add_all(sums, std::span(of_rank).subspan(at, sums.size()));
    }
    const auto count = static_cast<double>(rows.book.vertices());
    std::vector<double> result(width);
    for (std::size_t c = 0; c < width; ++c) {
        const double mean = sums[c] / count;
        result[c] = std::sqrt(std::max(0.0, sums[width + c] / count - mean * mean));
    }
    return result;
}

/// Those of this rank's rows that all ranks look at, one after the other.
std::vector<float> sampled_rows(const AllRows& rows, std::size_t width) {
    const VertexId vertices = rows.book.vertices();
    const VertexId count = std::min<VertexId>(vertices, 512);
    std::vector<float> sample;
    for (const partition::Part* part : own_parts(rows)) {
        const RowFormat format = exact_format(*part);
        for (VertexId i = 0; i < count; ++i) {
            const VertexId v = vertices / count * i + vertices % count * i / count;
            if (!part->range().contains(v)) continue;
            sample.resize(sample.size() + width);
            const std::byte* from = part->features().row(v - part->range().begin).data();
            float* to = sample.data() + sample.size() - width;
            format.load_rows({&from, 1}, {&v, 1}, &to);
        }
    }
    return sample;
}

/// See `column_facts`; `otherwise` where quantiles are equal.
std::vector<double> spreads(const AllRows& rows, std::vector<double> otherwise) {
    const std::size_t width = otherwise.size();
    const auto of_ranks = rows.comm.all_gather(std::span<const float>(sampled_rows(rows, width)));
    std::vector<float> column;
    for (std::size_t c = 0; c < width; ++c) {
        column.clear();
        for (const auto& sample : of_ranks) {
            for (std::size_t at = c; at < sample.size(); at += width)
                column.push_back(sample[at]);
        }
        std::sort(column.begin(), column.end());
        const auto low = static_cast<double>(column[column.size() / 20]);
        const auto high = static_cast<double>(column[column.size() - 1 - column.size() / 20]);
        constexpr double of_deviation = 3.29;  // between these quantiles of normal draws
        if (high > low) otherwise[c] = (high - low) / of_deviation;
    }
    return otherwise;
}

// ---- errors ------------------------------------------------------------------------------------

/// Adds the largest errors of each column, and sums of squares, of a part's rows: 2 x width.
void add_errors(const partition::Part& part, const RowFormat& format, std::vector<double>& found) {
    const RowFormat exact = exact_format(part);
    const std::size_t width = format.width();
    const auto range = part.range();
    std::vector<double> blocks(blocks_between(range.begin, range.end) * 2 * width);
    const DecodedRows rows(part);
    for_blocks(part, [&](std::size_t i, partition::PartitionBook::Range of_block) {
        double* largest = blocks.data() + 2 * i * width;
        double* squares = largest + width;
        FewRows is(width);
        FewRows was(width);
        rows.walk(of_block, [&](auto stored, auto vertices) {
            exact.load_rows(stored, vertices, was.places.data());
            format.load_rows(stored, vertices, is.places.data());
            for (std::size_t r = 0; r < stored.size(); ++r) {
                for (std::size_t c = 0; c < width; ++c) {
                    const double error = std::fabs(static_cast<double>(is.places[r][c]) -
                                                   static_cast<double>(was.places[r][c]));
                    largest[c] = std::max(largest[c], error);
                    squares[c] += error * error;
                }
            }
        });
    });
    for (std::size_t at = 0; at < blocks.size(); at += 2 * width) {
        for (std::size_t c = 0; c < width; ++c)
            found[c] = std::max(found[c], blocks[at + c]);
        add_all(std::span(found).subspan(width),
                std::span<const double>(blocks).subspan(at + width, width));
    }
}

/// Whether the mean square of some column's errors would be unbearable if its values lay anywhere
/// between two levels: a sixth of the square of the step.
bool suspicious(const ColumnFacts& facts, const RowFormat& format) {
    const ColumnSteps& columns = *format.steps();
    const std::size_t width = facts.width;
    const std::size_t blocks = columns.values.size() / (2 * width);
    for (std::size_t c = 0; c < width; ++c) {
        double squares = 0;
        for (std::size_t b = 0; b < blocks; ++b) {
            const auto step = static_cast<double>(columns.values[(2 * b + 1) * width + c]);
            squares += step * step / 6;
        }
        const double bound = bearable_error(format.precision()) * facts.spread[c];
        if (squares / static_cast<double>(blocks) > bound * bound) return true;
    }
    return false;
}

}  // namespace

ColumnFacts column_facts(const AllRows& rows, VertexBlocks blocks) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    ColumnFacts facts{.width = rows.parts.front().features().info.width, .blocks = blocks};
    const OwnFacts own = scan_own(rows, facts.width, blocks);
    facts.least = gather_blocks(rows, own.least, facts, infinity, take_least);
    facts.largest = gather_blocks(rows, own.largest, facts, -infinity, take_largest);
    facts.spread = spreads(rows, deviations(rows, own.sums, facts.width));
    const auto least = fold_blocks(facts.least, facts.width, take_least);
    const auto largest = fold_blocks(facts.largest, facts.width, take_largest);
    for (std::size_t c = 0; c < facts.width; ++c) {
        if (least[c] == largest[c]) facts.spread[c] = 0;  // not what rounding leaves
    }
    return facts;
}

VertexBlocks blocks_of(Precision precision) noexcept {
    return precision == Precision::int4 ? VertexBlocks::by_1024 : VertexBlocks::one;
}

ColumnSteps column_steps(const ColumnFacts& facts, Precision precision, const std::string& where) {
    RUDDER_CHECK(precision == Precision::int8 || precision == Precision::int4);
    const std::size_t width = facts.width;
    const bool fold = blocks_of(precision) == VertexBlocks::one;
    RUDDER_CHECK(fold || facts.blocks == VertexBlocks::by_1024);
    const auto least = fold ? fold_blocks(facts.least, width, take_least) : facts.least;
    const auto largest = fold ? fold_blocks(facts.largest, width, take_largest) : facts.largest;
    ColumnSteps columns{.width = width,
                        .levels = precision == Precision::int8 ? 255U : 15U,
                        .blocks = blocks_of(precision)};
    const auto values = std::make_shared<std::vector<float>>(2 * least.size());
    for (std::size_t i = 0; i < least.size(); ++i) {
        const double spread = static_cast<double>(largest[i]) - static_cast<double>(least[i]);
        if (!(spread <= static_cast<double>(std::numeric_limits<float>::max() / 2))) {
            throw input_error(fmt::format("column {} of the features spans {:.3g}, too much for "
                                          "steps in float32",
                                          i % width, spread),
                              where, "choose --precision bfloat16 or float32");
        }
        const std::size_t at = i / width * 2 * width + i % width;
        (*values)[at] = least[i] + 0.F;  // one zero for both
        (*values)[at + width] = static_cast<float>(spread / columns.levels);
    }
    columns.values = *values;
    columns.memory = values;
    return columns;
}

RowErrors row_errors(const AllRows& rows, const ColumnFacts& facts, const RowFormat& format) {
    const std::size_t width = facts.width;
    std::vector<double> found(2 * width);
    comm::do_together(rows.comm, [&] {
        for (const partition::Part* part : own_parts(rows))
            add_errors(*part, format, found);
    });
    std::vector<double> all(2 * width);
    for (const auto& of_rank : rows.comm.all_gather(std::span<const double>(found))) {
        for (std::size_t c = 0; c < width; ++c)
            all[c] = std::max(all[c], of_rank[c]);
        add_all(std::span(all).subspan(width), std::span(of_rank).subspan(width));
    }
    RowErrors errors;
    const auto worse = [](ColumnError& worst, std::uint64_t column, double of_spread) {
        if (of_spread > worst.of_spread) worst = {column, of_spread};
    };
    for (std::size_t c = 0; c < width; ++c) {
        if (facts.spread[c] == 0) continue;
        const double mean = all[width + c] / static_cast<double>(rows.book.vertices());
        worse(errors.largest, c, all[c] / facts.spread[c]);
        worse(errors.root_mean_square, c, std::sqrt(mean) / facts.spread[c]);
    }
    return errors;
}

std::optional<ColumnError> find_outlier(const AllRows& rows, const ColumnFacts& facts,
                                        const RowFormat& format) {
    if (!suspicious(facts, format)) return std::nullopt;
    const ColumnError worst = row_errors(rows, facts, format).root_mean_square;
    if (worst.of_spread <= bearable_error(format.precision())) return std::nullopt;
    return worst;
}

double bearable_error(Precision precision) noexcept {
    if (precision == Precision::int8) return 0.1;
    return precision == Precision::int4 ? 0.5 : std::numeric_limits<double>::infinity();
}

std::vector<PrecisionErrors> precision_errors(const AllRows& rows, const std::string& where) {
    const ColumnFacts facts = column_facts(rows, VertexBlocks::by_1024);
    const graph::FeatureView view = rows.parts.front().features();
    std::vector<PrecisionErrors> all;
    for (const Precision precision : {Precision::bfloat16, Precision::int8, Precision::int4}) {
        PrecisionErrors& found = all.emplace_back(PrecisionErrors{.precision = precision});
        std::optional<ColumnSteps> steps;
        try {
            if (quantises(view.info, precision)) steps = column_steps(facts, precision, where);
        } catch (const Error& error) {  // on all ranks
            found.refused = error.what();
            continue;
        }
        const RowFormat format(view.info, view.scale, precision, std::move(steps));
        found.row_bytes = format.row_bytes();
        found.errors = row_errors(rows, facts, format);
    }
    return all;
}

}  // namespace rudder::store
