#include "link_evaluator.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/span.hpp"
#include "train/input_rows.hpp"

#include "edge_scores.hpp"

namespace rudder::train {

namespace {

/// Links whose ids are made global at a time.
constexpr std::size_t ranked_at_once = std::size_t{1} << 20;

ExactEvaluator::Options exact_options(const LinkEvaluator::Options& options,
                                      const sample::OwnLinks& links) {
    ExactEvaluator::Options exact = options.exact;
    exact.messages = links.messages;
    return exact;
}

nn::NetworkOptions twin_options(nn::NetworkOptions network, const store::FeatureStore& store) {
    network.sparse = sparse_inputs(store.format());
    return network;
}

}  // namespace

struct LinkEvaluator::State {
    comm::Communicator comm;  ///< our own
    std::span<const partition::Part> own;
    const sample::OwnLinks& links;
    RankingOptions ranking;
    const sample::GivenNegatives* given;
    EdgeScoring scoring;
    RankRanges ranges;
    const sample::VertexStretches& among;
    KnownLinks known;
    ExactEvaluator exact;
    std::unique_ptr<nn::Network> twin;  ///< for what is started
    std::size_t columns;
    Scores scores;     ///< of what is started
    PartScores edges;  ///< over all ranks, where edges are scored

    State(const comm::Communicator& c, const partition::PartitionedDataset& data,
          std::span<const partition::Part> parts, const sample::OwnLinks& l,
          const store::FeatureStore& store, const Options& options)
        : comm(c.duplicate()),
          own(parts),
          links(l),
          ranking(options.ranking),
          given(options.given),
          scoring{options.exact.network.objective, options.exact.network.outputs,
                  options.exact.reading},
          ranges(ranges_of(comm, data)),
          among(*options.among),
          known(parts, l.links, options.symmetric, options.types),
          exact(c, data, parts, store, exact_options(options, l)),
          twin(nn::make_network(twin_options(options.exact.network, store))),
          columns(twin->layer_outputs(twin->layers() - 1)) {}

