#include "sample/bed.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/dataset_writer.hpp"
#include "partition/partition.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {

namespace {

std::vector<graph::Edge> edges_of(const BedOptions& options, Draws& draws) {
    std::vector<graph::Edge> edges;
    const VertexId n = options.vertices;
    for (VertexId i = 0; i < n * options.degree / 2; ++i) {
        const VertexId source = draws.below(n);
        const VertexId target = draws.below(3) == 0 ? draws.below(draws.below(n) / 8 + 1)
                                                    : (source + 1 + draws.below(20)) % n;
        if (source % 17 != 16 && target % 17 != 16) edges.push_back({source, target});
    }
    return edges;
}

PartId part_of(const BedOptions& options, VertexId v, Draws& draws) {
    if (v < options.parts) return static_cast<PartId>(v);  // none is empty
    if (!options.uneven) return static_cast<PartId>(draws.below(options.parts));
    PartId part = 0;
    while (part + 1 < options.parts && draws.below(2) == 0)
        ++part;
    return part;
}

void write_labelled(graph::DatasetWriter& writer, const BedOptions& options,
                    std::span<const graph::Edge> edges) {
    const RandomStream stream({.purpose = Purpose::test, .seed = options.seed});
    Draws draws(stream, 9);
    std::vector<std::int32_t> classes;
    std::vector<graph::Role> roles;
    for (std::size_t e = 0; e < edges.size(); ++e) {
        classes.push_back(static_cast<std::int32_t>(draws.below(4)) - 1);
        roles.push_back(static_cast<graph::Role>(draws.below(4)));
    }
    const auto built = graph::build_topology(graph::EdgeSpan(options.vertices, edges),
                                             {.rows = true}, {.keep_self_loops = true});
    writer.topology(built, true);
    writer.edge_targets({.kind = graph::TargetKind::classes, .count = 3}, {classes, {}, {}},
                        built.origin->span());
    writer.edge_split(roles, built.origin->span());
}

void write_edges(graph::DatasetWriter& writer, const BedOptions& options,
                 std::span<const graph::Edge> edges) {
    const graph::EdgeSpan source(options.vertices, edges);
    if (options.edge_targets) return write_labelled(writer, options, edges);
    if (!options.carried && options.edge_width == 0)
        return writer.topology(graph::build_topology(source, {}), true);
    const RandomStream stream({.purpose = Purpose::test, .seed = options.seed});
    Draws draws(stream, 8);
    std::vector<float> weights;
    std::vector<std::int64_t> times;
    for (std::size_t e = 0; e < edges.size(); ++e) {
        weights.push_back(static_cast<float>(draws.below(6)) / 2);
        times.push_back(static_cast<std::int64_t>(draws.below(50)));
    }
    const bool rows = options.edge_width > 0;
    const auto built =
        options.carried
            ? graph::build_topology(source, {.weight = weights, .time = times, .rows = rows}, {})
            : graph::build_topology(source, {.rows = rows}, {});
    writer.topology(built, true);
    if (rows) {
        std::vector<std::uint8_t> features;
        for (std::size_t i = 0; i < edges.size() * options.edge_width; ++i)
            features.push_back(static_cast<std::uint8_t>(draws.below(256)));
        writer.edge_features({{.width = options.edge_width, .type = ElementType::u8},
                              edges.size(),
                              std::as_bytes(std::span(features)).data(),
                              {}},
                             built.origin->span(), "test", Progress::none());
    }
    if (!options.carried) return;
    std::vector<std::int64_t> of_vertices;
    for (VertexId v = 0; v < options.vertices; ++v)
        of_vertices.push_back(v % 13 == 12 ? graph::no_time
                                           : static_cast<std::int64_t>(draws.below(60)));
    writer.vertex_times(of_vertices);
}

}  // namespace

Bed::Bed(const BedOptions& options) {
    const RandomStream stream({.purpose = Purpose::test, .seed = options.seed});
    Draws draws(stream, 7);
    const VertexId n = options.vertices;
    graph::DatasetWriter writer(folder_ / "data", Existing::refuse);
    const std::vector<graph::Edge> edges = edges_of(options, draws);
    write_edges(writer, options, edges);
    std::vector<std::int32_t> classes(n);
    std::vector<graph::Role> roles(n, graph::Role::none);
    std::vector<PartId> assignment(n);
    graph::TargetInfo targets{
        .kind = graph::TargetKind::classes, .count = 3, .labelled = 0, .names = {}};
    for (VertexId v = 0; v < n; ++v) {
        assignment[v] = part_of(options, v, draws);
        classes[v] = v % 5 == 4 ? graph::no_label : static_cast<std::int32_t>(v % 3);
        targets.labelled += classes[v] == graph::no_label ? 0U : 1U;
        const bool eligible = !options.uneven || assignment[v] != options.parts - 1;
        if (v % options.train_every == 0 && eligible) roles[v] = graph::Role::train;
    }
    writer.targets(targets, {classes, {}, {}});
    writer.split(roles);
    writer.commit({R"({"verb": "test"})", ""});
    partition::PartitionOptions partition;
    partition.parts = options.parts;
    partition.method = "ldg";
    partition.cluster_size = options.cluster_size;
    partition::partition_dataset(graph::Dataset(folder_ / "data"), assignment, folder(), partition,
                                 Existing::refuse);
    data_ = std::make_unique<partition::PartitionedDataset>(folder());
}

