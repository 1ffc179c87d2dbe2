// Rows of this host: the gather beside a plain indexed copy with prefetch, the pull around it, and
// the speed of each format. Both sides of a ratio take turns; each is a median.
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "comm/figures.hpp"
#include "rudder/core/parallel.hpp"
#include "store/feature_store.hpp"
#include "store/row_kernels.hpp"

#include "store_data.hpp"

namespace {

using namespace rudder;
using bench::bench_width;
using bench::median;
using bench::seconds;

constexpr VertexId table_rows = 600'000;  // 307 MB: far beyond the caches
constexpr std::size_t batch_rows = 60'000;
constexpr std::size_t row_bytes = bench_width * sizeof(float);
constexpr int rounds = 21;

/// Runs both in turn and gives the medians of their seconds and of the ratio first / second.
struct Compared {
    double first;
    double second;
    double ratio;
};
Compared take_turns(const std::function<void(int)>& first, const std::function<void(int)>& second) {
    std::vector<double> a;
    std::vector<double> b;
    std::vector<double> ratios;
    for (int round = -2; round < rounds; ++round) {
        double start = seconds();
        first(round + 2);
        const double one = seconds() - start;
        start = seconds();
        second(round + 2);
        const double two = seconds() - start;
        if (round < 0) continue;
        a.push_back(one);
        b.push_back(two);
        ratios.push_back(one / two);
    }
    return {median(a), median(b), median(ratios)};
}

/// The plain loop; `ahead` rows are asked for before they are copied.
template <std::size_t ahead>
void plain_copy(const float* table, std::span<const VertexId> rows, float* out) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + ahead < rows.size()) {
            const float* next = table + rows[i + ahead] * bench_width;
            for (std::size_t at = 0; at < bench_width; at += 16)
                __builtin_prefetch(next + at);
        }
        std::memcpy(out + i * bench_width, table + rows[i] * bench_width, row_bytes);
    }
}

void report_ratio(const std::string& what, const Compared& times, double target) {
    const double percent = 100 / times.ratio;
    const double gigabytes = static_cast<double>(batch_rows * row_bytes) / 1e9;
    bench::report(
        what, percent, "percent", fmt::format(">= {:.0f}", target), percent >= target,
        fmt::format("ours {:.1f} GB/s, plain {:.1f} GB/s, {} random rows of {} bytes",
                    gigabytes / times.first, gigabytes / times.second, batch_rows, row_bytes));
}

/// Batches of random rows, one per round.
std::vector<std::vector<VertexId>> batches() {
    std::vector<std::vector<VertexId>> all;
    for (int round = 0; round < rounds + 2; ++round)
        all.push_back(
            bench::random_vertices(static_cast<std::uint64_t>(round), batch_rows, 0, table_rows));
    return all;
}

void gather_figures(const store::FeatureStore& store,
                    const std::vector<std::vector<VertexId>>& ids) {
    auto table = Array<float>::uninitialised(table_rows * bench_width);
    std::fill(table.begin(), table.end(), 1.0F);
    std::vector<float> out(batch_rows * bench_width);
    std::vector<const std::byte*> from(batch_rows);
    std::vector<float*> to(batch_rows);
    set_thread_count(1);
    const auto plain = [&](int round) {
        plain_copy<8>(table.data(), ids[static_cast<std::size_t>(round)], out.data());
    };
    const auto kernel = [&](int round) {
        const auto& rows = ids[static_cast<std::size_t>(round)];
        for (std::size_t i = 0; i < batch_rows; ++i) {
            from[i] = reinterpret_cast<const std::byte*>(table.data() + rows[i] * bench_width);
            to[i] = out.data() + i * bench_width;
        }
        store.format().load_rows(from, rows, to.data());
    };
    report_ratio("gather kernel, 1 thread, of a plain indexed copy", take_turns(kernel, plain), 85);

    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        const auto pull = [&](int round) {
            const store::RowsWanted wanted{ids[static_cast<std::size_t>(round)], out};
            store.pull({&wanted, 1}).wait();
        };
        const auto plain_threads = [&](int round) {
            const std::span<const VertexId> rows(ids[static_cast<std::size_t>(round)]);
            parallel_chunks(batch_rows, 512, [&](const Chunk& chunk) {
                plain_copy<8>(table.data(), rows.subspan(chunk.begin, chunk.end - chunk.begin),
                              out.data() + chunk.begin * bench_width);
            });
        };
        report_ratio(fmt::format("pull of own-host rows, {} thread(s), of a plain copy", threads),
                     take_turns(pull, plain_threads), 85);
    }
}