    [[nodiscard]] std::size_t row_floats() const noexcept {
        return static_cast<std::size_t>(ranges.here().size()) * columns;
    }
    [[nodiscard]] RankedLinks rank(nn::Network& network, const VertexRows& rows, graph::Role role);
    void add_all(RankedLinks& sums) const;
    void rank_links(nn::Network& network, const VertexRows& rows, Scores& out);
    void score_edges(nn::Network& network, const VertexRows& rows, Scores& out);
};

RankedLinks LinkEvaluator::State::rank(nn::Network& network, const VertexRows& rows,
                                       graph::Role role) {
    RankedLinks sums;
    std::vector<VertexId> sources;
    for (std::size_t p = 0; p < own.size(); ++p) {
        const sample::LinkList& list = links.links[p].of(role);
        for (std::size_t at = 0; at < list.size(); at += ranked_at_once) {
            const std::size_t count = std::min(ranked_at_once, list.size() - at);
            sources.resize(count);
            for (std::size_t i = 0; i < count; ++i)
                sources[i] = own[p].range().begin + list.sources[at + i];
            LinkRanker(network, rows, known, ranking, among,
                       given == nullptr ? nullptr : &given->of(role))
                .rank(sources, std::span(list.targets).subspan(at, count), sums);
        }
    }
    add_all(sums);
    return sums;
}

/// Adds the sums of all ranks: whole numbers, most of them 0, which do not travel.
void LinkEvaluator::State::add_all(RankedLinks& sums) const {
    const std::vector<std::uint64_t> mine = sums.ranking.numbers();
    std::vector<std::uint64_t> sent{sums.pairs.correct, sums.pairs.answers};
    for (std::size_t i = 0; i < mine.size(); ++i) {
        if (mine[i] != 0) sent.insert(sent.end(), {i, mine[i]});
    }
    sums = {};
    for (const auto& theirs :
         comm.all_gather(std::span<const std::uint64_t>(sent), comm::Kind::evaluation)) {
        sums.pairs.correct += theirs[0];
        sums.pairs.answers += theirs[1];
        std::vector<std::uint64_t> numbers(mine.size(), 0);
        for (std::size_t i = 2; i < theirs.size(); i += 2)
            numbers.at(theirs[i]) = theirs[i + 1];
        sums.ranking.add_numbers(numbers);
    }
}

LinkEvaluator::LinkEvaluator(const comm::Communicator& comm,
                             const partition::PartitionedDataset& data,
                             std::span<const partition::Part> own, const sample::OwnLinks& links,
                             const store::FeatureStore& store, const Options& options)
    : state_(std::make_unique<State>(comm, data, own, links, store, options)) {}

LinkEvaluator::~LinkEvaluator() {
    // What has been thrown may be the end of other ranks, too: it would wait for them.
    if (std::uncaught_exceptions() > 0) task_.cancel();
    task_.settle();
}

void LinkEvaluator::evaluate(nn::Network& network, Scores& scores) {
    State& s = *state_;
    auto memory = Array<float>::uninitialised(s.row_floats());
    const VertexId begin = s.ranges.here().begin;
    Scores none;
    s.exact.evaluate(network, none, [&](const InferredRows& rows) {
        const VertexId first = rows.part.range().begin + rows.first - begin;
        std::ranges::copy(rows.scores, memory.data() + first * s.columns);
    });
    VertexRows rows(s.comm, s.ranges, memory.span(), s.columns);
    if (s.scoring.objective == nn::Objective::links) {
        s.rank_links(network, rows, scores);
    } else {
        s.score_edges(network, rows, scores);
    }
    rows.stop();
    scores.evaluated = true;
}

void LinkEvaluator::State::rank_links(nn::Network& network, const VertexRows& rows, Scores& out) {
    const RankedLinks valid = rank(network, rows, graph::Role::valid);
    const RankedLinks test = rank(network, rows, graph::Role::test);
    out.valid = valid.pairs;
    out.test = test.pairs;
    out.valid_links = link_score(valid.ranking.scores());
    out.test_links = link_score(test.ranking.scores());
}

void LinkEvaluator::State::score_edges(nn::Network& network, const VertexRows& rows, Scores& out) {
    std::vector<PartScores> mine;
    EdgeScorer scorer(network, rows, scoring);
    for (std::size_t p = 0; p < own.size(); ++p)
        mine.push_back(scorer.score(own[p], links.links[p]));
    edges = {};
    // Rank by rank is part by part: the sums have the same bits however the parts are spread.
    for (const auto& theirs :
         comm.all_gather(std::span<const PartScores>(mine), comm::Kind::evaluation)) {
        for (const PartScores& part : theirs)
            edges += part;
    }
    out.train = edges.roles[0];
    out.valid = edges.roles[1];
    out.test = edges.roles[2];
}

std::array<std::uint64_t, 3> LinkEvaluator::scored() const noexcept {
    return state_->edges.vertices;
}

std::uint64_t LinkEvaluator::unknown() const noexcept {
    return state_->edges.unknown;
}

void LinkEvaluator::start(std::span<const float> weights) {
    RUDDER_CHECK(!task_.valid());
    State& s = *state_;
    RUDDER_CHECK(weights.size() == s.twin->weights().size());
    std::ranges::copy(weights, s.twin->weights().begin());
    s.scores = {};
    task_ = Executor::current().spawn("evaluation",
                                      [this] { evaluate(*state_->twin, state_->scores); });
}

Scores LinkEvaluator::finish() {
    RUDDER_CHECK(task_.valid());
    task_.finish();
    return state_->scores;
}

std::uint64_t LinkEvaluator::planned_bytes() const noexcept {
    return state_->exact.planned_bytes() + state_->row_floats() * sizeof(float);
}

}  // namespace rudder::train
