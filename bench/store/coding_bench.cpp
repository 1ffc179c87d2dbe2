// Short questions and coded rows: the time to pack and unpack ids, and of data sets the length of
// coded rows, the speed of coding them, and the rate of a link below which that pays.
//
//   bench_store_coding [DATASET...]
#include <algorithm>
#include <filesystem>

#include "comm/figures.hpp"
#include "core/byte_planes.hpp"
#include "core/packed_ids.hpp"
#include "rudder/graph/dataset.hpp"
#include "store/row_format.hpp"

#include "store_data.hpp"

namespace {

using namespace rudder;
using bench::median;
using bench::seconds;

constexpr int rounds = 21;
constexpr std::size_t message_bytes = std::size_t{256} << 10;

/// The median of the seconds that each of both takes, in turns.
template <class First, class Second>
std::pair<double, double> time_both(First&& first, Second&& second) {
    std::vector<double> a;
    std::vector<double> b;
    for (int round = -2; round < rounds; ++round) {
        const double start = seconds();
        first();
        const double middle = seconds();
        second();
        const double end = seconds();
        if (round < 0) continue;
        a.push_back(middle - start);
        b.push_back(end - middle);
    }
    return {median(a), median(b)};
}

void pack_and_unpack(VertexId one_in) {
    constexpr std::size_t count = 100'000;
    std::vector<VertexId> ids = bench::random_vertices(one_in, count, 0, count * one_in);
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    RawVector<std::byte> bytes;
    RawVector<VertexId> back;
    const auto [pack, unpack] = time_both(
        [&] {
            bytes.clear();
            pack_ids(ids, 0, bytes);
        },
        [&] { RUDDER_CHECK(unpack_ids(bytes, 0, count * one_in, back)); });
    const auto each = static_cast<double>(ids.size());
    const std::string details = fmt::format("one id in {}: {:.2f} bytes each", one_in,
                                            static_cast<double>(bytes.size()) / each);
    bench::report("packing an id", pack / each * 1e9, "ns", "<= 2", pack / each <= 2e-9, details);
    bench::report("unpacking an id", unpack / each * 1e9, "ns", "<= 2", unpack / each <= 2e-9,
                  details);
}

/// Messages of random rows, in ascending order, as they travel.
std::vector<std::vector<std::byte>> row_messages(const graph::Dataset& data,
                                                 const store::RowFormat& format) {
    constexpr std::uint64_t messages = 16;
    const graph::FeatureView view = data.features();
    const std::size_t rows = std::max<std::size_t>(1, message_bytes / format.row_bytes());
    std::vector<std::vector<std::byte>> all;
    for (std::uint64_t m = 0; m < messages; ++m) {
        auto ids = bench::random_vertices(m, rows, 0, view.rows);
        std::ranges::sort(ids);
        std::vector<const std::byte*> from;
        for (const VertexId v : ids)
            from.push_back(view.row(v).data());
        format.encode_rows(from, ids, all.emplace_back(rows * format.row_bytes()).data());
    }
    return all;
}

void code_rows(const std::filesystem::path& folder, store::Precision precision) {
    const graph::Dataset data(folder);
    const store::RowFormat format(data.info().features, data.features().scale, precision);
    const auto messages = row_messages(data, format);
    const std::size_t width = format.row_bytes() / format.width();
    double plain = 0;
    double coded = 0;
    double encoding = 0;
    double decoding = 0;
    for (const auto& message : messages) {
        RawVector<std::byte> bytes;
        const std::uint32_t shrunk = encode_planes(message, width, all_planes, bytes);
        std::vector<std::byte> back(message.size());
        const auto [encode, decode] = time_both(
            [&] {
                bytes.clear();
                static_cast<void>(encode_planes(message, width, shrunk, bytes));
            },
            [&] { RUDDER_CHECK(decode_planes(bytes, back) && back == message); });
        plain += static_cast<double>(message.size());
        coded += static_cast<double>(std::min(bytes.size(), message.size()));
        encoding += encode;
        decoding += decode;
    }
    fmt::print(
        "{:<12} {:<9} {:>5} B  ratio {:.3f}  coding {:.2f} GB/s  decoding {:.2f} GB/s  pays below "
        "{:.0f} Mbit/s\n",
        folder.filename().string(), to_string(precision), format.row_bytes(), coded / plain,
        plain / encoding / 1e9, plain / decoding / 1e9,
        (plain - coded) * 8e-6 / (encoding + decoding));
}

}  // namespace

int main(int argc, char** argv) {
    for (const VertexId one_in : {2U, 10U, 100U, 1000U})
        pack_and_unpack(one_in);
    for (int i = 1; i < argc; ++i) {
        for (const auto precision :
             {store::Precision::native, store::Precision::float32, store::Precision::bfloat16})
            code_rows(argv[i], precision);
    }
    return 0;
}
