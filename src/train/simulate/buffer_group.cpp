#include "buffer_group.hpp"

#include <algorithm>
#include <limits>

#include "buffer/fitting_window.hpp"
#include "buffer/inclusion.hpp"
#include "core/packed_ids.hpp"
#include "steer/agents/adaptive_window.hpp"

namespace rudder::train {

namespace {

// As buffer/live/row_slots, store/pull and store/remote_fetch have them: questions for rows are as
// long as these stretches make them.
constexpr std::size_t step_chunk = std::size_t{1} << 13;
constexpr std::size_t pull_chunk = 4096;
constexpr std::size_t bulk_bytes = std::size_t{2} << 20;
constexpr std::size_t message_bytes = std::size_t{256} << 10;

/// A table by vertex takes more than one of the rows that there may be.
VertexId numbering_limit(VertexId vertices, std::size_t halo) {
    constexpr std::uint64_t entry = 64;  // of the sparser table, by row
    return vertices * sizeof(buffer::RowKey) > halo * entry ? 0
                                                            : buffer::RowNumbering::direct_limit;
}

}  // namespace

BufferGroup::BufferGroup(const SimulatedGround& ground, int first, int last)
    : ground_(ground),
      first_(first),
      last_(last),
      policy_(policy_of(ground.options())),
      bulk_(ground.options().bulk) {
    by_owner_.assign(static_cast<std::size_t>(ground.cluster().ranks), 0);
    find_local();
    const bool none = policy_.name() == "none";
    const ClusterModel& cluster = ground.cluster();
    const bool shared = ground.options().buffer_scope == buffer::BufferScope::host &&
                        cluster.ranks_per_host > 1 && cluster.ranks > 1;
    used_ = !none || shared;
    local_.emplace(local_ranges_, parts_, false);
    if (used_) set_up();
}

std::uint64_t BufferGroup::own_vertices() const noexcept {
    std::uint64_t own = 0;
    for (const buffer::LocalRange& range : local_ranges_)
        own += range.end - range.begin;
    return own;
}

void BufferGroup::find_local() {
    const ClusterModel& cluster = ground_.cluster();
    const int host = cluster.host_of(first_);
    const partition::PartitionBook& book = ground_.data().book();
    for (int r = cluster.first_rank(host); r < cluster.end_rank(host); ++r) {
        const partition::PartShare share = ground_.share(r);
        for (PartId p = share.first; p < share.last; ++p) {
            if (r >= first_ && r < last_) ++parts_;
            const auto range = book.range(p);
            if (!local_ranges_.empty() && local_ranges_.back().end == range.begin) {
                local_ranges_.back().end = range.end;
            } else {
                local_ranges_.push_back({range.begin, range.end});
            }
        }
    }
}

void BufferGroup::set_up() {
    find_halo();
    if (needs_inclusion(policy_)) find_inclusion();
    const VertexId vertices = ground_.data().info().vertices;
    if (policy_.name() != "none") {
        const double remote = static_cast<double>(vertices - own_vertices());
        slots_ = static_cast<std::uint64_t>(
            std::min({rows_asked(ground_.options(), halo(), ground_.row_bytes()), remote,
                      buffer::no_slot - 1.0}));
    }
    if (window_adapts(ground_.options())) fit_window();
    numbering_.emplace(vertices, facts_.halo, numbering_limit(vertices, halo()));
    distinct_.emplace(*numbering_, last_ - first_ == 1 && local_->counts_once());
    if (last_ - first_ > 1) own_distinct_.emplace(*numbering_);
    written_by_.assign(slots_, 0);
    const buffer::PolicyFacts facts{
        &*numbering_, facts_.degree, facts_.inclusion, {}, ground_.steps()};
    const auto slots = static_cast<buffer::SlotId>(slots_);
    buffer_ = std::make_unique<buffer::GuardedBuffer>(policy_, facts, slots, slots, 0);
    if (policy_.name() != "none") floor_.emplace(slots_);
    carry_out(buffer_->fill());
    if (window_adapts(ground_.options()) && !steered(ground_.options())) {
        buffer::Knobs start;
        start.policy = policy_;
        start.capacity = slots_;
        window_rule_ = std::make_unique<steer::RulePilot>(steer::make_adaptive_window(), start);
    }
}

void BufferGroup::steer(std::unique_ptr<steer::Helm> helm) {
    helm_ = std::move(helm);
    if (helm_ == nullptr) return;
    const buffer::PolicyFacts facts{
        &*numbering_, facts_.degree, facts_.inclusion, {}, ground_.steps()};
    helm_->start(facts, buffer_->ids());
    if (const auto terms = helm_->guard_terms()) buffer_->guard(*terms);
}

buffer::BufferPilot* BufferGroup::pilot() noexcept {
    return helm_ ? static_cast<buffer::BufferPilot*>(helm_.get()) : window_rule_.get();
}

// ---- the halo ----------------------------------------------------------------------------------

void BufferGroup::find_halo() {
    std::vector<VertexId>& halo = facts_.halo;
    for (int r = first_; r < last_; ++r) {
        const std::size_t before = halo.size();
        const partition::PartShare share = ground_.share(r);
        for (PartId p = share.first; p < share.last; ++p) {
            std::ranges::copy_if(ground_.parts()[p].halo(), std::back_inserter(halo),
                                 [&](VertexId v) { return !local_->contains(v); });
        }
        if (r != first_) setup_bytes_ += (halo.size() - before) * sizeof(VertexId);
    }
    std::sort(halo.begin(), halo.end());
    halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
    const graph::TopologyView rows = ground_.topology();
    facts_.degree.reserve(halo.size());
    for (const VertexId v : halo) {
        facts_.degree.push_back(static_cast<std::uint32_t>(std::min<EdgeIndex>(
            rows.offsets[v + 1] - rows.offsets[v], std::numeric_limits<std::uint32_t>::max())));
    }
    setup_bytes_ += halo.size() * (sizeof(VertexId) + sizeof(std::uint32_t));
}

void BufferGroup::find_inclusion() {
    std::vector<double> absent(halo(), 1);
    for (int r = first_; r < last_; ++r) {
        const partition::PartShare share = ground_.share(r);
        std::vector<double> of_rank(halo(), 1);
        for (PartId p = share.first; p < share.last; ++p) {
            const auto of_part = ground_.inclusion(p);
            const auto included = buffer::halo_inclusion(facts_.halo, std::span(&of_part, 1));
            for (std::size_t i = 0; i < of_rank.size(); ++i)
                of_rank[i] *= 1 - included[i];
        }
        for (std::size_t i = 0; i < absent.size(); ++i)
            absent[i] *= of_rank[i];
        if (r != first_) setup_bytes_ += halo() * (sizeof(VertexId) + sizeof(double));
    }
    for (double& p : absent)
        p = 1 - p;
    facts_.inclusion = std::move(absent);
}

/// As ranks do before their first step.
void BufferGroup::fit_window() {
    SimulatedGround::Sampler sampler(ground_);
    std::uint64_t rows = 0;
    std::uint64_t bytes = 1;
    for (int r = first_; r < last_; ++r) {
        const partition::PartShare share = ground_.share(r);
        std::uint64_t of_rank = 0;
        for (PartId p = share.first; p < share.last; ++p) {
            (*sampler).sample(p, 0, sampler.batch);
            rows += static_cast<std::uint64_t>(std::ranges::count_if(
                sampler.batch.vertices, [&](VertexId v) { return !local_->contains(v); }));
            of_rank += sampler.batch.vertices.size() * sizeof(VertexId) +
                       sampler.batch.edges() * sizeof(LocalId);
        }
        bytes = std::max(bytes, of_rank);
    }
    const auto ranks = static_cast<std::uint64_t>(ground_.cluster().ranks_per_host);
    const std::uint64_t fits = ground_.cluster().memory / 8 / ranks / 2 / bytes;
    const std::uint64_t window = std::min(buffer::fitting_window(slots_, rows), fits);
    policy_.set("window", static_cast<double>(std::max(window, buffer::shortest_fitting_window)));
}

// ---- what steps need ---------------------------------------------------------------------------

void BufferGroup::publish_until(std::uint64_t step) {
    const std::uint64_t last = std::min(step, ground_.steps() - 1);
    while (known_ <= last)
        publish();
}

/// Merged in the order of ranks, as StepQueue does.
void BufferGroup::publish() {
    Published step;
    SimulatedGround::Sampler sampler(ground_);
    step.ranks.resize(static_cast<std::size_t>(last_ - first_));
    local_->begin();
    if (distinct_) distinct_->begin();
    for (int r = first_; r < last_; ++r) {
        RankStep& mine = step.ranks[static_cast<std::size_t>(r - first_)];
        list_rank(sampler, r, known_, mine);
        edges_.push_back(static_cast<std::uint32_t>(mine.edges));
        add_rank(r, step);
    }
    published_.push_back(std::move(step));
    ++known_;
    if (!used_) return;
    const std::span<const buffer::RowKey> rows = published_.back().rows;
    buffer_->publish(known_ - 1, rows);
    if (buffer::BufferPilot* steers = pilot()) steers->published(known_ - 1, rows);
}

void BufferGroup::list_rank(SimulatedGround::Sampler& sampler, int rank, std::uint64_t step,
                            RankStep& out) {
    remote_ids_.clear();
    local_ids_.clear();
    places_.clear();
    const partition::PartShare share = ground_.share(rank);
    for (PartId p = share.first; p < share.last; ++p) {
        sample::Batch& batch = sampler.batch;
        (*sampler).sample(p, step, batch);
        for (std::size_t i = 0; i < batch.vertices.size(); ++i) {
            const VertexId v = batch.vertices[i];
            const bool here = local_->contains(v);
            (here ? local_ids_ : remote_ids_).push_back(v);
            if (!here) places_.push_back(static_cast<std::uint32_t>(i));
        }
        const BatchWork work = ground_.work_of(batch);
        out.work.flops += work.flops;
        out.work.aggregate_bytes += work.aggregate_bytes;
        out.edges += batch.edges();
    }
    out.own = local_ids_.size();
    out.others = remote_ids_.size();
}

void BufferGroup::add_rank(int rank, Published& step) {
    RankStep& mine = step.ranks[static_cast<std::size_t>(rank - first_)];
    mine.rows.local = local_->add(local_ids_);
    mine.rows.saved = local_ids_.size() - mine.rows.local;
    if (!used_) return pull(step, remote_ids_);
    const std::size_t before = step.rows.size();
    if (own_distinct_ && ground_.share(rank).last - ground_.share(rank).first > 1) {
        own_rows_.clear();
        own_distinct_->begin();
        own_distinct_->add(remote_ids_, own_rows_, positions_);
        mine.rows.saved += remote_ids_.size() - own_rows_.size();
        remote_ids_.clear();
        for (const buffer::RowKey row : own_rows_)
            remote_ids_.push_back(numbering_->vertex(row));
    }
    distinct_->add(remote_ids_, step.rows, positions_);
    mine.rows.saved += remote_ids_.size() - (step.rows.size() - before);
    step.ends.push_back(static_cast<std::uint32_t>(step.rows.size()));
}

/// Every row is asked for by the rank that needs it.
void BufferGroup::pull(Published& step, std::span<const VertexId> remote) {
    const bool once = local_->counts_once();
    RankStep& mine = step.ranks.front();
    ids_.assign(remote.begin(), remote.end());
    if (!once) {
        std::ranges::sort(ids_);
        ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
        mine.rows.saved += remote.size() - ids_.size();
    }
    mine.rows.demand = ids_.size();
    mine.rows.needed = mine.rows.local + ids_.size();
    // Chunks are of all vertices of the batch; those that are local leave theirs shorter.
    const std::size_t all = remote.size() + mine.own;
    const std::size_t chunks = once ? chunk_count(all, pull_chunk) : 1;
    wanted_.begin(chunks, by_owner_.size());
    for (std::size_t i = 0; i < ids_.size(); ++i) {
        const std::size_t chunk = once ? places_[i] / pull_chunk : 0;
        wanted_.part(chunk).add({ids_[i], 0, ground_.owner(ids_[i])});
    }
    std::ranges::fill(by_owner_, 0);
    const std::size_t rows = wanted_.order(by_owner_);
    ids_.resize(rows);
    wanted_.walk([&](std::uint32_t place, const Wanted::Row& row) { ids_[place] = row.vertex; });
    step.pulled.rows = rows;
    ask(ids_, step.pulled.questions);
}

std::uint64_t BufferGroup::edges(std::uint64_t step, int rank) const {
    const auto ranks = static_cast<std::uint64_t>(last_ - first_);
    return edges_[step * ranks + static_cast<std::uint64_t>(rank - first_)];
}

// ---- what the policy makes of them -------------------------------------------------------------

std::uint64_t BufferGroup::steps_ahead() const {
    if (!used_) return 0;
    const std::uint64_t wants = helm_ ? helm_->horizon() : 0;
    return std::max({buffer::horizon_of(buffer_->ids().spec()), buffer_->horizon(), wants});
}

void BufferGroup::obey(const buffer::PilotOrder& order) {
    for (const buffer::BufferChange& change : order.changes)
        buffer_->change(change, [this](const buffer::StepPlan& plan) { carry_out(plan); });
    if (order.times) bulk_ = order.times->bulk;
}

/// In the order in which BufferSteps does it.
void BufferGroup::begin(std::uint64_t step, std::uint32_t landed, GroupStep& out) {
    RUDDER_CHECK(step == next_);
    publish_until(step + steps_ahead());
    out = {};
    if (!used_) {
        Published& front = published_.front();
        out.ranks = std::move(front.ranks);
        out.own = std::move(front.pulled);
        out.own.number = next_link_++;
        out.remote = out.own.rows;
        count_owners(out.own);
        out.by_owner = std::exchange(extra_.by_owner, {});
        published_.pop_front();
        ++next_;
        return;
    }
    buffer::BufferPilot* steers = pilot();
    buffer::PilotOrder order;
    if (steers != nullptr) {
        steers->prepare(step);
        publish_until(step + steps_ahead());
        order = steers->before(step, buffer_->ids());
        obey(order);
        publish_until(step + steps_ahead());
        buffer_->follow();
    }
    const buffer::StepPlan& plan = buffer_->advance(order.decision);
    if (steers != nullptr) {
        if (const auto overruled = buffer_->take_overruled()) steers->overruled(step, *overruled);
        if (buffer_->guarded()) steers->accounted(buffer_->account());
        steers->after(step, buffer_->ids().accounts());
    }
    Published& front = published_.front();
    if (floor_) static_cast<void>(floor_->step(front.rows, numbering_->size()));
    out.ranks = std::move(front.ranks);
    fetch_step(plan, front.rows, landed, out);
    carry_out(plan);
    std::uint32_t begin = 0;
    for (std::size_t r = 0; r < out.ranks.size(); ++r) {
        const std::uint32_t end = front.ends[r];
        Rows& rows = out.ranks[r].rows;
        const auto at = plan.slots.begin();
        rows.demand = static_cast<std::uint64_t>(std::count(at + begin, at + end, buffer::no_slot));
        rows.hit = end - begin - rows.demand;
        rows.needed = rows.local + rows.hit + rows.demand;
        begin = end;
    }
    out.remote = front.rows.size();
    published_.pop_front();
    ++next_;
    const std::uint64_t wasted = buffer_->ids().accounts().wasted;
    extra_.beside.wasted = wasted - std::exchange(reported_wasted_, wasted);
    out.beside = std::exchange(extra_.beside, {});
    out.background = std::exchange(extra_.background, {});
    out.by_owner = std::exchange(extra_.by_owner, {});
    out.ahead = std::min(steps_ahead(), known_ - next_);
    out.times = order.times;
    buffer::Knobs& knobs = out.knobs.emplace();
    knobs.policy = buffer_->ids().spec();
    knobs.capacity = buffer_->ids().residents().capacity();
}

void BufferGroup::carry_out(const buffer::StepPlan& plan) {
    fetch_behind(plan.replacement);
    fetch_behind(plan.ahead);
    extra_.beside.replacement += plan.replacement.size();
    extra_.beside.ahead += plan.ahead.size();
}

/// As RowSlots::plan_background: links of about 2 MiB, each asked for by itself.
void BufferGroup::fetch_behind(std::span<const buffer::Placed> placed) {
    if (placed.empty()) return;
    wanted_.begin(chunk_count(placed.size(), step_chunk), by_owner_.size());
    for (std::size_t i = 0; i < placed.size(); ++i) {
        const VertexId v = numbering_->vertex(placed[i].row);
        wanted_.part(i / step_chunk).add({v, placed[i].slot, ground_.owner(v)});
    }
    std::ranges::fill(by_owner_, 0);
    const std::size_t rows = wanted_.order(by_owner_);
    const std::size_t bulk = std::max<std::size_t>(1, bulk_bytes / ground_.row_bytes());
    ids_.resize(rows);
    wanted_.walk([&](std::uint32_t place, const Wanted::Row& row) {
        ids_[place] = row.vertex;
        written_by_[row.purpose] = next_link_ + static_cast<std::uint32_t>(place / bulk);
    });
    for (std::size_t at = 0; at < rows; at += bulk) {
        FetchedRows& link = extra_.background.emplace_back();
        link.number = next_link_++;
        link.rows = std::min(bulk, rows - at);
        ask(std::span(ids_).subspan(at, link.rows), link.questions);
        count_owners(link);
    }
}

/// As RowSlots::plan_step.
void BufferGroup::fetch_step(const buffer::StepPlan& plan, std::span<const buffer::RowKey> rows,
                             std::uint32_t landed, GroupStep& out) {
    wanted_.begin(chunk_count(rows.size(), step_chunk), by_owner_.size());
    seen_links_.clear();
    for (std::size_t p = 0; p < rows.size(); ++p) {
        const buffer::SlotId slot = plan.slots[p];
        if (slot == buffer::no_slot) {
            const VertexId v = numbering_->vertex(rows[p]);
            wanted_.part(p / step_chunk).add({v, 0, ground_.owner(v)});
        } else if (written_by_[slot] >= landed) {
            seen_links_.push_back(written_by_[slot]);
        }
    }
    std::ranges::sort(seen_links_);
    seen_links_.erase(std::unique(seen_links_.begin(), seen_links_.end()), seen_links_.end());
    out.awaited = seen_links_;
    std::ranges::fill(by_owner_, 0);
    const std::size_t demand = wanted_.order(by_owner_);
    ids_.resize(demand);
    wanted_.walk([&](std::uint32_t place, const Wanted::Row& row) { ids_[place] = row.vertex; });
    out.own.number = next_link_++;
    out.own.rows = demand;
    ask(ids_, out.own.questions);
    count_owners(out.own);
    for (const buffer::Admitted& row : plan.admit)
        written_by_[row.slot] = out.own.number;
}

void BufferGroup::ask(std::span<const VertexId> ids, std::vector<RowQuestion>& questions) {
    const std::size_t most =
        bulk_ != 0 ? std::min<std::size_t>(bulk_, std::numeric_limits<std::uint32_t>::max())
                   : std::max<std::size_t>(1, message_bytes / ground_.row_bytes());
    for (std::size_t at = 0; at < ids.size();) {
        const int owner = ground_.owner(ids[at]);
        const VertexId begin = ground_.first_vertex(owner);
        std::size_t count = 0;
        while (at + count < ids.size() && count < most && ground_.owner(ids[at + count]) == owner)
            ++count;
        question_.clear();
        pack_ids(ids.subspan(at, count), begin, question_);
        questions.push_back({.owner = owner,
                             .rows = static_cast<std::uint32_t>(count),
                             .bytes = static_cast<std::uint32_t>(question_.size())});
        at += count;
    }
}

void BufferGroup::count_owners(const FetchedRows& fetched) {
    for (const RowQuestion& question : fetched.questions) {
        if (!extra_.by_owner.empty() && extra_.by_owner.back().first == question.owner) {
            extra_.by_owner.back().second += question.rows;
        } else {
            extra_.by_owner.emplace_back(question.owner, question.rows);
        }
    }
}

void BufferGroup::timed(const Seconds& seconds) {
    if (window_rule_ == nullptr) return;
    Seconds one = seconds;
    one.steps = 1;
    const auto ranks = static_cast<std::uint64_t>(ground_.cluster().ranks_per_host);
    std::uint64_t waiting = 0;
    for (const Published& step : published_) {
        for (const RankStep& rank : step.ranks)
            waiting += rank.edges * sizeof(LocalId) + (rank.own + rank.others) * sizeof(VertexId);
    }
    window_rule_->timed(one, waiting / static_cast<std::uint64_t>(last_ - first_),
                        ground_.cluster().memory / 8 / ranks);
}

Rows BufferGroup::finish() {
    if (!used_) return {};
    Rows rest = extra_.beside;
    rest.wasted += buffer_->ids().accounts().wasted - reported_wasted_ + buffer_->ids().unused();
    return rest;
}

std::uint64_t BufferGroup::floor() const {
    return floor_ ? floor_->fetched() : 0;
}

}  // namespace rudder::train
