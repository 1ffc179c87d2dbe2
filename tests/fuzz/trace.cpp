// Traces: what was read, from a folder or an archive (the first byte says which), written and read
// again, is equal.
#include "rudder/buffer/trace.hpp"

#include "buffer/trace_writer.hpp"
#include "graph/io/npz.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

std::vector<VertexId> step_of(const buffer::HostTrace& host, std::uint64_t step) {
    std::vector<buffer::RowKey> rows;
    host.step(step, rows);
    std::vector<VertexId> ids;
    for (const buffer::RowKey row : rows)
        ids.push_back(host.vertex(row));
    return ids;
}

void write_again(const buffer::HostTrace& host, const std::filesystem::path& trace) {
    const buffer::PolicyFacts facts = host.facts();
    std::vector<VertexId> halo;
    for (std::uint64_t row = 0; row < host.halo(); ++row)
        halo.push_back(host.vertex(static_cast<buffer::RowKey>(row)));
    buffer::TraceWriter writer(trace, host.header(), halo, facts.halo_degree, facts.inclusion);
    for (std::uint64_t s = 0; s < host.steps(); ++s) {
        if (facts.listed.empty()) {
            writer.step(step_of(host, s));
        } else {
            writer.step(step_of(host, s), facts.listed[s] != 0);
        }
    }
    writer.finish();
}

void expect_same(const buffer::HostTrace& a, const buffer::HostTrace& b) {
    FUZZ_EXPECT(a.header().host == b.header().host);
    FUZZ_EXPECT(a.header().vertices == b.header().vertices);
    FUZZ_EXPECT(a.header().capacity == b.header().capacity);
    FUZZ_EXPECT(a.header().policy == b.header().policy);
    FUZZ_EXPECT(a.steps() == b.steps() && a.needed() == b.needed());
    FUZZ_EXPECT(a.halo() == b.halo() && a.distinct() == b.distinct());
    FUZZ_EXPECT(same_bits(a.facts().halo_degree, b.facts().halo_degree));
    FUZZ_EXPECT(same_bits(a.facts().inclusion, b.facts().inclusion));
    for (std::uint64_t s = 0; s < a.steps(); ++s)
        FUZZ_EXPECT(step_of(a, s) == step_of(b, s));
}

buffer::TraceHeader some_header() {
    buffer::TraceHeader header;
    header.vertices = 30;
    header.steps_per_epoch = 2;
    header.capacity = 3;
    header.policy = "lru";
    header.precision = "float32";
    header.graph = "0123456789abcdef";
    return header;
}

}  // namespace

void check(std::string_view bytes) {
    if (bytes.empty()) return;
    std::filesystem::path path;
    if (bytes[0] == 'n') {
        path = put("trace.npz", bytes.substr(1));
    } else {
        path = unbundle(bytes.substr(1), "trace");
        for (const auto& entry : std::filesystem::directory_iterator(path))
            seal_arrays(entry.path());
    }
    const buffer::Trace read = buffer::read_trace(path);
    if (read.size() > 4) return;
    drop("again");
    std::filesystem::create_directories(scratch() / "again");
    for (const auto& host : read) {
        if (host->steps() > 1000 || host->header().vertices > std::uint64_t{1} << 40U) return;
        write_again(*host, scratch() / "again");
    }
    const buffer::Trace again = buffer::read_trace(scratch() / "again");
    FUZZ_EXPECT(again.size() == read.size());
    for (std::size_t i = 0; i < read.size(); ++i)
        expect_same(*read[i], *again[i]);
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    const std::vector<VertexId> halo{3, 7, 20};
    const std::vector<std::uint32_t> degree{1, 2, 3};
    const std::vector<double> inclusion{0.5, 0.25, 1};
    for (const bool whole : {false, true}) {
        drop("made");
        {
            buffer::TraceWriter writer(scratch() / "made", some_header(), halo,
                                       whole ? std::span(degree) : std::span<const std::uint32_t>(),
                                       whole ? std::span(inclusion) : std::span<const double>());
            for (const auto& ids : std::vector<std::vector<VertexId>>{{3, 9}, {20, 7}, {}}) {
                if (whole) {
                    writer.step(ids, ids.empty());
                } else {
                    writer.step(ids);
                }
            }
            writer.finish();
        }
        all.push_back("f" + bundle(scratch() / "made"));
    }
    graph::NpzWriter writer(scratch() / "made.npz");
    writer.add<std::int64_t>("num_nodes", std::vector<std::int64_t>{30}, {});
    writer.add<std::int64_t>("halo_id", std::vector<std::int64_t>{3, 7, 20}, {3});
    writer.add<std::int64_t>("offset", std::vector<std::int64_t>{0, 2, 3}, {3});
    writer.add<std::int32_t>("id", std::vector<std::int32_t>{3, 9, 20}, {3});
    writer.finish();
    all.push_back("n" + bytes_of(scratch() / "made.npz"));
    return all;
}

}  // namespace rudder::fuzz