/// Rows in the cache: what the instructions themselves take.
void decode_figures() {
    constexpr std::size_t count = 256;
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16,
                                   ElementType::i8, ElementType::u8}) {
        for (const bool normalise : {false, true}) {
            const std::vector<float> scale(bench_width, 0.5F);
            const store::RowRecipe recipe{
                .width = bench_width, .type = type, .normalise = normalise, .scale = scale.data()};
            const std::size_t bytes = bench_width * element_size(type);
            std::vector<std::byte> rows(count * bytes, std::byte{17});
            std::vector<float> out(count * bench_width);
            std::vector<const std::byte*> from;
            std::vector<float*> to;
            for (std::size_t i = 0; i < count; ++i) {
                from.push_back(rows.data() + i * bytes);
                to.push_back(out.data() + i * bench_width);
            }
            std::string line =
                fmt::format("decode {:<9}{:<12}", to_string(type), normalise ? "normalised" : "");
            for (const std::string_view set : store::row_instruction_sets()) {
                const store::RowLoader load = store::row_loader(recipe, set);
                std::vector<double> times;
                for (int round = 0; round < 200; ++round) {
                    const double start = seconds();
                    for (int i = 0; i < 5; ++i)
                        load(recipe, from, to.data());
                    times.push_back((seconds() - start) / 5);
                }
                line += fmt::format("  {} {:6.1f} GB/s", set,
                                    static_cast<double>(count * row_bytes) / median(times) / 1e9);
            }
            fmt::print("{}  (of floats written)\n", line);
        }
    }
}

/// What rows of each precision take to write for others, to read from the wire, and to read where
/// they are one's own: random rows, far beyond the caches (wire rows of int4 fit the largest).
void precision_figures(const partition::PartitionedDataset& data,
                       std::span<const std::vector<VertexId>> ids) {
    using store::Precision;
    set_thread_count(1);
    std::vector<std::vector<const std::byte*>> stored;
    const auto parts = data.all_parts();
    for (const auto& batch : ids) {
        auto& addresses = stored.emplace_back();
        for (const VertexId v : batch) {
            const partition::Part& part = parts[data.book().owner(v)];
            addresses.push_back(part.features().row(v - part.range().begin).data());
        }
    }
    std::vector<float> out(batch_rows * bench_width);
    std::vector<float*> to(batch_rows);
    for (std::size_t i = 0; i < batch_rows; ++i)
        to[i] = out.data() + i * bench_width;
    for (const Precision precision :
         {Precision::float32, Precision::bfloat16, Precision::int8, Precision::int4}) {
        const double start = seconds();
        store::FeatureStore store(comm::Communicator::local(), data, {.precision = precision});
        const double opened = seconds() - start;
        const store::RowFormat& format = store.format();
        std::vector<std::byte> wire(table_rows * format.row_bytes(), std::byte{1});
        std::vector<std::byte> message(batch_rows * format.row_bytes());
        std::array<std::vector<double>, 3> times;
        for (std::size_t round = 0; round < ids.size(); ++round) {
            std::vector<const std::byte*> from;
            for (const VertexId v : ids[round])
                from.push_back(wire.data() + v * format.row_bytes());
            const auto time = [](std::vector<double>& list, const auto& work) {
                const double before = seconds();
                work();
                list.push_back((seconds() - before) * 1e9 / batch_rows);
            };
            time(times[0], [&] { format.encode_rows(stored[round], ids[round], message.data()); });
            time(times[1], [&] { format.decode_rows(from, ids[round], to.data()); });
            time(times[2], [&] { format.load_rows(stored[round], ids[round], to.data()); });
        }
        fmt::print(
            "{:<9} rows of {:3} bytes: write {:6.1f}, decode {:6.1f}, own {:6.1f} ns per row; "
            "opened in {:.3f} s\n",
            to_string(precision), format.row_bytes(), median(times[0]), median(times[1]),
            median(times[2]), opened);
        store.stop();
    }
}

}  // namespace

int main() {
    std::string folder = (std::filesystem::temp_directory_path() / "rudder-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return 1;
    bench::make_store_data(folder, table_rows);
    {
        const partition::PartitionedDataset data(std::filesystem::path(folder) / "parts");
        store::FeatureStore store(comm::Communicator::local(), data, {});
        const auto ids = batches();
        gather_figures(store, ids);
        store.stop();
        precision_figures(data, ids);
    }
    std::filesystem::remove_all(folder);
    decode_figures();
    return 0;
}
