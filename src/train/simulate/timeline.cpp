#include "timeline.hpp"

#include <algorithm>
#include <utility>

#include "rudder/core/check.hpp"

namespace rudder::train {

namespace {

/// As buffer/live/row_slots has it: of rows fetched for the buffer alone.
constexpr std::uint64_t bytes_behind = std::uint64_t{16} << 20;
/// Where in a step's computing its first gradients are complete: backward takes twice as long as
/// forward, and half of the gradients are there when it is half done.
constexpr double first_gradients = 2.0 / 3;
/// Multiplications and additions of an update, by weight.
constexpr double flops_per_weight = 12;

}  // namespace

Timeline::Timeline(const ClusterModel& cluster, const TrainOptions& options,
                   const std::vector<Group>& groups, const SumBytes& sums, std::uint64_t parameters,
                   std::uint64_t row_bytes, std::uint64_t steps, Asked asked)
    : cluster_(cluster),
      in_flight_(options.in_flight),
      window_(steps_ahead(options)),
      sums_(sums),
      parameters_(parameters),
      row_bytes_(row_bytes),
      steps_(steps),
      asked_(std::move(asked)),
      fabric_(cluster, events_),
      ranks_(index(cluster.ranks)) {
    for (const Group& group : groups) {
        for (int r = group.first; r < group.last; ++r)
            ranks_[index(r)].group = groups_.size();
        groups_.push_back({.group = group});
    }
    for (RankState& rank : ranks_) {
        rank.in_flight = in_flight_;
        rank.active = std::max<std::uint64_t>(1, in_flight_ - 1);
    }
    for (StepSums& sum : sums_of_)
        sum.hosts.resize(index(cluster.hosts()));
    // From the last step that some have not done to the last that has its rows.
    times_.assign(in_flight_ + 2, std::vector<RankTimes>(ranks_.size()));
}

Duration Timeline::seconds(double amount, double per_second) {
    if (per_second <= 0) return Duration{0};
    return Duration(static_cast<Duration::rep>(amount / per_second * 1e9));
}

Duration Timeline::message_time() const {
    return seconds(1, cluster_.compute.messages);
}

Duration Timeline::update_time() const {
    return seconds(static_cast<double>(parameters_) * flops_per_weight, cluster_.compute.flops);
}

void Timeline::run() {
    for (std::size_t g = 0; g < groups_.size(); ++g)
        try_begin(g);
    while (!events_.empty())
        handle(events_.pop());
    for (const RankState& rank : ranks_)
        RUDDER_CHECK(rank.done == steps_);
}

void Timeline::handle(const EventQueue::Event& event) {
    using Kind = EventQueue::Kind;
    const auto who = static_cast<int>(event.who);
    switch (event.kind) {
        case Kind::begin:
            groups_[event.who].waits = false;
            return try_begin(event.who);
        case Kind::begun:
            return begun(event.who);
        case Kind::ask:
            return send_question(event.who, event.what);
        case Kind::leave:
            return fabric_.leave(event.who);
        case Kind::end: {
            RowMessage message;
            if (fabric_.arrived(event.who, message)) come(message);
            return;
        }
        case Kind::served:
            return served(event.who);
        case Kind::assembled:
            return assembled(who, event.what);
        case Kind::half:
            return send_gradients(who, false);
        case Kind::computed:
            return computed(who);
        case Kind::summed:
            return summed(who, event.what);
        case Kind::done:
            return done(who, event.what);
    }
}

// ---- beginning ---------------------------------------------------------------------------------

/// Whether the step before has its place on every rank; without a buffer, whether this one has.
bool Timeline::may_begin(const GroupState& g) const {
    if (g.next == steps_ || g.beginning || g.waits) return false;
    if (g.behind_rows > g.group.slots) return false;
    for (int r = g.group.first; r < g.group.last; ++r) {
        const RankState& rank = ranks_[index(r)];
        if (rank.placed < g.next) return false;
        const bool place =
            g.next - rank.done < rank.in_flight && g.next - rank.assembled < rank.active;
        if (!g.group.buffered && !place) return false;
    }
    return true;
}

/// When the ranks of a group have sampled so many steps beyond one: none is drawn before the queue
/// has room for it.
Duration Timeline::sampled_by(std::size_t group, std::uint64_t step, std::uint64_t ahead) {
    const GroupState& g = groups_[group];
    const std::uint64_t last = std::min(step + ahead, steps_ - 1);
    const auto tasks = static_cast<std::uint64_t>(cluster_.sample_tasks);
    const std::uint64_t window = std::max(window_, ahead + 1 + tasks);
    Duration all{0};
    for (int r = g.group.first; r < g.group.last; ++r) {
        RankState& rank = ranks_[index(r)];
        for (; rank.drawn <= last; ++rank.drawn) {
            Duration room{0};
            if (rank.drawn >= window) {
                const std::uint64_t taken = rank.drawn - window;
                room = taken < g.started.size() ? g.started[taken] : events_.now();
            }
            const double edges = static_cast<double>(asked_.edges(r, rank.drawn));
            rank.sampled = std::max(rank.sampled, room) +
                           seconds(edges / static_cast<double>(tasks), cluster_.compute.edges);
        }
        all = std::max(all, rank.sampled);
    }
    return all;
}

void Timeline::try_begin(std::size_t group) {
    GroupState& g = groups_[group];
    if (!may_begin(g)) return;
    const std::uint64_t step = g.next;
    const GroupStep& plan = asked_.plan(group, step);
    const Duration sampled = sampled_by(group, step, plan.ahead);
    if (sampled > events_.now()) {
        g.waits = true;
        return events_.push(sampled, EventQueue::Kind::begin, group);
    }
    g.beginning = true;
    g.started.push_back(events_.now());
    g.steps.push_back({.plan = &plan, .start = events_.now()});
    if (plan.times) {
        for (int r = g.group.first; r < g.group.last; ++r) {
            RankState& rank = ranks_[index(r)];
            rank.in_flight = std::clamp<std::uint64_t>(plan.times->in_flight, 1, in_flight_);
            rank.active = std::clamp<std::uint64_t>(plan.times->fetch_threads, 1, in_flight_);
        }
    }
    const bool decides = g.group.buffered;
    const Duration takes =
        decides ? seconds(static_cast<double>(plan.remote), cluster_.compute.policy_rows)
                : Duration{0};
    events_.push(events_.now() + takes, EventQueue::Kind::begun, group);
}

void Timeline::begun(std::size_t group) {
    GroupState& g = groups_[group];
    const GroupStep& plan = *g.steps.back().plan;
    g.beginning = false;
    ++g.next;
    ++g.begun;
    ask(group, plan.own, false);
    for (const FetchedRows& rows : plan.background) {
        static_cast<void>(link(g, rows.number));
        g.behind.push_back(rows);
        g.behind_rows += rows.rows;
    }
    ask_behind(group);
    find_landed(group);
    for (int r = g.group.first; r < g.group.last; ++r)
        try_place(r);
    try_begin(group);
}

// ---- fetching ----------------------------------------------------------------------------------

Timeline::Landing& Timeline::link(GroupState& g, std::uint32_t number) {
    RUDDER_CHECK(number >= g.first_link);
    while (g.first_link + g.links.size() <= number)
        g.links.emplace_back();
    return g.links[number - g.first_link];
}

/// Questions leave one after the other, as fast as the rank writes them.
void Timeline::ask(std::size_t group, const FetchedRows& rows, bool ahead) {
    GroupState& g = groups_[group];
    Landing& landing = link(g, rows.number);
    landing.asked = true;
    landing.left = static_cast<std::uint32_t>(rows.questions.size());
    g.sending = std::max(g.sending, events_.now());
    for (const RowQuestion& question : rows.questions) {
        const std::uint32_t number = g.questions.put({.group = static_cast<std::uint32_t>(group),
                                                      .link = rows.number,
                                                      .owner = question.owner,
                                                      .rows = question.rows,
                                                      .bytes = question.bytes,
                                                      .ahead = ahead});
        g.sending += message_time();
        events_.push(g.sending, EventQueue::Kind::ask, group, number);
    }
}

void Timeline::ask_behind(std::size_t group) {
    GroupState& g = groups_[group];
    const std::uint64_t most = std::max<std::uint64_t>(1, bytes_behind / row_bytes_);
    while (!g.behind.empty() && (g.under_way == 0 || g.under_way + g.behind.front().rows <= most)) {
        const FetchedRows rows = std::move(g.behind.front());
        g.behind.pop_front();
        g.behind_rows -= rows.rows;
        g.under_way += rows.rows;
        ask(group, rows, true);
    }
}

void Timeline::send_question(std::size_t group, std::uint64_t number) {
    GroupState& g = groups_[group];
    const RowMessage message = g.questions.take(static_cast<std::uint32_t>(number));
    const comm::Kind kind = message.ahead ? comm::Kind::requests_ahead : comm::Kind::requests;
    static_cast<void>(fabric_.send(cluster_.host_of(g.group.first), cluster_.host_of(message.owner),
                                   comm::link_class(kind, message.bytes), message.bytes, message));
}

/// A rank writes its answers one after the other.
void Timeline::come(const RowMessage& message) {
    if (message.answer) return answered(message);
    RankState& owner = ranks_[index(message.owner)];
    const std::uint64_t bytes = message.rows * row_bytes_;
    owner.serving = std::max(owner.serving, events_.now()) + message_time() +
                    seconds(static_cast<double>(bytes), cluster_.compute.gather_bytes);
    RowMessage answer = message;
    answer.answer = true;
    events_.push(owner.serving, EventQueue::Kind::served, answers_.put(answer));
}

void Timeline::served(std::uint32_t number) {
    const RowMessage message = answers_.take(number);
    const std::uint64_t bytes = message.rows * row_bytes_;
    const comm::Kind kind = message.ahead ? comm::Kind::features_ahead : comm::Kind::features;
    static_cast<void>(fabric_.send(cluster_.host_of(message.owner),
                                   cluster_.host_of(groups_[message.group].group.first),
                                   comm::link_class(kind, bytes), bytes, message));
}

void Timeline::answered(const RowMessage& message) {
    GroupState& g = groups_[message.group];
    Landing& landing = link(g, message.link);
    --landing.left;
    if (message.ahead) {
        g.under_way -= message.rows;
        ask_behind(message.group);
    }
    if (landing.left != 0) return;
    find_landed(message.group);
    for (int r = g.group.first; r < g.group.last; ++r)
        try_assemble(r);
    try_begin(message.group);
}

/// What has come in the order in which it was asked for.
void Timeline::find_landed(std::size_t group) {
    GroupState& g = groups_[group];
    while (!g.links.empty() && g.links.front().asked && g.links.front().left == 0) {
        g.links.pop_front();
        ++g.first_link;
    }
}

bool Timeline::rows_here(GroupState& g, std::uint64_t step) {
    Begun& begun = g.steps[step - g.first_step];
    if (begun.here) return true;
    const auto came = [&](std::uint32_t number) {
        if (number < g.first_link) return true;
        const Landing& landing = link(g, number);
        return landing.asked && landing.left == 0;
    };
    begun.here = came(begun.plan->own.number) && std::ranges::all_of(begun.plan->awaited, came);
    return begun.here;
}

// ---- assembling --------------------------------------------------------------------------------

const GroupStep& Timeline::plan_of(int rank, std::uint64_t step) const {
    const GroupState& g = groups_[ranks_[index(rank)].group];
    return *g.steps[step - g.first_step].plan;
}

void Timeline::try_place(int rank) {
    RankState& r = ranks_[index(rank)];
    GroupState& g = groups_[r.group];
    bool any = false;
    while (r.placed < g.begun && r.placed - r.done < r.in_flight &&
           r.placed - r.assembled < r.active) {
        const RankStep& mine = plan_of(rank, r.placed).ranks[index(rank - g.group.first)];
        r.places.push_back(
            {.ready = events_.now() + seconds(static_cast<double>(mine.own * row_bytes_),
                                              cluster_.compute.gather_bytes)});
        ++r.placed;
        any = true;
    }
    if (!any) return;
    try_assemble(rank);
    // Whoever shares the buffer waits for the first rank to hand over the rows of its place.
    for (int other = g.group.first + 1; rank == g.group.first && other < g.group.last; ++other)
        try_assemble(other);
    try_begin(r.group);
}

void Timeline::try_assemble(int rank) {
    RankState& r = ranks_[index(rank)];
    GroupState& g = groups_[r.group];
    const RankState& first = ranks_[index(g.group.first)];
    for (std::uint64_t step = std::max(r.done, r.assembled); step < r.placed; ++step) {
        Assembly& place = r.places[step - r.done];
        if (place.going || first.placed <= step || !rows_here(g, step)) continue;
        const RankStep& mine = plan_of(rank, step).ranks[index(rank - g.group.first)];
        place.going = true;
        const Duration end =
            std::max(events_.now(), place.ready) +
            seconds(static_cast<double>(mine.others * row_bytes_), cluster_.compute.gather_bytes);
        events_.push(end, EventQueue::Kind::assembled, index(rank), step);
    }
}

void Timeline::assembled(int rank, std::uint64_t step) {
    RankState& r = ranks_[index(rank)];
    const GroupState& g = groups_[r.group];
    r.places[step - r.done].there = true;
    const std::uint64_t edges = asked_.edges(rank, step);
    Seconds& times = times_of(rank, step).seconds;
    times = {};
    times.fetch = to_seconds(events_.now() - g.steps[step - g.first_step].start);
    times.sample = to_seconds(seconds(static_cast<double>(edges), cluster_.compute.edges));
    while (r.assembled < r.placed && r.places[r.assembled - r.done].there)
        ++r.assembled;
    try_place(rank);
    try_compute(rank);
    try_begin(r.group);
}

// ---- computing ---------------------------------------------------------------------------------

Duration Timeline::compute_time(const RankStep& step) const {
    const ComputeSpeed& speed = cluster_.compute;
    const Duration plain = seconds(step.work.flops, speed.flops) +
                           seconds(step.work.aggregate_bytes, speed.aggregate_bytes);
    return Duration(
        static_cast<Duration::rep>(static_cast<double>(plain.count()) * speed.step_factor));
}

void Timeline::try_compute(int rank) {
    RankState& r = ranks_[index(rank)];
    if (r.computing || r.assembled <= r.done) return;
    r.computing = true;
    const GroupState& g = groups_[r.group];
    const Duration takes = compute_time(plan_of(rank, r.done).ranks[index(rank - g.group.first)]);
    const Duration now = events_.now();
    RankTimes& times = times_of(rank, r.done);
    times.seconds.stall = to_seconds(now - r.last);
    times.seconds.compute = to_seconds(takes);
    const auto some =
        static_cast<Duration::rep>(static_cast<double>(takes.count()) * first_gradients);
    events_.push(now + Duration(some), EventQueue::Kind::half, index(rank));
    events_.push(now + takes, EventQueue::Kind::computed, index(rank));
}

/// Contributions to the pieces that ranks of other hosts own, in two halves.
void Timeline::send_gradients(int rank, bool last) {
    const RankState& r = ranks_[index(rank)];
    const int host = cluster_.host_of(rank);
    const auto half = [&](std::uint64_t bytes) { return last ? bytes - bytes / 2 : bytes / 2; };
    std::uint64_t all = 0;
    for (int h = 0; h < cluster_.hosts(); ++h) {
        if (h != host) all += half(sums_.to_owners(rank, h));
    }
    const Duration when =
        events_.now() +
        (last ? message_time() * static_cast<Duration::rep>(sums_.messages()) : Duration{0});
    const Duration left = fabric_.left_first(host, when, all);
    StepSums& sums = sums_of(r.done);
    for (int h = 0; h < cluster_.hosts(); ++h) {
        Duration& pieces = sums.hosts[index(h)].pieces;
        if (h == host) {
            pieces = std::max(pieces, when);
        } else {
            const Duration come = fabric_.come_first(h, left, half(sums_.to_owners(rank, h)));
            pieces = std::max(pieces, come);
        }
    }
}

void Timeline::computed(int rank) {
    RankState& r = ranks_[index(rank)];
    r.computed = events_.now();
    RankTimes& times = times_of(rank, r.done);
    times.pace = {
        .rows = times.seconds.stall, .agent = 0, .ready = to_seconds(r.computed - r.last)};
    send_gradients(rank, true);
    StepSums& sums = sums_of(r.done);
    if (++sums.ranks_ready != cluster_.ranks) return;
    const Duration taking = message_time() * static_cast<Duration::rep>(sums_.messages());
    for (int h = 0; h < cluster_.hosts(); ++h) {
        events_.push(sums.hosts[index(h)].pieces + taking, EventQueue::Kind::summed, index(h),
                     r.done);
    }
}

void Timeline::summed(int host, std::uint64_t step) {
    StepSums& sums = sums_of(step);
    std::uint64_t all = 0;
    for (int h = 0; h < cluster_.hosts(); ++h) {
        if (h != host) all += sums_.to_all(host, h);
    }
    const Duration messages = message_time() * static_cast<Duration::rep>(sums_.messages());
    const Duration when = events_.now() + messages;
    const Duration left = fabric_.left_first(host, when, all);
    for (int h = 0; h < cluster_.hosts(); ++h) {
        Duration& come = sums.hosts[index(h)].sums;
        come =
            std::max(come, h == host ? when : fabric_.come_first(h, left, sums_.to_all(host, h)));
    }
    if (++sums.hosts_summed != cluster_.hosts()) return;
    for (int h = 0; h < cluster_.hosts(); ++h) {
        events_.push(sums.hosts[index(h)].sums + update_time(), EventQueue::Kind::done, index(h),
                     step);
    }
}

void Timeline::done(int host, std::uint64_t step) {
    StepSums& sums = sums_of(step);
    const Duration now = events_.now();
    const double update = to_seconds(update_time());
    for (int rank = cluster_.first_rank(host); rank < cluster_.end_rank(host); ++rank) {
        RankState& r = ranks_[index(rank)];
        Seconds& seconds = times_of(rank, step).seconds;
        seconds.reduce = to_seconds(now - r.computed) - update;
        seconds.compute += update;
        seconds.step = to_seconds(now - r.last);
        r.last = now;
        r.computing = false;
        ++r.done;
        r.places.pop_front();
    }
    for (int rank = cluster_.first_rank(host); rank < cluster_.end_rank(host); ++rank) {
        try_place(rank);
        try_compute(rank);
        try_begin(ranks_[index(rank)].group);
    }
    if (++sums.hosts_done == cluster_.hosts()) end_step(step);
}

void Timeline::end_step(std::uint64_t step) {
    StepSums& sums = sums_of(step);
    std::vector<RankTimes>& all = times_[step % times_.size()];
    StepPace slowest;
    for (const RankTimes& times : all) {
        if (times.pace.ready > slowest.ready) slowest = times.pace;
    }
    for (RankTimes& times : all)
        divide_waits(times.seconds, times.pace, slowest);
    asked_.done(step, all);
    for (GroupState& g : groups_) {
        g.steps.pop_front();
        ++g.first_step;
    }
    sums.hosts.assign(sums.hosts.size(), {});
    sums.ranks_ready = 0;
    sums.hosts_summed = 0;
    sums.hosts_done = 0;
}

}  // namespace rudder::train