std::vector<std::vector<VertexId>> global_rows(const partition::PartitionedDataset& data) {
    std::vector<std::vector<VertexId>> rows;
    for (const partition::Part& part : data.all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v) {
            auto& row = rows.emplace_back();
            for (const LocalId u : part.row(v))
                row.push_back(part.global(u));
        }
    }
    return rows;
}

std::vector<VertexId> plain_draw(const std::vector<VertexId>& row, const StreamKey& key,
                                 VertexId vertex, std::int32_t fanout, bool with_replacement) {
    const std::uint64_t d = row.size();
    const auto k = static_cast<std::uint64_t>(fanout);
    if (fanout < 0 || d == 0 || (!with_replacement && d <= k)) return row;
    const RandomStream stream(key);
    Draws draws(stream, vertex);
    std::vector<VertexId> drawn;
    std::set<std::uint64_t> chosen;
    for (std::uint64_t j = 0; j < k; ++j) {
        if (with_replacement) {
            drawn.push_back(row[draws.next32() * d >> 32]);
            continue;
        }
        std::uint64_t t = draws.next32() * (d - k + j + 1) >> 32;
        if (!chosen.insert(t).second) chosen.insert(t = d - k + j);
        drawn.push_back(row[t]);
    }
    return drawn;
}

std::vector<VertexId> shared_draw(const std::vector<VertexId>& row, const StreamKey& key,
                                  std::int32_t fanout, std::uint64_t redraw) {
    if (fanout < 0 || row.size() <= static_cast<std::size_t>(fanout)) return row;
    const RandomStream stream({.purpose = key.purpose, .seed = key.seed, .layer = key.layer});
    std::vector<std::pair<std::uint32_t, std::size_t>> numbers;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::uint32_t h = static_cast<std::uint32_t>(row[i]) * 0x9E3779B1U;
        const std::uint64_t phase = std::uint64_t{h} * redraw >> 32;
        const auto keys = stream.block(row[i] >> 32, (key.step + phase) / redraw);
        std::uint32_t x = h ^ keys[0];
        x ^= x >> 16;
        x = x * 0x21F0AAADU + keys[1];
        x ^= x >> 15;
        x *= 0x735A2D97U;
        numbers.emplace_back(x ^ x >> 15, i);
    }
    std::ranges::sort(numbers);
    std::set<std::size_t> kept;
    for (std::int32_t j = 0; j < fanout; ++j)
        kept.insert(numbers[static_cast<std::size_t>(j)].second);
    std::vector<VertexId> drawn;
    for (const std::size_t i : kept)
        drawn.push_back(row[i]);
    return drawn;
}

sample::Batch plain_sample(const std::vector<std::vector<VertexId>>& rows,
                           const sample::SamplerOptions& options, const sample::BatchKey& key,
                           const std::vector<VertexId>& seeds) {
    sample::Batch batch;
    batch.key = key;
    batch.seeds = static_cast<std::uint32_t>(seeds.size());
    batch.vertices.assign(seeds.begin(), seeds.end());
    std::unordered_map<VertexId, LocalId> place;
    for (std::size_t i = 0; i < seeds.size(); ++i)
        place[seeds[i]] = static_cast<LocalId>(i);
    for (std::size_t layer = 0; layer < options.fanout.size(); ++layer) {
        sample::Block block;
        block.destinations = static_cast<std::uint32_t>(batch.vertices.size());
        block.offsets.push_back(0);
        const StreamKey stream{options.purpose, options.seed, key.epoch, key.step,
                               static_cast<std::uint32_t>(layer)};
        const std::int32_t fanout = options.fanout[options.fanout.size() - 1 - layer];
        for (std::uint32_t i = 0; i < block.destinations; ++i) {
            const VertexId v = batch.vertices[i];
            const std::vector<VertexId> drawn =
                options.sampler == sample::Sampler::shared
                    ? shared_draw(rows[v], stream, fanout, options.redraw)
                    : plain_draw(rows[v], stream, v, fanout, options.with_replacement);
            for (const VertexId u : drawn) {
                const auto [entry, is_new] =
                    place.emplace(u, static_cast<LocalId>(batch.vertices.size()));
                if (is_new) batch.vertices.push_back(u);
                block.neighbours.push_back(entry->second);
            }
            block.offsets.push_back(block.edges());
        }
        block.sources = static_cast<std::uint32_t>(batch.vertices.size());
        batch.blocks.insert(batch.blocks.begin(), std::move(block));
    }
    return batch;
}

bool equal(const sample::Batch& a, const sample::Batch& b) {
    const auto same = [](const sample::Block& x, const sample::Block& y) {
        return x.destinations == y.destinations && x.sources == y.sources &&
               x.offsets == y.offsets && x.neighbours == y.neighbours && x.shares == y.shares &&
               x.features == y.features;
    };
    return a.subgraphs == b.subgraphs && a.key == b.key && a.seeds == b.seeds &&
           a.vertices == b.vertices && std::ranges::equal(a.blocks, b.blocks, same);
}

std::uint64_t digest(const sample::Batch& batch) {
    ChecksumStream sum;
    const auto add = [&](const auto& values) { sum.update(std::as_bytes(std::span(values))); };
    const std::array<std::uint64_t, 4> head{batch.key.epoch, batch.key.step, batch.key.part,
                                            batch.seeds};
    add(head);
    add(batch.vertices);
    add(batch.subgraphs);
    for (const sample::Block& block : batch.blocks) {
        const std::array<std::uint32_t, 2> sizes{block.destinations, block.sources};
        add(sizes);
        add(block.offsets);
        add(block.neighbours);
        add(block.shares);
        add(block.features);
    }
    return sum.finish();
}

}  // namespace rudder::test
