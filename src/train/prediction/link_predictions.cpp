// The best targets of all vertices on their way to one file.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "comm/service.hpp"
#include "comm/together.hpp"
#include "graph/io/export_table.hpp"
#include "graph/io/npz.hpp"
#include "partition/original_ids.hpp"
#include "rudder/core/error.hpp"
#include "train/evaluation/known_links.hpp"
#include "train/evaluation/pair_tiles.hpp"
#include "train/ground.hpp"
#include "train/input_rows.hpp"
#include "train/learned/learned_table.hpp"

#include "last_rows.hpp"
#include "row_file.hpp"

namespace rudder::train {

namespace {

constexpr comm::Channel link_channel = comm::channel_of(comm::Talk::predictions);
/// Memory of the best targets so far, of vertices that are looked at in one pass over all others.
constexpr std::size_t best_bytes = std::size_t{256} << 20;
/// Vertices whose targets travel in one message.
constexpr std::size_t vertices_per_message = 1024;

struct ScoredTarget {
    VertexId vertex = std::numeric_limits<VertexId>::max();  ///< that: there is none
    float score = -std::numeric_limits<float>::infinity();

    /// Higher scores first, of equals the lower id: an order, so that nothing else shows.
    [[nodiscard]] bool before(const ScoredTarget& other) const noexcept {
        return score != other.score ? score > other.score : vertex < other.vertex;
    }
    [[nodiscard]] bool there() const noexcept {
        return vertex != std::numeric_limits<VertexId>::max();
    }
};

/// The best targets of some own vertices, each a list in order.
class BestTargets {
public:
    BestTargets(VertexId first, std::size_t count, std::size_t top)
        : first_(first), top_(top), targets_(count * top) {}

    [[nodiscard]] VertexId first() const noexcept { return first_; }
    [[nodiscard]] std::size_t count() const noexcept { return targets_.size() / top_; }
    [[nodiscard]] std::span<const ScoredTarget> of(std::size_t i) const noexcept {
        return std::span(targets_).subspan(i * top_, top_);
    }
    void offer(std::size_t i, const ScoredTarget& target) noexcept {
        const std::span<ScoredTarget> list = std::span(targets_).subspan(i * top_, top_);
        if (!target.before(list.back())) return;
        const auto place = std::ranges::find_if(
            list, [&](const ScoredTarget& other) { return target.before(other); });
        std::move_backward(place, list.end() - 1, list.end());
        *place = target;
    }

private:
    VertexId first_;
    std::size_t top_;
    std::vector<ScoredTarget> targets_;
};

/// Looks at all pairs of these vertices with those of a tile. `joined` is 0 before and after.
void offer_tile(PairTiles& tiles, const KnownLinks& known, std::vector<std::uint8_t>& joined,
                BestTargets& best) {
    const VertexId first = tiles.first();
    for (std::size_t i = 0; i < best.count();) {
        const std::size_t begin = i;
        tiles.begin();
        for (; i < best.count() && !tiles.full(); ++i) {
            tiles.add_source(best.first() + i);
            for (std::size_t t = 0; t < tiles.count(); ++t)
                tiles.add(t);
        }
        tiles.score();
        std::size_t pair = 0;
        for (std::size_t s = begin; s < i; ++s) {
            const VertexId source = best.first() + s;
            const auto mark = [&](VertexId v, std::uint8_t value) {
                if (v >= first && v < first + tiles.count())
                    joined[static_cast<std::size_t>(v - first)] = value;
            };
            mark(source, 1);
            known.each(source, [&](VertexId v) { mark(v, 1); });
            for (std::size_t t = 0; t < tiles.count(); ++t, ++pair) {
                if (joined[t] == 0) best.offer(s, {first + t, tiles.score_of(pair)});
            }
            mark(source, 0);
            known.each(source, [&](VertexId v) { mark(v, 0); });
        }
    }
}

/// Looks at all pairs of these vertices with any of `among` that they have no link to.
void find_best(nn::Network& network, const VertexRows& rows, const KnownLinks& known,
               const sample::VertexStretches& among, BestTargets& best) {
    PairTiles tiles(network, rows);
    std::vector<std::uint8_t> joined(tiles.tile_rows(), 0);
    for (const sample::VertexStretches::Stretch& stretch : among.all()) {
        for (VertexId first = stretch.begin; first < stretch.end; first += tiles.tile_rows()) {
            const VertexId left = stretch.end - first;
            tiles.enter(first,
                        static_cast<std::size_t>(std::min<VertexId>(left, tiles.tile_rows())));
            offer_tile(tiles, known, joined, best);
        }
    }
}

/// The receiving end, on rank 0: lists by the global id of their source.
class GatheredTargets {
public:
    GatheredTargets(const std::filesystem::path& folder, VertexId vertices, std::size_t top)
        : vertices_(vertices),
          top_(top),
          file_(folder, vertices, top * (sizeof(VertexId) + sizeof(float))) {}

    /// The first vertex, then the lists of it and those that follow.
    void put(int from, std::span<const std::byte> message) {
        VertexId v = 0;
        const std::size_t each = file_.row(0).size();
        const bool whole = message.size() >= sizeof v && (message.size() - sizeof v) % each == 0;
        if (whole) std::memcpy(&v, message.data(), sizeof v);
        const std::size_t count = whole ? (message.size() - sizeof v) / each : 0;
        if (!whole || v > vertices_ || count > vertices_ - v) {
            throw Error(ErrorKind::rank, "invalid message about predicted links",
                        "rank " + std::to_string(from),
                        "the ranks disagree about the partition; give all of them the same", from);
        }
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(file_.row(v + i).data(), message.data() + sizeof v + i * each, each);
    }
    [[nodiscard]] ScoredTarget of(VertexId source, std::size_t i) const noexcept {
        ScoredTarget target;
        const std::byte* const row = file_.row(source).data();
        std::memcpy(&target.vertex, row + i * sizeof(VertexId), sizeof(VertexId));
        std::memcpy(&target.score, row + top_ * sizeof(VertexId) + i * sizeof(float),
                    sizeof(float));
        return target;
    }
    [[nodiscard]] VertexId vertices() const noexcept { return vertices_; }
    [[nodiscard]] std::size_t top() const noexcept { return top_; }

private:
    VertexId vertices_;
    std::size_t top_;
    RowFile file_;
};

std::vector<std::byte> link_message(const BestTargets& best, std::size_t first, std::size_t count) {
    const VertexId source = best.first() + first;
    std::vector<std::byte> bytes;
    const auto append = [&](const auto& value) {
        const auto raw = std::as_bytes(std::span(&value, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    };
    append(source);
    for (std::size_t i = first; i < first + count; ++i) {
        for (const ScoredTarget& target : best.of(i))
            append(target.vertex);
        for (const ScoredTarget& target : best.of(i))
            append(target.score);
    }
    return bytes;
}

/// The vertices that links go from, or to, by original id, and what they are called.
struct LinkEnd {
    VertexId first = 0;
    VertexId count = 0;
    graph::VertexIds ids;  ///< of these, counted from the first
};

/// All vertices, or those of one type.
LinkEnd link_end(const partition::PartitionedDataset& data, std::optional<std::size_t> type) {
    if (!type) return {0, data.info().vertices, partition::original_vertex_ids(data)};
    const graph::VertexType& of = data.info().types.vertices[*type];
    return {of.first, of.vertices, partition::original_vertex_ids(data, *type)};
}

/// All that was gathered, in the order it is written: by original id, best first.
class PredictedLinks {
public:
    PredictedLinks(const GatheredTargets& gathered, const partition::PartitionedDataset& data,
                   const LinkEnd& from, const LinkEnd& to)
        : gathered_(gathered),
          first_source_(from.first),
          first_target_(to.first),
          originals_(gathered.vertices()),
          order_(gathered.vertices()) {
        for (const partition::Part& part : data.all_parts()) {
            for (LocalId v = 0; v < part.own(); ++v) {
                originals_[part.range().begin + v] = part.original_ids()[v];
                order_[part.original_ids()[v]] = part.range().begin + v;
            }
        }
        for (VertexId v = from.first; v < from.first + from.count; ++v)
            starts_.push_back(starts_.back() + count_of(v));
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return starts_.back(); }
    struct Link {
        VertexId source;  ///< original, counted from the first that may be
        VertexId target;
        float score;
    };
    [[nodiscard]] Link at(std::uint64_t i) const noexcept {
        const auto after = std::ranges::upper_bound(starts_, i);
        const auto source = static_cast<VertexId>(after - starts_.begin()) - 1;
        const ScoredTarget target = gathered_.of(order_[first_source_ + source],
                                                 static_cast<std::size_t>(i - starts_[source]));
        return {source, originals_[target.vertex] - first_target_, target.score};
    }

private:
    [[nodiscard]] std::uint64_t count_of(VertexId original) const noexcept {
        std::size_t count = 0;
        while (count < gathered_.top() && gathered_.of(order_[original], count).there())
            ++count;
        return count;
    }

    const GatheredTargets& gathered_;
    VertexId first_source_;  ///< original ids
    VertexId first_target_;
    std::vector<VertexId> originals_;  ///< by global id
    std::vector<VertexId> order_;      ///< global ids by original
    std::vector<std::uint64_t> starts_{0};
};

void write_link_archive(const std::filesystem::path& file, const PredictedLinks& links,
                        const graph::VertexIds& sources, const graph::VertexIds& targets) {
    graph::NpzWriter writer(file);
    const auto add_numbers = [&](const char* name, ElementType type, auto value) {
        writer.add(name, {type, false, 0, {links.size()}},
                   [&links, value, next = std::uint64_t{0}](std::vector<std::byte>& block) mutable {
                       constexpr std::uint64_t at_once = 1 << 16;
                       const std::uint64_t end = std::min(links.size(), next + at_once);
                       block.clear();
                       for (; next < end; ++next) {
                           const auto number = value(links.at(next));
                           const auto raw = std::as_bytes(std::span(&number, 1));
                           block.insert(block.end(), raw.begin(), raw.end());
                       }
                       return !block.empty();
                   });
    };
    const auto add_ids = [&](const char* name, const graph::VertexIds& ids,
                             VertexId PredictedLinks::Link::*member) {
        if (ids.kind() == graph::IdKind::text) {
            writer.add_texts(name, links.size(), [&links, &ids, member](std::uint64_t i) {
                return ids.text(links.at(i).*member);
            });
            return;
        }
        add_numbers(name, ElementType::i64, [&ids, member](const PredictedLinks::Link& link) {
            const VertexId v = link.*member;
            return ids.kind() ? ids.numbers()[v] : static_cast<std::int64_t>(v);
        });
    };
    add_ids("source", sources, &PredictedLinks::Link::source);
    add_ids("target", targets, &PredictedLinks::Link::target);
    add_numbers("score", ElementType::f32,
                [](const PredictedLinks::Link& link) { return link.score; });
    writer.finish();
}

void write_links(const std::filesystem::path& file, graph::OutputFormat format,
                 const PredictedLinks& links, const graph::VertexIds& sources,
                 const graph::VertexIds& targets) {
    if (format == graph::OutputFormat::npz)
        return write_link_archive(file, links, sources, targets);
    const auto writer = graph::make_table_writer(format, file,
                                                 {graph::id_column("source", sources),
                                                  graph::id_column("target", targets),
                                                  {"score", graph::CellKind::real}});
    for (std::uint64_t i = 0; i < links.size(); ++i) {
        const PredictedLinks::Link link = links.at(i);
        graph::put_id(*writer, sources, link.source);
        graph::put_id(*writer, targets, link.target);
        writer->real(link.score);
        writer->end_row();
    }
    writer->finish();
}

/// Which sources are ranked for, and how many targets each of them keeps.
struct RankedSources {
    partition::PartitionBook::Range range;
    std::size_t top = 0;
};

/// Hands over the best targets of all sources, as many of them at a time as memory is set aside
/// for.
template <class Send>
void rank_own(nn::Network& network, const VertexRows& rows, const KnownLinks& known,
              const sample::VertexStretches& among, const RankedSources& sources,
              const Send& send) {
    const std::size_t at_once =
        std::max<std::size_t>(1, best_bytes / (sources.top * sizeof(ScoredTarget)));
    for (VertexId at = sources.range.begin; at < sources.range.end; at += at_once) {
        BestTargets best(
            at, static_cast<std::size_t>(std::min<VertexId>(at_once, sources.range.end - at)),
            sources.top);
        find_best(network, rows, known, among, best);
        for (std::size_t i = 0; i < best.count(); i += vertices_per_message) {
            send(link_message(best, i, std::min(vertices_per_message, best.count() - i)));
        }
    }
}

/// This rank's vertices that links may go from: all, or those of one type.
std::vector<partition::PartitionBook::Range> sources_of(const partition::PartitionedDataset& data,
                                                        const LinkGround& links,
                                                        std::span<const partition::Part> own,
                                                        const RankRanges& ranges) {
    if (!links.types) return {ranges.here()};
    std::vector<partition::PartitionBook::Range> sources;
    for (const partition::Part& part : own)
        sources.push_back(data.types().range(part.id(), links.types->from));
    return sources;
}

}  // namespace

InferenceResult write_link_predictions(const comm::Communicator& comm,
                                       const partition::PartitionedDataset& data,
                                       const SavedNetwork& saved,
                                       const LinkPredictionOptions& options) {
    const graph::OutputFormat format = graph::output_format(options.output);
    const bool writes = comm.rank() == 0;
    std::optional<Staging> staging;
    std::optional<GatheredTargets> gathered;
    comm::do_together(comm, [&] {
        if (!writes) return;
        staging.emplace(Staging::file(options.output, options.existing));
        gathered.emplace(std::filesystem::absolute(options.output).parent_path(),
                         data.info().vertices, options.top);
    });
    const comm::Communicator line = comm.duplicate();
    comm::Service service(line, link_channel,
                          [&](int from, std::span<const std::byte> lists,
                              comm::Service::Answer& /*nothing*/) { gathered->put(from, lists); });
    const std::vector<partition::Part> parts = open_parts(comm, data, options.inference.verify);
    store::FeatureStore store(comm, data, store_options(saved, data, options.inference.match));
    place_learned(comm, data, store, saved.rows, saved.checkpoint.string());
    TrainOptions train = saved.train;
    train.links.negatives_from.clear();  // nothing is ranked among given pairs here
    const auto links = divide(comm, data, parts, train);
    const auto network = network_of(saved, sparse_inputs(store.format()));
    InferenceResult result;
    const Duration start = Executor::current().now();
    const Array<float> own =
        last_rows(comm, data, saved, parts, *network, store, options.inference, result);
    const RankRanges ranges = ranges_of(comm, data);
    const comm::Communicator talk = comm.duplicate();
    VertexRows rows(talk, ranges, own.span(), network->layer_outputs(network->layers() - 1));
    const KnownLinks known(parts, links->divided.links, links->symmetric, links->edge_types());
    const auto send = [&](std::vector<std::byte>&& message) {
        if (writes) {
            gathered->put(0, message);
        } else {
            service.ask(0, comm::Kind::evaluation, std::move(message), {}).wait();
        }
    };
    for (const partition::PartitionBook::Range& range : sources_of(data, *links, parts, ranges))
        rank_own(*network, rows, known, links->targets, {range, options.top}, send);
    result.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    rows.stop();
    comm.barrier();
    service.stop();
    store.stop();
    const std::optional<TypedLinks>& types = links->types;
    result.written =
        types ? data.info().types.vertices[types->from].vertices : data.info().vertices;
    comm::do_together(comm, [&] {
        if (!writes) return;
        const LinkEnd from = link_end(data, types ? std::optional(types->from) : std::nullopt);
        const bool same = !types || types->from == types->to;
        const LinkEnd other = same ? LinkEnd{} : link_end(data, types->to);
        const LinkEnd& to = same ? from : other;
        write_links(staging->path(), format, PredictedLinks(*gathered, data, from, to), from.ids,
                    to.ids);
        staging->commit();
    });
    return result;
}

}  // namespace rudder::train
